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
