// SPDX-License-Identifier: MIT
#include "heddle/compute/field/concat.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

/// y, and with dy = y the gradients of both values.
struct Joined {
  std::vector<float> y, first, second;
};
template <int D> Joined joined(const Leaf& leaf, std::int64_t rows, const std::vector<float>& a, const std::vector<float>& b) {
  Joined out{elements(rows * leaf.out.elements(), 900), elements(std::ssize(a), 700), elements(std::ssize(b), 800)};
  ForwardCall forward{&leaf, rows, a.data(), out.y.data()};
  forward.second = b.data();
  FieldKernel<ConcatAlong<D>>::forward(forward);
  for (int k = 0; k < 2; ++k) {
    BackwardCall backward{&leaf, rows};
    backward.output_gradient = out.y.data();
    backward.operand = k;
    FieldKernel<ConcatAlong<D>>::backward(backward);  // nobody needs a gradient
    backward.input_gradient = (k == 0 ? out.first : out.second).data();
    FieldKernel<ConcatAlong<D>>::backward(backward);
  }
  return out;
}

}  // namespace

TEST_CASE("what is joined is both values, and cut again they are themselves") {
  const Leaf leaf = ConcatAlong<1>::describe(Spec{Shape{2, 2, 3}}, Spec{Shape{2, 1, 3}});
  const auto a = elements(24), b = elements(12, 50);
  const Joined got = joined<1>(leaf, 2, a, b);
  CHECK(same(got.first, a));
  CHECK(same(got.second, b));
  CHECK(std::equal(a.begin() + 6, a.begin() + 12, got.y.begin() + 9));  // the second run of row 0
  CHECK(std::equal(b.begin() + 3, b.begin() + 6, got.y.begin() + 15));
}

TEST_CASE("a part along another dimension is the part of the whole") {
  const auto a = elements(24), b = elements(40, 50);
  const Joined whole = joined<last_dimension>(Concat::describe(Spec{Shape{4, 3}}, Spec{Shape{4, 5}}), 2, a, b);
  for (int part = 0; part < 2; ++part) {
    const auto half = [&](const std::vector<float>& from, std::ptrdiff_t row) {
      std::vector<float> of;
      for (std::ptrdiff_t r = 0; r < 2; ++r)
        of.insert(of.end(), from.begin() + r * row + part * row / 2, from.begin() + r * row + (part + 1) * row / 2);
      return of;
    };
    const Joined got = joined<last_dimension>(Concat::describe(Spec{Shape{2, 3}}, Spec{Shape{2, 5}}), 2, half(a, 12), half(b, 20));
    CHECK(same(got.y, half(whole.y, 32)));
    CHECK(same(got.first, half(whole.first, 12)));
    CHECK(same(got.second, half(whole.second, 20)));
  }
}
