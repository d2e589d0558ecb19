// SPDX-License-Identifier: MIT
// Convolutions of any backend of the host's memory: one run with guards, and cases by hand that each backend keeps to the bit.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>

#include "compute/eigen/arrays.hpp"
#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/convolution.hpp"
#include "heddle/run/kernel_of.hpp"

namespace convolutions {

using namespace heddle;
using arrays::Array;
using arrays::filled;

/// One forward and one backward with guards around all tensors and the scratch that the kernel asks for.
template <class L, class C = EigenCompute> struct Run {
  Leaf leaf;
  Array output, input_gradient, weight_gradient, bias_gradient, workspace;
  Run(const Spec& in, std::int64_t rows, const Array& x, const Array& dy, const Array& weight, const Array& bias, bool add = false)
      : leaf(L::describe(in)), output(dy.elements(), 0, arrays::nan), input_gradient(x.elements(), 0, arrays::nan),
        weight_gradient(weight.elements(), 0, add ? 3.0F : arrays::nan), bias_gradient(bias.elements(), 0, add ? 3.0F : arrays::nan),
        workspace((EigenCompute::workspace + run_room::scratch_of<L, C>(leaf)).value / 4, 0, arrays::nan) {
    const float* const parameters[] = {weight.data(), bias.data()};
    float* const gradients[] = {weight_gradient.data(), bias_gradient.data()};
    run_room::KernelFor<L, C>::forward({&leaf, rows, x.data(), output.data(), parameters, workspace.data()});
    run_room::KernelFor<L, C>::backward(
        {&leaf, rows, x.data(), nullptr, dy.data(), input_gradient.data(), parameters, gradients, add, workspace.data()});
    for (const Array* array : {&output, &input_gradient, &weight_gradient, &bias_gradient, &workspace}) CHECK(array->guarded());
  }
};

/// The window is not turned, and the padding counts as zeros.
template <class C> void one_channel() {
  using L = Conv2d<1, 1, KernelSize<2>, Padding<1>, Stride<2>>;
  const Array x = filled({1, 2, 3,  //
                          4, 5, 6,  //
                          7, 8, 9});
  const Run<L, C> run{Spec{Shape{1, 3, 3}}, 1, x, filled({1, 10, 100, 1000}), filled({1, 2, 3, 4}), filled({0.5F})};
  // places: pixel 0 below to the right; 1, 2; 3, 6; 4, 5, 7, 8
  CHECK(run.output.same_bits(filled({4 + 0.5F, 6 + 12 + 0.5F, 8 + 28 + 0.5F, 5 + 12 + 24 + 36 + 0.5F})));
  CHECK(run.input_gradient.same_bits(filled({4, 30, 40, 200, 1000, 2000, 400, 3000, 4000})));
  CHECK(run.weight_gradient.same_bits(filled({5000, 6000 + 400, 8000 + 20, 9000 + 700 + 30 + 1})));
  CHECK(run.bias_gradient.same_bits(filled({1111})));
  const Run<L, C> added{Spec{Shape{1, 3, 3}}, 1, x, filled({1, 10, 100, 1000}), filled({1, 2, 3, 4}), filled({0.5F}), true};
  CHECK(added.weight_gradient.same_bits(filled({5003, 6403, 8023, 9734})));
  CHECK(added.bias_gradient.same_bits(filled({1114})));
}

/// Groups see their own channels alone, and a dilated window the pixels that far apart.
template <class C> void groups_and_dilation() {
  using Grouped = Conv2d<2, 2, KernelSize<1>, Groups<2>>;
  const Run<Grouped, C> run{Spec{Shape{2, 1, 2}}, 1, filled({1, 2, 10, 20}), filled({1, 2, 3, 4}), filled({3, 5}), filled({0, 0})};
  CHECK(run.output.same_bits(filled({3, 6, 50, 100})));
  CHECK(run.weight_gradient.same_bits(filled({5, 110})));
  CHECK(run.input_gradient.same_bits(filled({3, 6, 15, 20})));
  using Dilated = Conv2d<1, 1, KernelSize<1, 2>, Dilation<1, 3>>;
  const Run<Dilated, C> far{Spec{Shape{1, 1, 5}}, 1, filled({1, 2, 3, 4, 5}), filled({1, 10}), filled({1, 100}), filled({0})};
  CHECK(far.output.same_bits(filled({401, 502})));
  CHECK(far.input_gradient.same_bits(filled({1, 10, 0, 100, 1000})));
}

}  // namespace convolutions
