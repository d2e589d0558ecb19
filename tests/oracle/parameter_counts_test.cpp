// SPDX-License-Identifier: MIT
// Parameter counts that others published, for what affine layers express; each with a mutant that has another count.
#include <doctest/doctest.h>

#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

TEST_CASE("the MLP 784-50-10 has 39,760 parameters") {
  static_assert(parameters<Sequential<Linear<784, 50>, ReLU, Linear<50, 10>>> == 39'760);
  CHECK(parameters<Sequential<Linear<784, 50, NoBias>, ReLU, Linear<50, 10>>> != 39'760);
}

TEST_CASE("the dense half of LeNet-5 (16 x 5 x 5, 120, 84, 10) has 61,706 parameters less its two convolutions") {
  using Dense = Sequential<Linear<16 * 5 * 5, 120>, Tanh, Linear<120, 84>, Tanh, Linear<84, 10>>;
  constexpr std::int64_t convolutions = (1 * 5 * 5 * 6 + 6) + (6 * 5 * 5 * 16 + 16);
  static_assert(parameters<Dense> == 61'706 - convolutions);
  CHECK(parameters<Sequential<Linear<16 * 5 * 5, 120>, Tanh, Linear<120, 84>, Tanh, Linear<84, 10, NoBias>>> != 61'706 - convolutions);
}

TEST_CASE("the pooler of BERT-base and the MLPs of GPT-2 small") {
  static_assert(parameters<Sequential<Linear<768, 768>, Tanh>> == 590'592);
  using Mlp = Residual<Linear<768, 3072>, GELU, Linear<3072, 768>>;
  static_assert(parameters<Repeat<12, Mlp>> == 12 * 4'722'432);
  CHECK(parameters<Repeat<11, Mlp>> != 12 * 4'722'432);
}

TEST_CASE("the affine layers of a Megatron block have 12 h^2 + 9 h parameters, the two LayerNorms the other 4 h") {
  constexpr std::int64_t h = 2304;
  using Mlp = Sequential<Linear<h, 4 * h>, GELU, Linear<4 * h, h>>;
  static_assert(parameters<Linear<h, 3 * h>> + parameters<Linear<h, h>> + parameters<Mlp> == 12 * h * h + 9 * h);
  CHECK(parameters<Linear<h, 3 * h, NoBias>> + parameters<Linear<h, h>> + parameters<Mlp> != 12 * h * h + 9 * h);
}

TEST_CASE("GPT-3 XL as it is printed, 24 heads of 128 for 2048 features, is no model") {
  constexpr Diagnosis found = graph_of<Sequential<Input<2048>, Unflatten<24, 128>>>.fault;
  static_assert(found.code == Code{'G', 7});
  static_assert(found.numbers[0] == 3072 && found.numbers[1] == 2048);
  static_assert(graph_of<Sequential<Input<2048>, Unflatten<16, 128>>>.fault.ok());
  CHECK(found.words.view().find("3072") != std::string_view::npos);
}
