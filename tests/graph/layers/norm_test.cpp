// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/norm.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

struct Normed : Sequential<Input<4, 6>, LayerNorm<6>, Linear<6, 8>, RMSNorm<8>, LayerNorm<8, NoBias>> {};

template <class L> std::string refusal_of(const Spec& in) { return std::string{L::describe(in).fault.sentence().view()}; }

}  // namespace

TEST_CASE("LayerNorm has PyTorch's names, shapes and start, and leaves a mean and a deviation of each vector") {
  constexpr Leaf leaf = LayerNorm<6>::describe(Spec{Shape{4, 6}});
  static_assert(leaf.fault.ok() && leaf.out == leaf.in && leaf.saves == Saves::input && !leaf.weights_read && leaf.input_part_reads_saved);
  static_assert(leaf.parameter_count == 2 && leaf.parameters[0].shape == Shape{6} && leaf.parameters[1].shape == Shape{6});
  static_assert(leaf.parameters[0].initial == Initial::ones && leaf.parameters[1].initial == Initial::zeros);
  static_assert(leaf.statistics == Shape(4, 2) && leaf.statistics_elements() == 8);
  CHECK(leaf.parameters[0].name.view() == "weight");
  CHECK(leaf.parameters[1].name.view() == "bias");
  CHECK(leaf.spelled.view() == "LayerNorm<6>");
  CHECK(LayerNorm<6, NoBias, Epsilon<6>>::describe(Spec{Shape{6}}).spelled.view() == "LayerNorm<6, NoBias, Epsilon<6>>");
  static_assert(LayerNorm<6, NoBias>::describe(Spec{Shape{6}}).parameter_count == 1);
  static_assert(LayerNorm<6, WithBias>::describe(Spec{Shape{6}}).parameter_count == 2);
  static_assert(Linear<6, 8>::describe(Spec{Shape{6}}).statistics_elements() == 0);
}

TEST_CASE("RMSNorm has a weight alone, and leaves one number of each vector") {
  constexpr Leaf leaf = RMSNorm<6>::describe(Spec{Shape{2, 3, 6}});
  static_assert(leaf.fault.ok() && leaf.out == leaf.in && leaf.parameter_count == 1 && leaf.statistics == Shape(2, 3, 1));
  CHECK(leaf.spelled.view() == "RMSNorm<6>");
  static_assert(parameters<Normed> == 12 + 56 + 8 + 8);
  CHECK(graph_of<Normed>.fault.ok());
}

TEST_CASE("epsilon is PyTorch's where none is named") {
  static_assert(LayerNorm<6>::epsilon == 1e-5F && RMSNorm<6>::epsilon == 0x1p-23F);
  static_assert(LayerNorm<6, Epsilon<12>>::epsilon == 1e-12F && RMSNorm<6, Epsilon<6>>::epsilon == 1e-6F && Epsilon<1>::value() == 1e-1F);
}

TEST_CASE("every dimension but the last may be split, with terms of the parameters' gradients and parts of the statistics") {
  constexpr Leaf leaf = LayerNorm<6>::describe(Spec{Shape{4, 2, 6}});
  static_assert(leaf.signature_count == 2 && LayerNorm<6>::describe(Spec{Shape{6}}).signature_count == 0);
  for (int i = 0; i < leaf.signature_count; ++i) {
    CHECK(check_signature(leaf, leaf.signatures[i]).ok());
    CHECK(leaf.signatures[i].parameter_gradients[0].partial());
    CHECK(leaf.signatures[i].parameter_gradients[1].partial());
  }
  constexpr Leaf half = local_leaf(leaf, leaf.signatures[0], 2);
  static_assert(half.in.shape == Shape(2, 2, 6) && half.statistics == Shape(2, 2, 2) && half.parameters[0].shape == Shape{6});
  static_assert(local_leaf(leaf, leaf.signatures[1], 2).statistics == Shape(4, 1, 2));
}

TEST_CASE("what a norm cannot take is refused in one sentence") {
  CHECK(refusal_of<LayerNorm<5>>(Spec{Shape{4, 6}}) ==
        "[heddle.G01] LayerNorm<5> takes 5 features but the value before it has (4, 6). Fix: write LayerNorm<6>.");
  CHECK(refusal_of<RMSNorm<6>>(Spec{Shape{6}, ElementType::int32}) ==
        "[heddle.G01] RMSNorm<6> takes float32 but the value before it has int32. Fix: put a layer that gives float32 before it.");
  CHECK(refusal_of<LayerNorm<0>>(Spec{Shape{6}}) ==
        "[heddle.G06] LayerNorm<0> has a size that is not between 1 and 1,073,741,824. Fix: write the number of features of the value before it.");
  CHECK(refusal_of<LayerNorm<6, Epsilon<0>>>(Spec{Shape{6}}) ==
        "[heddle.G25] LayerNorm<6, Epsilon<0>> has an epsilon that is not between 1e-1 and 1e-30. Fix: write the digits of what is added: Epsilon<5> "
        "is 1e-5.");
  CHECK(refusal_of<LayerNorm<6, NoBias, NoBias>>(Spec{Shape{6}}) ==
        "[heddle.G25] LayerNorm<6, NoBias, NoBias> names an option twice. Fix: keep one of them.");
  CHECK(refusal_of<LayerNorm<6, int>>(Spec{Shape{6}}) ==
        "[heddle.G25] LayerNorm<6, int> names what is no option of LayerNorm. Fix: write Epsilon<6> for 1e-6, NoBias for no bias, or nothing.");
  CHECK(refusal_of<RMSNorm<6, NoBias>>(Spec{Shape{6}}) ==
        "[heddle.G25] RMSNorm<6, NoBias> names what is no option of RMSNorm. Fix: write Epsilon<6> for 1e-6, or nothing.");
}
