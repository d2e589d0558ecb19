// SPDX-License-Identifier: MIT
#include "heddle/plan/check/groups.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/lowered.hpp"
#include "heddle/plan/options/groups.hpp"
#include "plan/spoilt.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto facts = Code{'S', 18};
using Grouped = Plan<Skips, CrossEntropy, Adam, Batch<16, KeepLast>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>, NoDecay<>,
                     LearningRateFactor<"0", 1, 10>>;
using GroupedTies = Plan<Language, CrossEntropy, Adam, Batch<16, KeepLast>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>,
                         LearningRateFactor<"wte", 1, 10>, NoDecay<"wte.bias">>;

StepPiece& piece(Making& p, int i) { return const_cast<StepPiece*>(p.shared.pieces)[i]; }
std::int16_t& group_of(Making& p, int parameter) { return const_cast<std::int16_t*>(p.request.groups.of_parameter)[parameter]; }
ParameterGroup& group(Making& p, int g) { return const_cast<ParameterGroup*>(p.request.groups.list)[g]; }

}  // namespace

TEST_CASE("pieces of what the lowering makes are those that follow from the plan") {
  CHECK(noted_with<Grouped>(After::placing, [](Making&) {}).sentence().view() == "");
  CHECK(noted_with<GroupedTies>(After::placing, [](Making&) {}).sentence().view() == "");
  CHECK(lines_are_legal_with<Grouped>(After::placing, [](Making&) {}));
}

TEST_CASE("each piece with another group, begin or size is found") {
  Making whole{request_of<Grouped>()};
  REQUIRE(lower_with(whole, {"", After::reading, [](Making&) {}}));
  REQUIRE(whole.shared.piece_count > 8);
  for (int i = 0; i < whole.shared.piece_count; ++i) {
    CAPTURE(i);
    CHECK(refused_for(noted_with<Grouped>(After::sharing, [=](Making& p) { piece(p, i).group = piece(p, i).group == 0 ? 1 : 0; }), facts,
                      "the group in which a step changes "));
    CHECK(refused_for(noted_with<Grouped>(After::sharing, [=](Making& p) { piece(p, i).begin += 16; }), facts, "where a piece of a step begins"));
    CHECK(noted_with<Grouped>(After::sharing, [=](Making& p) { piece(p, i).elements += 16; }).code == facts);
    CHECK(noted_with<Grouped>(After::sharing, [=](Making& p) { piece(p, i).elements = 0; }).code == facts);
    CHECK(noted_with<Grouped>(After::sharing, [=](Making& p) { ++piece(p, i).bucket; }).code == facts);
  }
  CHECK(noted_with<Grouped>(After::sharing, [](Making& p) { --p.shared.piece_count; }).code == facts);
  CHECK(noted_with<Grouped>(After::sharing, [](Making& p) { p.shared.piece_count = 0; }).code == facts);
}

TEST_CASE("pieces that meet inside a line are found: a kernel takes whole lines") {
  const auto shift = [](Making& p) {
    piece(p, 0).elements += 1;
    piece(p, 1).begin += 1;
    piece(p, 1).elements -= 1;
  };
  CHECK(refused_for(noted_with<Grouped>(After::sharing, shift), facts, "where a piece of a step begins or ends in its bucket is noted as"));
}

TEST_CASE("groups that are not those of the plan are found") {
  const auto told = [](auto spoil, std::string_view words) { return refused_for(noted_with<Grouped>(After::dividing, spoil), facts, words); };
  CHECK(told([](Making& p) { group(p, 1).denominator = 9; }, "the denominator of the factor of a group is noted as 9, but 10 follows"));
  CHECK(told([](Making& p) { group(p, 1).numerator = 2; }, "the numerator of the factor of a group is noted as 2, but 1 follows"));
  CHECK(told([](Making& p) { group(p, 1).decays = !group(p, 1).decays; }, "whether a group decays"));
  CHECK(told([](Making& p) { group_of(p, 2) = 1; }, "the group of parameter 1.0.weight is noted as 1, but 0 follows"));
  CHECK(told([](Making& p) { p.request.groups = {}; }, "the number of groups of parameters is noted as 0, but "));
}

TEST_CASE("an evaluation with other pieces than the training is found") {
  const auto spoil = [](Making& p) { p.programs[1].piece_count = 0; };
  CHECK(refused_for(noted_with<Grouped>(After::placing, spoil), facts, "the evaluation has other tables than the training"));
}
