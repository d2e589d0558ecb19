// SPDX-License-Identifier: MIT
#include "heddle/plan/check/rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "heddle/plan/check/check.hpp"
#include "heddle/plan/checked.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Staged = RequestOf<Trained<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>, Clip<GlobalNorm>>>;

}  // namespace

TEST_CASE("rules are asked one after another, each once, until one is broken") {
  std::vector<int> asked;
  const Diagnosis fine, wrong{Code{'S', 9}, "this one, not those after it"};
  const auto all_fine = [&](Rule rule) -> const Diagnosis& {
    asked.push_back(static_cast<int>(rule));
    return fine;
  };
  CHECK(first_broken(all_fine) == nullptr);
  CHECK((asked.size() == std::size_t{rule_count} && asked.front() == 0 && asked.back() == rule_count - 1));
  CHECK(std::is_sorted(asked.begin(), asked.end(), std::less_equal<>{}));
  asked.clear();
  const Diagnosis* const found = first_broken([&](Rule rule) -> const Diagnosis& {
    asked.push_back(static_cast<int>(rule));
    return rule < Rule::ties ? fine : wrong;
  });
  CHECK((found == &wrong && asked.back() == static_cast<int>(Rule::ties)));
}

TEST_CASE("of a sound plan the compiler and a running program have an answer for each rule, in both modes") {
  ProgramRules trained{LoweredPrograms<Staged>::training, Lanes::one_per_device};
  ProgramRules evaluated{LoweredPrograms<Staged>::evaluation, Lanes::one_per_device};
  for (int r = 0; r < rule_count; ++r) {
    CAPTURE(r);
    const auto rule = static_cast<Rule>(r);
    CHECK((trained(rule).ok() && CheckedProgram<Staged>::of<true>(rule).ok()));
    CHECK((evaluated(rule).ok() && CheckedProgram<Staged>::of<false>(rule).ok()));
  }
}

TEST_CASE("of two broken rules the earlier one is told") {
  Program p = LoweredPrograms<Staged>::training;
  std::vector<Pool> pools(p.pools, p.pools + p.chunks * pool_kinds);
  for (Pool& pool : pools) pool.slots = pool.slots > 1 ? 1 : pool.slots;
  p.pools = pools.data();
  CHECK(check(p).code == "S15");
  p.clips = false;
  CHECK(check(p).code == "S15");
  Program unclipped = LoweredPrograms<Staged>::training;
  unclipped.clips = false;
  CHECK(check(unclipped).code == "S17");
}
