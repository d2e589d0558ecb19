// SPDX-License-Identifier: MIT
// Every fault of the lowering, in plans that seeds draw: one that changes a Program is refused at build, or breaks nothing.
#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <set>
#include <string>

#include "equivalence/drawn_plans.hpp"
#include "mutants/spoil.hpp"
#include "plan/difference.hpp"

using namespace drawn_plans;
using namespace heddle::tests;

namespace {

/// Where there is room to spare, or a table that the plan does not use, another number may be as good.
const std::set<std::string> may_be_harmless{"arena.parameters",
                                            "arena.frozen",
                                            "arena.gathered",
                                            "arena.thawed",
                                            "arena.gradients",
                                            "arena.fresh",
                                            "arena.arrived",
                                            "arena.ties",
                                            "arena.states",
                                            "arena.losses",
                                            "arena.norms",
                                            "arena.zeros",
                                            "arena.scratch",
                                            "arena.total",
                                            "arena.parameters of a copy",
                                            "arena.frozen of a copy",
                                            "arena.gathered of a copy",
                                            "arena.thawed of a copy",
                                            "arena.gradients of a copy",
                                            "arena.fresh of a copy",
                                            "arena.arrived of a copy",
                                            "arena.states of a copy",
                                            "arena.scratch of a copy",
                                            "pool.base",
                                            "pool.slot_bytes",
                                            "pool.slots",
                                            "bucket.begin",
                                            "bucket.elements",
                                            "bucket.slot",
                                            "place.begin",
                                            "unit.begin",
                                            "unit.elements",
                                            "the elements of a flat buffer",
                                            "the elements of frozen parameters",
                                            "the elements of gradients"};

struct Judge {
  Devices devices{ProofOptions{Seed{1}, std::chrono::seconds{10}, 1}};
  int faults = 0, without_effect = 0, refused = 0, harmless = 0;
  std::map<std::string, int> codes;
  std::set<std::string> names_refused;

  [[nodiscard]] Diagnosis check_spoilt(const Making& run, const LoweringRequest& in) const {
    if (const Diagnosis found = check_noted(run.programs[0], run.programs[1], made_from(in)); !found.ok()) return found;
    if (const Diagnosis found = check(run.programs[0]); !found.ok()) return found;
    return check(run.programs[1]);
  }
  void judge(const DrawnPlan& plan, const Faults& all, const Fault& fault) {
    Making run{plan.request};
    if (!lower_with(run, fault)) return;
    ++faults;
    const Diagnosis found = check_spoilt(run, plan.request);
    if (!found.ok()) {
      ++refused;
      ++codes[std::string{found.sentence().view().substr(8, 3)}];
      names_refused.insert(fault.name);
      return;
    }
    if (fault.after == After::reading && Difference(all.training(), run.programs[0]).words().empty() &&
        Difference(all.evaluation(), run.programs[1]).words().empty()) {
      ++without_effect;
      return;
    }
    ++harmless;
    CAPTURE(fault.name);
    CHECK(may_be_harmless.count(fault.name) == 1);
    if (harmless % 10 != 0) return;
    CHECK(prove_programs<FieldThreads::Session>({&run.programs[0], &run.programs[1]}, devices.of(plan), "the mutant").text == "");
  }
};

}  // namespace

TEST_CASE("whatever the lowering reads or notes wrongly is refused by a check, or breaks nothing") {
  Judge judge;
  for (std::uint64_t seed = 1, legal = 0; legal < 40; ++seed) {
    DrawnPlan plan = drawn(seed);
    if (!check(lowered(plan)).ok()) continue;
    ++legal;
    const auto leaves = std::make_unique<bool[]>(plan.again.size());
    for (std::size_t l = 0; l < plan.again.size(); ++l) leaves[l] = plan.again[l];
    plan.request.again.leaf = leaves.get();
    CAPTURE(plan.text);
    const Faults faults{plan.request};
    for (const Fault& fault : faults.all()) judge.judge(plan, faults, fault);
  }
  MESSAGE(judge.faults << " faults of " << judge.names_refused.size() << " kinds: " << judge.refused << " refused, " << judge.without_effect
                       << " without effect, " << judge.harmless << " harmless");
  for (const auto& [code, count] : judge.codes) MESSAGE(code << ": " << count);
  CHECK(judge.names_refused.size() > 80);
  CHECK(judge.refused > 10'000);
}
