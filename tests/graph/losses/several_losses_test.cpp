// SPDX-License-Identifier: MIT
#include "heddle/graph/losses/several_losses.hpp"

#include <doctest/doctest.h>

#include <concepts>
#include <string>

#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/losses/elementwise_losses.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"

using namespace heddle;

namespace {

using Digit = LossOf<"digit", Outputs<10>, CrossEntropyWith<Ignored<-100>>>;
using Angle = LossOf<"angle", Outputs<3>, MeanSquaredError, LossWeight<1, 2>>;
using Early = LossOf<"early", Outputs<10>, CrossEntropy, TargetsOf<"digit">, LossWeight<3, 10>>;
using All = Losses<Digit, Angle, Early>;

template <class L> std::string refusal(const Spec& output) { return std::string{L::accepts(output).sentence().view()}; }
constexpr Spec flat{Shape{23}};
constexpr Spec words{Shape{6, 23}};

}  // namespace

TEST_CASE("several losses are a loss: labels and floats have targets of both sorts, labels alone class numbers") {
  static_assert(LossDescription<All> && !SplitLossDescription<All>);
  static_assert(std::same_as<All::Target, TargetValue>);
  static_assert(std::same_as<Losses<Digit, Early>::Target, std::int32_t>);
  static_assert(std::same_as<Losses<Angle, LossOf<"other", Outputs<2>, Huber<>>>::Target, float>);
  static_assert(All::accepts(flat).ok() && All::accepts(words).ok());
  static_assert(All::number_of("angle") == 1 && All::number_of("none") == -1);
  CHECK((All::said[0].weight == 1 && All::said[1].weight == 0.5 && All::said[2].weight == 0.3));
}

TEST_CASE("targets stand one loss behind the other; what has those of another has none of its own") {
  CHECK(All::target_features(flat) == 4);
  const TargetRanges row = All::target_ranges(flat);
  REQUIRE(row.count == 3);
  CHECK((row.all[0].first == 0 && row.all[0].features == 1 && row.all[0].classes == 10 && row.all[0].name == "digit"));
  CHECK((row.all[1].first == 1 && row.all[1].features == 3 && row.all[1].classes == 0));
  CHECK((row.all[2].first == 0 && row.all[2].features == 1 && row.all[2].classes == 10));
  CHECK((row.all[0].counts != nullptr && !row.all[0].counts(-100) && row.all[2].counts == nullptr));
  CHECK((row.several() && row.labels() && row.fewest_classes() == 10));
  CHECK((row.reader_of(0).classes == 10 && !row.leave_out(0, -100) && row.all[0].reads(0) && row.all[2].reads(0)));  // "early" leaves nothing out
  CHECK((row.reader_of(2).classes == 0 && row.reader_of(2).first == 1));
}

TEST_CASE("each position of an output is a row of each loss") {
  const PlaceOfLoss angle = All::place_of(1, words);
  CHECK((angle.first == 10 && angle.positions == 6 && angle.stride == 23 && angle.targets == 3 && angle.first_target == 6));
  CHECK((angle.reads == Spec{Shape{3}}));
  CHECK(All::target_features(words) == 24);
  CHECK(All::flops(words) == 6 * All::flops(flat));
  CHECK(All::flops(flat) == 2 * CrossEntropy::flops(Spec{Shape{10}}) + MeanSquaredError::flops(Spec{Shape{3}}));
  CHECK(All::place_of(2, words).first_target == 0);
}

TEST_CASE("a flat output may have positions inside: those of a loss lie one behind the other") {
  using Shaped = Losses<LossOf<"next", Outputs<8, 65>, CrossEntropy>, LossOf<"whole", Outputs<2>, CrossEntropy>>;
  constexpr Spec output{Shape{522}};
  static_assert(Shaped::accepts(output).ok());
  CHECK(Shaped::target_features(output) == 9);
  const PlaceOfLoss next = Shaped::place_of(0, output), whole = Shaped::place_of(1, output);
  CHECK((next.positions == 1 && next.reads == Spec{Shape{8, 65}} && next.targets == 8));
  CHECK((whole.first == 520 && whole.first_target == 8 && whole.targets == 1));
  CHECK(refusal<Losses<LossOf<"next", Outputs<2, 5>, CrossEntropy>, Angle>>(Spec{Shape{6, 13}}) ==
        "[heddle.G03] 'next' of Losses reads (2, 5) of an output of (6, 13), of whose positions each has a part. Fix: write Outputs<N>, or let the "
        "model end with Flatten.");
}

TEST_CASE("outputs that are not those of the model are refused with both numbers") {
  CHECK(refusal<All>(Spec{Shape{20}}) ==
        "[heddle.G03] Losses read 10 + 3 + 10 = 23 outputs, but the model gives 20. Fix: end the model with Branches<Concat, ...> of what they read, "
        "in "
        "their order, or change Outputs<...>.");
  CHECK(refusal<Losses<Digit, LossOf<"angle", Outputs<0>, MeanSquaredError>>>(flat) ==
        "[heddle.G03] 'angle' of Losses reads (0) outputs. Fix: write Outputs<10> for 10.");
  CHECK(refusal<Losses<Digit, LossOf<"one", Outputs<1>, CrossEntropy>>>(Spec{Shape{11}}) ==
        "[heddle.G03] in 'one' of Losses CrossEntropy takes at least 2 classes but the model gives 1. Fix: give the last Linear layer one output per "
        "class; of one question with two answers name BinaryCrossEntropy.");
}

