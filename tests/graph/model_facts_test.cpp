// SPDX-License-Identifier: MIT
#include "heddle/graph/model_facts.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/tied.hpp"

using namespace heddle;

namespace {

struct Mnist : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};

}  // namespace

TEST_CASE("a model is asked for its parameters, its output and its operations") {
  static_assert(parameters<Mnist> == 39'760 && std::is_same_v<decltype(parameters<Mnist>), const std::int64_t>);
  static_assert(output_spec<Mnist> == Spec{Shape{10}});
  struct Tracking : Sequential<Input<3, 2, 2>, Named<"norm", BatchNorm2d<3>>, Flatten, Linear<12, 4>> {};
  struct Asked {
    struct Request {
      using Model = Mnist;
    };
  };  // as a plan has it
  static_assert(parameters<Asked> == parameters<Mnist> && output_spec<Asked> == output_spec<Mnist>);
  static_assert(parameters<Tracking> == 3 + 3 + 12 * 4 + 4);  // as PyTorch counts: running statistics are no parameters
  static_assert(parameter_shape<Tracking, "norm.running_var"> == Shape{3} && graph_of<Tracking>.tracked_elements() == 6);
  // forward: two products and their biases, 50 comparisons; backward: the same products for weights, one for the value between, biases, comparisons
  CHECK(flops<Mnist>.value > 4 * (784 * 50 + 50 * 10));
  CHECK(flops<Mnist>.value < 7 * (784 * 50 + 50 * 10));
}

TEST_CASE("a parameter has its shape by name, and a name that there is not is refused with the nearest ones") {
  static_assert(parameter_shape<Mnist, "linear1.weight"> == Shape{50, 784} && parameter_shape<Mnist, "linear2.bias"> == Shape{10});
  struct Language : Sequential<Named<"first", Linear<4, 4>>, Repeat<3, Sequential<Linear<4, 4>>>, Tied<"head", Linear<4, 4>, To<"first">>> {};
  static_assert(parameter_shape<Language, "1.2.0.weight"> == Shape{4, 4} && parameter_shape<Language, "head.bias"> == Shape{4});
  CHECK(AskedParameter<Mnist, "linear1.wieght">::found.sentence().view() ==
        "[heddle.G26] Mnist has no parameter 'linear1.wieght'; nearest: 'linear1.weight'. Fix: name a parameter of its state_dict, such as "
        "'linear1.weight'.");
  CHECK(AskedParameter<Mnist, "wte">::found.sentence().view() ==
        "[heddle.G26] Mnist has no parameter 'wte'. Fix: name a parameter of its state_dict, such as 'linear1.weight'.");
  static_assert(AskedParameter<Language, "1.3.0.weight">::found.code == Code{'G', 26});
  struct Squash : Sequential<Input<4>, ReLU> {};
  CHECK(AskedParameter<Squash, "0.weight">::found.words.view().find("Squash has no parameters at all") != std::string_view::npos);
  static_assert(shape_of_parameter<Mnist, "wte">() == Shape{3} && shape_of_parameter<Sequential<Linear<4, 5>, Linear<6, 2>>, "0.bias">() == 7);
}

TEST_CASE("what is no model, or a broken one, is refused, and its answers compare as true") {
  static_assert(AskedModel<Mnist>::found.ok());
  CHECK(AskedModel<int>::found.sentence().view() == "[heddle.G05] int is no layer: it is no class. Fix: name a layer.");
  using Broken = Sequential<Linear<4, 5>, Linear<6, 2>>;
  static_assert(AskedModel<Broken>::found.code == Code{'G', 1});
  using Answers = ModelAnswers<Broken>;
  static_assert(Answers::parameters == 0 && Answers::parameters > 0 && Answers::flops > Flops{1} && Answers::flops.value == 7);
  static_assert(Answers::output == Spec{Shape{3}} && Answers::output.shape == Shape(3, 4) && Answers::output.elements() == 2);
  CHECK(Answers::parameters == 5);
}
