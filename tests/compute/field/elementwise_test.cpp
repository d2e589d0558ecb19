// SPDX-License-Identifier: MIT
#include "heddle/compute/field/elementwise.hpp"

#include <doctest/doctest.h>

#include "compute/field/field.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/tanh.hpp"

using namespace in_field;

namespace {

template <class L> std::vector<float> forward(const std::vector<float>& x) {
  const Leaf leaf = L::describe(Spec{Shape{std::ssize(x)}});
  std::vector<float> y = x;
  FieldKernel<L>::forward({&leaf, 1, y.data(), y.data()});  // in place
  return y;
}

}  // namespace

TEST_CASE("a function of one element gives the same for the same, and another function another") {
  const Drawn drawn{5};
  std::vector<float> x = elements(8);
  x[3] = x[6];
  const std::vector<float> y = forward<GELU>(x);
  CHECK(Field::read(y[3]) == Field::read(y[6]));
  CHECK(Field::read(y[0]) != Field::read(y[1]));
  CHECK(same(y, forward<GELU>(x)));
  CHECK_FALSE(same(y, forward<Tanh>(x)));
  field_draw.key = 6;
  CHECK_FALSE(same(y, forward<GELU>(x)));
}

TEST_CASE("the backward is linear in the gradient and reads what the layer saves alone") {
  const Drawn drawn{5};
  const auto check = [](auto layer, bool reads_output) {
    using L = decltype(layer);
    const Leaf leaf = L::describe(Spec{Shape{8}});
    const std::vector<float> saved = elements(8);
    std::vector<float> one = elements(8, 50), other = elements(8, 90), sum(8), a(8), b(8), c(8);
    FieldCompute::add(sum.data(), one.data(), other.data(), 8);
    const auto backward = [&](const std::vector<float>& dy, std::vector<float>& dx) {
      FieldKernel<L>::backward({&leaf, 1, reads_output ? nullptr : saved.data(), reads_output ? saved.data() : nullptr, dy.data(), dx.data()});
    };
    backward(one, a);
    backward(other, b);
    backward(sum, c);
    FieldCompute::add(a.data(), a.data(), b.data(), 8);
    CHECK(same(a, c));
    CHECK_FALSE(same(c, sum));
    FieldKernel<L>::backward({&leaf, 1, nullptr, nullptr, one.data(), nullptr});  // nobody needs it
  };
  check(GELU{}, false);
  check(Tanh{}, Tanh::describe(Spec{Shape{8}}).saves == Saves::output);
  check(ReLU{}, ReLU::describe(Spec{Shape{8}}).saves == Saves::output);
}
