// SPDX-License-Identifier: MIT
#include "heddle/graph/loss.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

struct Absolute {  // a user's own loss
  using Target = float;
  static constexpr std::string_view name() { return "Absolute"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return 2 * output.elements(); }
};
struct WithoutAccepts {
  using Target = float;
  static constexpr std::string_view name() { return "WithoutAccepts"; }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return output.elements(); }
};
struct OfDoubles : Absolute {
  using Target = double;
};
struct InParts : Absolute {
  static constexpr Diagnosis accepts(const Spec& output) { return output.elements() > 1 ? Diagnosis{} : Diagnosis{Code{'G', 3}, "one"}; }
  static constexpr Laid splits(const Spec& output) { return laid::shard(output.shape.dimensions - 1); }
  static constexpr std::int64_t terms(const Spec&) { return 2; }
};

}  // namespace

TEST_CASE("a loss is described by its target, its sentence, its targets per row and its work") {
  static_assert(LossDescription<Absolute>);
  CHECK(Absolute::accepts(Spec{Shape{3}}).ok());
}

TEST_CASE("what lacks a member or has targets of another type is no loss") {
  static_assert(!LossDescription<WithoutAccepts>);
  static_assert(!LossDescription<OfDoubles>);
  static_assert(!LossDescription<int>);
  CHECK(TargetElement<std::int32_t>);
  CHECK_FALSE(TargetElement<double>);
}

TEST_CASE("a loss says how it takes an output in parts, or takes it whole") {
  static_assert(SplitLossDescription<InParts> && !SplitLossDescription<Absolute> && !SplitLossDescription<WithoutAccepts>);
  constexpr LossSplit split = split_of_loss<InParts>(Spec{Shape{4, 6}});
  static_assert(split.takes == laid::shard(1) && split.terms == 2);
  static_assert(split_of_loss<Absolute>(Spec{Shape{4, 6}}).takes.replicated());
  CHECK(split_of_loss<InParts>(Spec{Shape{1}}).takes.replicated());  // what it does not accept it does not split
}
