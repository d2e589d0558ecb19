// SPDX-License-Identifier: MIT
#include "heddle/graph/model_facts.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/sequential.hpp"

using namespace heddle;

namespace {

struct Mnist : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};

}  // namespace

TEST_CASE("a model is asked for its parameters, its output and its operations") {
  static_assert(parameters<Mnist> == 39'760 && std::is_same_v<decltype(parameters<Mnist>), const std::int64_t>);
  static_assert(output_spec<Mnist> == Spec{Shape{10}});
  // forward: two products and their biases, 50 comparisons; backward: the same products for weights, one for the value between, biases, comparisons
  CHECK(flops<Mnist>.value > 4 * (784 * 50 + 50 * 10));
  CHECK(flops<Mnist>.value < 7 * (784 * 50 + 50 * 10));
}

TEST_CASE("what is no model, or a broken one, is refused, and its answers compare as true") {
  static_assert(AskedModel<Mnist>::found.ok());
  CHECK(AskedModel<int>::found.text.view() == "[heddle.G05] int is no layer: it is no class. Fix: name a layer.");
  using Broken = Sequential<Linear<4, 5>, Linear<6, 2>>;
  static_assert(AskedModel<Broken>::found.code == Code{'G', 1});
  using Answers = ModelAnswers<Broken>;
  static_assert(Answers::parameters == 0 && Answers::parameters > 0 && Answers::flops > Flops{1} && Answers::flops.value == 7);
  static_assert(Answers::output == Spec{Shape{3}} && Answers::output.shape == Shape(3, 4) && Answers::output.elements() == 2);
  CHECK(Answers::parameters == 5);
}
