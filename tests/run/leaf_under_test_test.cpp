// SPDX-License-Identifier: MIT
#include "heddle/run/leaf_under_test.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

using Normed = LeafUnderTest<LayerNorm<3>, EigenCompute>;
using Product = LeafUnderTest<Linear<3, 2>, EigenCompute>;

bool has_nan(const Floats& values) {
  return std::any_of(values.begin(), values.end(), [](float v) { return std::isnan(v); });
}

}  // namespace

TEST_CASE("a leaf has tensors of its own size, room for its statistics among them, and its backward reads what its forward left there") {
  Normed test{LayerNorm<3>::describe(Spec{Shape{3}}), 4};
  CHECK((test.input.size() == 12 && test.output.size() == 12 && test.statistics.size() == 8 && test.gradients.size() == 2));
  std::fill(test.statistics.begin(), test.statistics.end(), 99.0F);
  test.forward(0, 4);
  CHECK(std::count(test.statistics.begin(), test.statistics.end(), 99.0F) == 0);
  test.backward(0, 4, false);
  const Floats right = test.input_gradient;
  CHECK_FALSE(has_nan(right));
  test.statistics[1] *= 2;
  test.backward(0, 4, false);
  CHECK(test.input_gradient[0] != right[0]);
  CHECK(test.input_gradient[3] == right[3]);  // of the next row
  CHECK(test.beside == nullptr);
}

TEST_CASE("where what is not declared is absent, a forward has no room for statistics") {
  Normed test{LayerNorm<3>::describe(Spec{Shape{3}}), 4};
  std::fill(test.statistics.begin(), test.statistics.end(), 99.0F);
  test.absent = true;
  test.forward(0, 4);
  CHECK(std::count(test.statistics.begin(), test.statistics.end(), 99.0F) == 8);
}

TEST_CASE("either part of a backward is run by itself, and its objective is the sum of outputs times their gradients") {
  Product test{Linear<3, 2>::describe(Spec{Shape{3}}), 5};
  test.forward(0, 5);
  test.backward(0, 5, false, Product::Part::input);
  CHECK_FALSE(has_nan(test.input_gradient));
  test.backward(0, 5, false, Product::Part::parameters);
  CHECK_FALSE(has_nan(test.gradients[0]));
  double sum = 0;
  for (std::size_t i = 0; i < test.output.size(); ++i) sum += static_cast<double>(test.output[i]) * static_cast<double>(test.output_gradient[i]);
  CHECK(test.objective() == sum);
}

TEST_CASE("a leaf of two operands has a second value, and its backward is called for each") {
  LeafUnderTest<Concat, EigenCompute> test{Concat::describe(Spec{Shape{3}}, Spec{Shape{2}}), 4};
  CHECK((test.input.size() == 12 && test.second.size() == 8 && test.output.size() == 20 && test.second_gradient.size() == 8));
  test.forward(0, 4);
  CHECK((test.output[5] == test.input[3] && test.output[8] == test.second[2]));  // row 1
  test.backward(0, 2, false);
  test.backward(2, 2, false);
  CHECK((test.input_gradient[3] == test.output_gradient[5] && test.second_gradient[7] == test.output_gradient[19]));
  CHECK(test.beside == nullptr);
}
