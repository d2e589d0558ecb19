// SPDX-License-Identifier: MIT
// Pools of any backend of the host's memory: one run with guards, and cases by hand that each backend keeps to the bit.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>

#include "compute/eigen/arrays.hpp"
#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/pool.hpp"
#include "heddle/run/kernel_of.hpp"

namespace pools {

using namespace heddle;
using arrays::Array;
using arrays::filled;

/// One forward and one backward with guards; the input is there for the backward only if the layer saves it.
template <class L, class C = EigenCompute> struct Run {
  Array output, input_gradient;
  Run(const Spec& in, std::int64_t rows, const Array& x, const Array& dy)
      : output(dy.elements(), 0, arrays::nan), input_gradient(x.elements(), 0, arrays::nan) {
    const Leaf leaf = L::describe(in);
    run_room::KernelFor<L, C>::forward({&leaf, rows, x.data(), output.data(), nullptr});
    const bool saved = leaf.saves == Saves::input;
    run_room::KernelFor<L, C>::backward({&leaf, rows, saved ? x.data() : nullptr, nullptr, dy.data(), input_gradient.data(), nullptr});
    CHECK(output.guarded());
    CHECK(input_gradient.guarded());
  }
};

/// The gradient goes to the first of two that are equal, and what is beside the image counts nothing.
template <class C> void largest() {
  const Array x = filled({-1, -2, -3,  //
                          -4, -5, -3,  //
                          -7, -7, -9});
  const Array dy = filled({1, 10, 100, 1000});
  const Run<MaxPool2d<KernelSize<2>, Stride<2>, Padding<1>>, C> run{Spec{Shape{1, 3, 3}}, 1, x, dy};
  CHECK(run.output.same_bits(filled({-1, -2, -4, -3})));
  CHECK(run.input_gradient.same_bits(filled({1, 10, 0, 100, 0, 1000, 0, 0, 0})));
  const Run<MaxPool2d<KernelSize<2>, Stride<1>>, C> overlapping{Spec{Shape{1, 3, 3}}, 1, x, dy};
  CHECK(overlapping.output.same_bits(filled({-1, -2, -4, -3})));
  CHECK(overlapping.input_gradient.same_bits(filled({1, 10, 0, 100, 0, 1000, 0, 0, 0})));
}

/// A NaN is larger than any number, and has the gradient, the last of several.
template <class C> void largest_of_nan() {
  const Array x = filled({1, arrays::nan, HUGE_VALF, arrays::nan});
  const Run<MaxPool2d<KernelSize<1, 4>>, C> run{Spec{Shape{1, 1, 4}}, 1, x, filled({5})};
  CHECK(std::isnan(run.output[0]));
  CHECK(run.input_gradient.same_bits(filled({0, 0, 0, 5})));
  const Run<MaxPool2d<KernelSize<1, 4>>, C> low{Spec{Shape{1, 1, 4}}, 1, filled({-HUGE_VALF, -HUGE_VALF, -HUGE_VALF, -HUGE_VALF}), filled({5})};
  CHECK(low.output[0] == -HUGE_VALF);
  CHECK(low.input_gradient.same_bits(filled({5, 0, 0, 0})));
}

/// The padding counts as zeros.
template <class C> void means() {
  const Array x = filled({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Run<AvgPool2d<KernelSize<2>, Stride<2>, Padding<1>>, C> run{Spec{Shape{1, 3, 3}}, 1, x, filled({4, 8, 12, 16})};
  CHECK(run.output.same_bits(filled({0.25F, 1.25F, 2.75F, 7})));
  CHECK(run.input_gradient.same_bits(filled({1, 2, 2, 3, 4, 4, 3, 4, 4})));
  const Run<AvgPool2d<KernelSize<2>, Stride<1>>, C> overlapping{Spec{Shape{1, 3, 3}}, 1, x, filled({4, 8, 12, 16})};
  CHECK(overlapping.output.same_bits(filled({3, 4, 6, 7})));
  CHECK(overlapping.input_gradient.same_bits(filled({1, 3, 2, 4, 10, 6, 3, 7, 4})));
}

/// Windows that overlap, and those of AvgPool2d where their number divides the pixels.
template <class C> void adaptive_means() {
  const Array x = filled({1, 2, 3, 4, 6});
  const Run<AdaptiveAvgPool2d<1, 3>, C> run{Spec{Shape{1, 1, 5}}, 1, x, filled({2, 3, 4})};
  CHECK(run.output.same_bits(filled({1.5F, 9 * (1.0F / 3), 5})));
  CHECK(run.input_gradient.same_bits(filled({1, 1 + 3 * (1.0F / 3), 3 * (1.0F / 3), 3 * (1.0F / 3) + 2, 2})));
  const Array image{2 * 4 * 6, 1}, gradient{2 * 2 * 3, 2};
  const Spec in{Shape{2, 4, 6}};
  const Run<AdaptiveAvgPool2d<2, 3>, C> adaptive{in, 1, image, gradient};
  const Run<AvgPool2d<KernelSize<2>>, C> fixed{in, 1, image, gradient};
  CHECK(adaptive.output.same_bits(fixed.output));
  CHECK(adaptive.input_gradient.same_bits(fixed.input_gradient));
}

/// No rows are no windows, and a first layer makes no gradient of its input.
template <class C> void nothing() {
  const Leaf leaf = MaxPool2d<KernelSize<2>>::describe(Spec{Shape{1, 2, 2}});
  const Array x{4, 1}, y{1, 0, arrays::nan};
  run_room::KernelFor<MaxPool2d<KernelSize<2>>, C>::forward({&leaf, 0, x.data(), y.data(), nullptr});
  CHECK(std::isnan(y[0]));
  run_room::KernelFor<MaxPool2d<KernelSize<2>>, C>::backward({&leaf, 1, x.data(), nullptr, y.data(), nullptr, nullptr});
  run_room::KernelFor<AvgPool2d<KernelSize<2>>, C>::backward({&leaf, 1, nullptr, nullptr, y.data(), nullptr, nullptr});
}

}  // namespace pools
