// SPDX-License-Identifier: MIT
#include "heddle/graph/losses/cross_entropy.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("CrossEntropy takes the logits of at least two classes and one class number per row") {
  static_assert(LossDescription<CrossEntropy>);
  static_assert(CrossEntropy::accepts(Spec{Shape{10}}).ok());
  static_assert(CrossEntropy::accepts(Spec{Shape{2}}).ok());
  static_assert(std::same_as<CrossEntropy::Target, std::int32_t>);
  CHECK(CrossEntropy::target_features(Spec{Shape{10}}) == 1);
  CHECK(CrossEntropy::flops(Spec{Shape{10}}) == 60);
}

TEST_CASE("the last dimension are the classes: each position before it has a class number") {
  static_assert(CrossEntropy::accepts(Spec{Shape{6, 10}}).ok());
  CHECK(CrossEntropy::target_features(Spec{Shape{6, 10}}) == 6);
  CHECK(CrossEntropy::target_features(Spec{Shape{2, 3, 10}}) == 6);
  CHECK(CrossEntropy::flops(Spec{Shape{6, 10}}) == 360);
}

TEST_CASE("it takes parts of the classes and tells three floats of each position") {
  static_assert(SplitLossDescription<CrossEntropy>);
  static_assert(CrossEntropy::splits(Spec{Shape{10}}) == laid::shard(0) && CrossEntropy::terms(Spec{Shape{10}}) == 3);
  CHECK(CrossEntropy::splits(Spec{Shape{6, 10}}) == laid::shard(1));
  CHECK(CrossEntropy::terms(Spec{Shape{6, 10}}) == 18);
}

TEST_CASE("outputs that are no classes are refused in one sentence") {
  static_assert(CrossEntropy::accepts(Spec{Shape{28, 1}}).code == Code{'G', 3});
  CHECK(CrossEntropy::accepts(Spec{Shape{1}}).sentence().view() ==
        "[heddle.G03] CrossEntropy takes at least 2 classes but the model gives 1. Fix: give the last Linear layer one output per class; of one "
        "question with two "
        "answers name BinaryCrossEntropy.");
  CHECK(CrossEntropy::accepts(Spec{Shape{10}, ElementType::int32}).sentence().view() ==
        "[heddle.G03] CrossEntropy takes float32 but the model gives int32. Fix: end the model with a layer that gives float32.");
  CHECK_FALSE(CrossEntropy::accepts(Spec{}).ok());
}

TEST_CASE("a loss with an ignored target is the same loss that leaves targets out; what is no option, or one twice, is refused") {
  using Padded = CrossEntropyWith<Ignored<-100>>;
  static_assert(CountsTargets<Padded> && SplitLossDescription<Padded> && !CountsTargets<CrossEntropy>);
  static_assert(Padded::counts(0) && Padded::counts(-1) && !Padded::counts(-100));
  static_assert(CrossEntropyWith<>::counts(-100) && CrossEntropyWith<>::accepts(Spec{Shape{10}}).ok());
  CHECK(Padded::accepts(Spec{Shape{10}}).ok());
  CHECK(Padded::accepts(Spec{Shape{1}}).code == Code{'G', 3});
  CHECK(Padded::target_features(Spec{Shape{6, 10}}) == 6);
  CHECK(CrossEntropyWith<int>::accepts(Spec{Shape{10}}).sentence().view() ==
        "[heddle.G03] CrossEntropyWith names what is no option of a loss. Fix: write CrossEntropyWith<Ignored<-100>, ClassWeights, LabelSmoothing<1, "
        "10>>, some of them, or CrossEntropy.");
  CHECK(
      CrossEntropyWith<Ignored<0>, Ignored<1>>::accepts(Spec{Shape{10}}).sentence().view() ==
      "[heddle.G03] CrossEntropyWith names an option twice. Fix: write CrossEntropyWith<Ignored<-100>, ClassWeights, LabelSmoothing<1, 10>>, some of "
      "them, or CrossEntropy.");
}

TEST_CASE("a loss whose classes have weights says so") {
  static_assert(weighs_classes<CrossEntropyWith<ClassWeights>>() && weighs_classes<CrossEntropyWith<Ignored<0>, ClassWeights>>());
  static_assert(!weighs_classes<CrossEntropyWith<Ignored<0>>>() && !weighs_classes<CrossEntropy>());
  CHECK(CrossEntropyWith<ClassWeights, Ignored<-1>>::accepts(Spec{Shape{10}}).ok());
  CHECK(CrossEntropyWith<ClassWeights, ClassWeights>::accepts(Spec{Shape{10}}).code == Code{'G', 3});
}

TEST_CASE("a loss whose labels are smoothed tells one float more of a part; a share beyond 1 is refused") {
  using Smooth = CrossEntropyWith<LabelSmoothing<1, 10>>;
  static_assert(Smooth::smoothing == 0.1 && CrossEntropyWith<Ignored<0>>::smoothing == 0 && CrossEntropy::smoothing == 0);
  CHECK(Smooth::accepts(Spec{Shape{10}}).ok());
  CHECK(CrossEntropyWith<LabelSmoothing<1, 1>, Ignored<-1>, ClassWeights>::accepts(Spec{Shape{10}}).ok());
  CHECK(Smooth::terms(Spec{Shape{6, 10}}) == 24);
  CHECK(CrossEntropyWith<LabelSmoothing<0, 10>>::terms(Spec{Shape{6, 10}}) == 18);
  CHECK(CrossEntropyWith<LabelSmoothing<11, 10>>::accepts(Spec{Shape{10}}).sentence().view() ==
        "[heddle.G03] CrossEntropyWith has a LabelSmoothing that is no fraction from 0 to 1. Fix: write LabelSmoothing<1, 10> for a tenth.");
  CHECK(CrossEntropyWith<LabelSmoothing<-1, 10>>::accepts(Spec{Shape{10}}).code == Code{'G', 3});
  CHECK(CrossEntropyWith<LabelSmoothing<0.1>>::accepts(Spec{Shape{10}}).code == Code{'G', 3});
  CHECK(CrossEntropyWith<LabelSmoothing<1, 0>>::accepts(Spec{Shape{10}}).code == Code{'G', 3});
  CHECK(CrossEntropyWith<LabelSmoothing<1, 10>, LabelSmoothing<1, 10>>::accepts(Spec{Shape{10}}).words.view().find(" names an option twice") !=
        std::string_view::npos);
}
