// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/elementwise.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/sigmoid.hpp"
#include "heddle/graph/layers/tanh.hpp"

using namespace heddle;
using arrays::Array;

namespace {

/// A user's own layer.
struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x) { return x / (1 + std::exp(-x)); }
  static float backward(float x, float gradient) {
    const float s = 1 / (1 + std::exp(-x));
    return gradient * (s + x * s * (1 - s));
  }
};

/// Its derivative needs neither input nor output.
struct Negate {
  static constexpr Leaf describe(Spec in) { return elementwise("Negate", in, 1, Saves::nothing); }
  static float forward(float x) { return -x; }
  static float backward(float, float gradient) { return -gradient; }
};

template <class L> void forward(const Leaf& leaf, std::int64_t rows, const float* input, float* output) {
  Kernel<L, EigenCompute>::forward({&leaf, rows, input, output, nullptr, nullptr});
}
template <class L>
void backward(const Leaf& leaf, std::int64_t rows, const float* input, const float* output, const float* output_gradient, float* input_gradient) {
  const float* const in = leaf.saves == Saves::input ? input : nullptr;  // what is not saved is not there
  const float* const out = leaf.saves == Saves::output ? output : nullptr;
  Kernel<L, EigenCompute>::backward({&leaf, rows, in, out, output_gradient, input_gradient, nullptr, nullptr, false, nullptr});
}

/// Relative to the largest magnitude a layer's own functions make of these inputs; a compiler may fuse a kernel's loop differently from a single
/// call.
bool close(float a, float b) { return std::abs(a - b) <= 8 * static_cast<float>(arrays::unit_roundoff) * (1 + std::abs(b)); }

}  // namespace

TEST_CASE_TEMPLATE("the kernel of an own layer is its two functions on every element", L, Swish, Negate) {
  for (const std::int64_t rows : {0, 1, 2, 3, 16, 63, 64}) {
    const Leaf leaf = L::describe(Spec{Shape{7, 5}});
    const std::int64_t n = rows * 35;
    const Array x(n, 1);
    const Array dy(n, 2);
    const Array y(n, 0, arrays::nan);
    const Array dx(n, 0, arrays::nan);
    forward<L>(leaf, rows, x.data(), y.data());
    backward<L>(leaf, rows, x.data(), y.data(), dy.data(), dx.data());
    for (std::int64_t i = 0; i < n; ++i) {
      CHECK(close(y[i], L::forward(x[i])));
      CHECK(close(dx[i], L::backward(leaf.saves == Saves::output ? y[i] : x[i], dy[i])));
    }
    CHECK(y.guarded());
    CHECK(dx.guarded());
  }
}

TEST_CASE_TEMPLATE("position and length change no bit", L, ReLU, GELU, Tanh, Sigmoid, Swish, Negate) {
  const std::int64_t n = 67;
  const Array x(n, 1);
  const Array dy(n, 2);
  const Array y(n);
  const Array dx(n);
  const Leaf one = L::describe(Spec{Shape{1}});
  forward<L>(one, n, x.data(), y.data());
  backward<L>(one, n, x.data(), y.data(), dy.data(), dx.data());
  for (std::int64_t first = 0; first < 20; ++first) {
    for (const std::int64_t length : {std::int64_t{1}, std::int64_t{5}, std::int64_t{16}, std::int64_t{31}, n - first}) {
      const Array y2(length);
      const Array dx2(length);
      forward<L>(one, length, x.data() + first, y2.data());
      backward<L>(one, length, x.data() + first, y2.data(), dy.data() + first, dx2.data());
      CHECK(std::memcmp(y2.data(), y.data() + first, static_cast<std::size_t>(length) * 4) == 0);
      CHECK(std::memcmp(dx2.data(), dx.data() + first, static_cast<std::size_t>(length) * 4) == 0);
    }
  }
}

TEST_CASE_TEMPLATE("both directions of an own layer run in place", L, Swish, Negate) {
  const Leaf leaf = L::describe(Spec{Shape{37}});
  const Array x(37, 1);
  const Array dy(37, 2);
  const Array y(37);
  const Array dx(37);
  forward<L>(leaf, 1, x.data(), y.data());
  backward<L>(leaf, 1, x.data(), y.data(), dy.data(), dx.data());
  const Array y2 = x;
  const Array dx2 = dy;
  forward<L>(leaf, 1, y2.data(), y2.data());
  backward<L>(leaf, 1, x.data(), y.data(), dx2.data(), dx2.data());
  CHECK(y2.same_bits(y));
  CHECK(dx2.same_bits(dx));
}

TEST_CASE("a backward that reads what is not saved is given no number, so that nobody takes it for one") {
  struct Forgets : Swish {
    static constexpr Leaf describe(Spec in) { return elementwise("Forgets", in, 5, Saves::nothing); }
  };
  const Array x(3, 1);
  const Array dx(3);
  backward<Forgets>(Forgets::describe(Spec{Shape{3}}), 1, x.data(), x.data(), x.data(), dx.data());
  for (int i = 0; i < 3; ++i) CHECK_FALSE(is_finite(dx[i]));
}
