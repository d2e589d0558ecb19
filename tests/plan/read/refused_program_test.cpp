// SPDX-License-Identifier: MIT
#include "heddle/plan/read/refused_program.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/advice.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/read/work.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// What a user writes takes the types of a plan that is sound.
constexpr int devices_in(const Program& p) { return p.mesh.ranks(); }
constexpr Bytes sent_by_first(const Traffic& t) { return t.sent_to_peers(Rank{0}); }
constexpr int remarks_in(const AdviceReport& report) {
  int count = 0;
  for ([[maybe_unused]] const Diagnosis& d : report) ++count;
  return count;
}

}  // namespace

TEST_CASE("every word of a refused program compares as true, on either side and after arithmetic") {
  constexpr const RefusedProgram& p = no_program;
  static_assert(p.roles == 4 && 8 > p.chunks && p.loss_role() == 1 && p.device_of_chunk[3] == 0 && p.first_node[1] - p.first_node[0] == 2);
  static_assert(p.batch.micro_rows == 16 && p.batch.micro_rows_of(1) == 32 && p.batch.tree && !p.batch.tree && p.batch.remedy == Remedy::keep);
  static_assert(p.mesh.ranks() == 8 && p.mesh.coordinate(Rank{9}, Axis::stage) == 2 && p.mesh.member(1, Axis::data, 3) == Rank{7});
  static_assert(bubble_percent(p) == 28 && stage_flops(p, 0) == 7 && waiting_percent(p) < 0 && 5 * flops_run_again(p) < Flops{1});
  CHECK((p.clips && !p.clips && p.slot(3, 4) == 5));
}

TEST_CASE("what a refused plan moves answers every word of a Traffic") {
  constexpr RefusedTraffic traffic{};
  static_assert(traffic.gradients().on(axis::data).moved_per_rank() == 7_MB && traffic.activations().messages > 100 && traffic.total() < 1_B);
  static_assert(traffic.sent_in_values(Rank{1}, BodyOp::copy) == 8_B && traffic.value_collectives(0, BodyOp::copy) == 5);
  static_assert(traffic.loss().messages == 8 && traffic.ties().total_payload == Bytes{4} && traffic.sent_in_norm(Rank{0}) == 8_KiB);
  CHECK(traffic.sent_to_peers(Rank{0}) == 3_B);
}

TEST_CASE("refused answers stand where a Program, a Traffic and an AdviceReport are taken: one device, nothing lowered, nothing moved") {
  static_assert(devices_in(no_program) == 1 && sent_by_first(RefusedTraffic{}) == 0_B && remarks_in(RefusedAdvice{}) == 0);
  const Program& p = no_program;
  CHECK(p.loss_role() == 0);
  CHECK(p.lists[0].count() == 0);
  CHECK(p.arenas[0].total == 0);
  CHECK(p.pools[pool_kinds - 1].slots == 0);
  CHECK(bubble_percent(p) == 0);
}

TEST_CASE("a refused plan and a refused Inference show refused programs, a sound one its own") {
  using Broken = Plan<Chain, CrossEntropy, Adam, Batch<63>, DataParallel<2>>;
  static_assert(check<Broken>().code == Code{'B', 1});
  static_assert(std::is_same_v<decltype(Answers<Broken>::program()), const RefusedProgram&>);
  static_assert(std::is_same_v<decltype(ProgramOf<Broken, true>::program), const RefusedProgram>);
  CHECK(std::is_same_v<decltype(Trained<Chain, Single>::training), const Program>);
}