TEST_CASE("lists that are none are refused: too few, a loss by itself, names, options, weights") {
  CHECK(refusal<Losses<Digit>>(flat) == "[heddle.G03] Losses names 1 loss. Fix: name 2 to 8 of them, or write the loss itself.");
  CHECK(refusal<Losses<>>(flat) == "[heddle.G03] Losses names 0 losses. Fix: name 2 to 8 of them.");
  CHECK(refusal<Losses<Angle, Angle, Angle, Angle, Angle, Angle, Angle, Angle, Angle>>(flat) ==
        "[heddle.G03] Losses names 9 losses. Fix: name 2 to 8 of them.");
  CHECK(refusal<Losses<Digit, CrossEntropy>>(flat) ==
        "[heddle.G03] Losses names CrossEntropy, which is none of several losses. Fix: write LossOf<\"digit\", Outputs<10>, CrossEntropy>.");
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, int>>>(flat).find("'x' of Losses has int, which is no loss of a part of the output.") !=
        std::string::npos);
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, Losses<Digit, Angle>>>>(flat).find("which is no loss of a part of the output.") !=
        std::string::npos);
  CHECK(refusal<Losses<Digit, Digit>>(flat) == "[heddle.G03] 'digit' of Losses names two losses. Fix: rename one of them.");
  CHECK(refusal<Losses<Digit, LossOf<"a.b", Outputs<3>, MeanSquaredError>>>(flat) ==
        "[heddle.G03] 'a.b' of Losses is no name: it is empty or has a dot or a star. Fix: use letters, digits and underscores.");
  const std::string remedy =
      " names what is no option of LossOf, or one twice. Fix: name LossWeight<3, 10> for 0.3 and TargetsOf<\"digit\"> once; options of the loss "
      "stand "
      "inside it, as CrossEntropyWith<Ignored<-100>>.";
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, MeanSquaredError, Ignored<-1>>>>(flat) == "[heddle.G03] 'x' of Losses" + remedy);
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, MeanSquaredError, LossWeight<3>, LossWeight<5>>>>(flat) ==
        "[heddle.G03] 'x' of Losses" + remedy);
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<10>, CrossEntropy, TargetsOf<"digit">, TargetsOf<"digit">>>>(flat) ==
        "[heddle.G03] 'x' of Losses" + remedy);
  const std::string weight =
      "[heddle.G03] 'x' of Losses has a LossWeight that is no whole number or fraction above 0. Fix: write LossWeight<3, 10> for 0.3.";
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, MeanSquaredError, LossWeight<0, 10>>>>(flat) == weight);
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, MeanSquaredError, LossWeight<1, 0>>>>(flat) == weight);
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<3>, MeanSquaredError, LossWeight<0.3>>>>(flat) == weight);
  CHECK(refusal<Losses<Digit, LossOf<"x", MeanSquaredError>>>(flat).find("which is none of several losses. Fix: write LossOf<") != std::string::npos);
  using Labels = Losses<Digit, LossOf<"other", Outputs<3>, CrossEntropy>>;  // of one kind of targets
  CHECK(refusal<Losses<Digit, LossOf<"x", Outputs<13>, Labels>>>(Spec{Shape{23}}).find("which is no loss of a part of the output.") !=
        std::string::npos);
}

TEST_CASE("targets are those of an earlier loss that reads the same") {
  CHECK(refusal<Losses<Early, Digit>>(flat) ==
        "[heddle.G03] 'early' of Losses has the targets of 'digit', which is no earlier loss with targets of its own. Fix: name one that is.");
  using Further = LossOf<"further", Outputs<10>, CrossEntropy, TargetsOf<"early">>;
  CHECK(refusal<Losses<Digit, Early, Further>>(Spec{Shape{30}}).find("which is no earlier loss with targets of its own") != std::string::npos);
  using Fewer = LossOf<"early", Outputs<5>, CrossEntropy, TargetsOf<"digit">>;
  CHECK(refusal<Losses<Digit, Fewer>>(Spec{Shape{15}}) ==
        "[heddle.G03] 'early' of Losses reads 1 class numbers of (5) outputs, but 'digit', whose targets it has, 1 class numbers of (10). Fix: let "
        "both "
        "read the same, or give it targets of its own.");
  using Real = LossOf<"early", Outputs<10>, MeanSquaredError, TargetsOf<"digit">>;
  CHECK(refusal<Losses<Digit, Real>>(Spec{Shape{20}}).find("reads 10 real numbers of (10) outputs") != std::string::npos);
}

TEST_CASE("one of them may have weights of classes") {
  using Weighed = CrossEntropyWith<ClassWeights>;
  using One = Losses<Digit, LossOf<"x", Outputs<4>, Weighed>>;
  static_assert(One::weighs_classes && !All::weighs_classes);
  CHECK(One::accepts(Spec{Shape{14}}).ok());
  CHECK(One::target_ranges(Spec{Shape{14}}).weighed_classes() == 4);
  CHECK(refusal<Losses<LossOf<"x", Outputs<4>, Weighed>, LossOf<"y", Outputs<4>, Weighed>>>(Spec{Shape{8}}) ==
        "[heddle.G03] Losses name ClassWeights 2 times, but a trainer has one list of them. Fix: leave all but one out.");
}
