// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/elementwise.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/one_pass.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/eigen/elementwise.hpp"

using namespace heddle;
using conformance::CardTensors;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;
using on_card::Card;
using one_pass::close;
using one_pass::Pass;

namespace {

/// A user's own layer.
struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x / (1 + std::exp(-x)); }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float s = 1 / (1 + std::exp(-x));
    return gradient * (s + x * s * (1 - s));
  }
};
/// Its derivative needs neither input nor output.
struct Negate {
  static constexpr Leaf describe(Spec in) { return elementwise("Negate", in, 1, Saves::nothing); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return -x; }
  HEDDLE_HOST_DEVICE static float backward(float, float gradient) { return -gradient; }
};
/// Its backward reads what it does not save.
struct Forgets : Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Forgets", in, 5, Saves::nothing); }
};

/// What one kernel makes of an array, which begins `shift` floats behind a multiple of 16 bytes.
template <class L> struct Shifted {
  Floats y, dx;
  Shifted(const Floats& x, const Floats& dy, std::int64_t first, std::int64_t n, std::int64_t shift) {
    Floats in(static_cast<std::size_t>(n + shift)), out = in, gradient = in, made = in;
    for (std::int64_t i = 0; i < n; ++i) in[static_cast<std::size_t>(shift + i)] = x[static_cast<std::size_t>(first + i)];
    for (std::int64_t i = 0; i < n; ++i) gradient[static_cast<std::size_t>(shift + i)] = dy[static_cast<std::size_t>(first + i)];
    const Leaf leaf = L::describe(Spec{Shape{1}});
    CardTensors card;
    ForwardCallIn<CudaMemory> forward{&leaf, n, card.given(in.data(), n + shift) + shift, card.made(out.data(), n + shift) + shift};
    forward.space = card.space({});
    Kernel<L, CudaCompute>::forward(forward);
    BackwardCallIn<CudaMemory> backward{&leaf, n, forward.input, forward.output, card.given(gradient.data(), n + shift) + shift};
    backward.input_gradient = card.made(made.data(), n + shift) + shift;
    backward.space = forward.space;
    Kernel<L, CudaCompute>::backward(backward);
    card.finish();
    CHECK(std::all_of(out.begin(), out.begin() + shift, [](float before) { return before == 0; }));
    y.assign(out.begin() + shift, out.end());
    dx.assign(made.begin() + shift, made.end());
  }
};
Floats part_of(const Floats& whole, std::int64_t first, std::int64_t n) { return {whole.begin() + first, whole.begin() + first + n}; }

}  // namespace

TEST_CASE_TEMPLATE("an elementwise layer of any extents and rows computes on a card what loops in double compute, and keeps to its tensors", L, ReLU,
                   GELU, GELUTanh, SiLU, LeakyReLU<>, LeakyReLU<1, 5>, Tanh, Sigmoid) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE_TEMPLATE("the kernel of an own layer is its two functions on every element, in one block or more", L, Swish, Negate) {
  const Card card;
  const Leaf leaf = L::describe(Spec{Shape{7, 5}});
  for (const std::int64_t rows : {0, 1, 3, 29, 30, 62}) {  // 1024 elements are a block
    const Pass p = Pass::of<L, UploadedCuda>(leaf, rows);
    for (std::size_t i = 0; i < p.x.size(); ++i) {
      CHECK(std::abs(p.y[i] - L::forward(p.x[i])) <= 1e-6F);
      CHECK(std::abs(p.dx[i] - L::backward(p.x[i], p.dy[i])) <= 1e-6F);
    }
  }
}

TEST_CASE("a backward that reads what is not saved is given no number, so that nobody takes it for one") {
  const Card card;
  for (const float made : Pass::of<Forgets, UploadedCuda>(Forgets::describe(Spec{Shape{3}}), 1).dx) CHECK_FALSE(is_finite(made));
}

TEST_CASE_TEMPLATE("place, length and address change no bit, and nothing is written before them", L, ReLU, GELU, Tanh, Swish, Negate) {
  const Card card;
  const std::int64_t n = 67;
  const Floats x = drawn(n, 1), dy = drawn(n, 2);
  const Shifted<L> whole(x, dy, 0, n, 0);
  for (const std::int64_t first : {0, 1, 6})
    for (const std::int64_t shift : {0, 1, 3})
      for (const std::int64_t length : {std::int64_t{1}, std::int64_t{4}, std::int64_t{31}, n - first}) {
        const Shifted<L> part(x, dy, first, length, shift);
        CHECK(equal_bits(part.y, part_of(whole.y, first, length)));
        CHECK(equal_bits(part.dx, part_of(whole.dx, first, length)));
      }
}

TEST_CASE("an elementwise layer of many blocks computes what it computes with Eigen") {
  const Card card;
  for (const std::int64_t width : {64, 70, 75}) {
    const Leaf leaf = GELU::describe(Spec{Shape{3, width}});
    const Pass here = Pass::of<GELU, UploadedCuda>(leaf, 21), there = Pass::of<GELU, EigenCompute>(leaf, 21);
    CHECK((close(here.y, there.y) && close(here.dx, there.dx)));
  }
}
