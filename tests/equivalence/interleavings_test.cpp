// SPDX-License-Identifier: MIT
// One thread conducts the ranks of drawn plans, in floats, in orders that seeds draw: whatever the order, every byte of every arena is that of ranks
// that are threads. HEDDLE_INTERLEAVINGS says how many orders are wanted, HEDDLE_DRAWN_SEED where the seeds of the plans begin.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "equivalence/conducted_session.hpp"
#include "equivalence/drawn_runs.hpp"
#include "heddle/backend/cpu.hpp"
#include "heddle/backend/thread_session.hpp"
#include "proof/mutable_program.hpp"
#include "sanitized.hpp"

using namespace drawn_plans;

namespace {

#if defined(HEDDLE_SANITIZED)
constexpr long usual = 500;
#else
constexpr long usual = 10'000;
#endif
constexpr int orders_of_a_plan = 20;

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

/// A seeded order that can be told from others by the turns it gave.
struct Noted {
  Seeded order{0};
  std::uint64_t turns = 0;
  int operator()(std::span<const int> ready, int last) {
    const int rank = order(ready, last);
    turns = (turns ^ static_cast<std::uint64_t>(rank + 1)) * 0x100000001b3ULL;
    return rank;
  }
};
using Conducted = equivalence::ConductedSession<Noted>;

}  // namespace

TEST_CASE("whatever the order in which ranks take their turns, they end with the bits of threads") {
  const long wanted = number_in("HEDDLE_INTERLEAVINGS", usual);
  auto seed = static_cast<std::uint64_t>(number_in("HEDDLE_DRAWN_SEED", 1));
  long done = 0, turns_of_many = 0;
  int plans = 0;
  std::set<std::uint64_t> different, models_seen;
  for (; done < wanted; ++seed) {
    DrawnPlan plan = drawn(seed);
    const LoweredPlan programs = lowered(plan);
    if (!check(programs).ok() || programs.training().mesh.ranks() == 1) continue;
    CAPTURE(plan.text);
    ++plans;
    models_seen.insert(static_cast<std::uint64_t>(plan.model - models().data()));
    const Left threads = Runs<ThreadSession>(plan, kernels(), programs.training(), programs.evaluation()).run();
    Runs<Conducted> conducted{plan, kernels(), programs.training(), programs.evaluation()};
    for (int i = 0; i < orders_of_a_plan && done < wanted; ++i, ++done) {
      const auto order = 1000 * seed + static_cast<std::uint64_t>(i);
      CAPTURE(order);
      conducted.session().set_order({Seeded{order}, seed});
      REQUIRE(conducted.run().same(threads));
      different.insert(conducted.session().order().turns);
      turns_of_many += programs.training().mesh.ranks() > 2 ? 1 : 0;
    }
  }
  MESSAGE(done << " interleavings of " << plans << " plans of " << models_seen.size() << " models, " << different.size() << " of them different, "
               << turns_of_many << " of more than two ranks: each ends with the bits of threads");
  CHECK(static_cast<long>(different.size()) > done * 19 / 20);
  if (wanted >= usual && usual >= 10'000) CHECK(models_seen.size() == models().size());
}

TEST_CASE("a Program that computes before it has waited for what it receives has other bits in other orders") {
  int told = 0, plans = 0;
  for (std::uint64_t seed = 1; plans < 20; ++seed) {
    DrawnPlan plan = drawn(seed);
    const LoweredPlan programs = lowered(plan);
    if (!check(programs).ok() || programs.training().roles == 1) continue;
    proof_test::MutableProgram mutant{programs.training()};
    for (std::size_t i = 1; i < mutant.instructions.size(); ++i)
      if (mutant.instructions[i - 1].op == ListOp::receive_wait && computes(mutant.instructions[i].op))
        std::swap(mutant.instructions[i - 1], mutant.instructions[i]);
    const Program& wrong = mutant.program();
    ++plans;
    CAPTURE(plan.text);
    Runs<Conducted> conducted{plan, kernels(), wrong, programs.evaluation()};
    std::vector<Left> seen;
    for (std::uint64_t order = 0; order < 30 && (seen.empty() || seen.back().same(seen.front())); ++order) {
      conducted.session().set_order({Seeded{order}, 0});
      seen.push_back(conducted.run());
    }
    told += seen.back().same(seen.front()) ? 0 : 1;
  }
  MESSAGE(told << " of " << plans << " plans that compute too early are told");
  CHECK(told > plans / 2);
}
