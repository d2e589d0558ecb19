// SPDX-License-Identifier: MIT
// Plans drawn while the test runs. HEDDLE_DRAWN_PLANS says how many legal ones are wanted, HEDDLE_DRAWN_SEED where the seeds begin.
// Of ten plans the ranks of one run on threads, those of the others by turns in one thread, all on the same executor and transport: threads of small
// plans mostly wait for each other. HEDDLE_DRAWN_ON_THREADS=1 runs all plans on threads, and so do the sanitizers, which look for races.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "equivalence/conducted_session.hpp"
#include "equivalence/drawn_plans.hpp"
#include "proof/mutable_program.hpp"
#include "sanitized.hpp"

using namespace drawn_plans;

namespace {

#if defined(HEDDLE_SANITIZED)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// The thread that conducts the ranks knows that they are in a run.
struct ByTurns : FieldSession<equivalence::ConductedSession<InTurn>> {
  using FieldSession::FieldSession;
  template <class Executors> void conduct(Executors& executors) {
    const InFieldRun here;
    ConductedSession::conduct(executors);
  }
};
using OnThreads = FieldThreads::Session;

/// Two Programs against one device.
Proof proved(const ProgramPair& both, Devices::Alone& alone, const char* name, bool on_threads) {
  return on_threads ? prove_programs<OnThreads>(both, alone, name) : prove_programs<ByTurns>(both, alone, name);
}

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

/// What prove says of a Program without one of its backwards of a layer with parameters; nothing if there is none.
std::string said_without_a_backward(const DrawnPlan& plan, const LoweredPlan& programs, Devices& devices, std::uint64_t seed, bool on_threads) {
  const Program& whole = programs.training();
  const auto has_gradients = [&](const Entry& entry) {
    return (entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_weight) && whole.graph->leaf(entry.node).parameter_count > 0;
  };
  proof_test::MutableProgram all{whole};
  const int backwards = all.drop_entries(has_gradients);
  proof_test::MutableProgram mutant{whole};
  CHECK(mutant.drop_entries(has_gradients, Draw{seed}(backwards)) == 1);
  return proved({&mutant.program(), &programs.evaluation()}, devices.of(plan), "the mutant", on_threads).text;
}

}  // namespace

TEST_CASE("every drawn plan that the checks accept computes what one device computes, and none does without one of its backwards") {
  const long wanted = number_in("HEDDLE_DRAWN_PLANS", sanitized ? 100 : 2000);
  auto seed = static_cast<std::uint64_t>(number_in("HEDDLE_DRAWN_SEED", 1));
  const bool all_on_threads = sanitized || number_in("HEDDLE_DRAWN_ON_THREADS", 0) != 0;
  Devices devices{ProofOptions{}};
  std::map<std::string, int> refused;
  long legal = 0;
  long of_many = 0;
  long of_one = 0;
  long of_threads = 0;
  long told_by_turns = 0;
  long drawn_in_all = 0;
  double most = -1000;
  for (; legal < wanted; ++seed, ++drawn_in_all) {
    DrawnPlan plan = drawn(seed);
    CAPTURE(plan.text);
    const LoweredPlan programs = lowered(plan);
    if (const Diagnosis found = check(programs); !found.ok()) {
      CHECK(found.code.letter != 'S');  // what a Program breaks: the lowering would be wrong
      ++refused[found.code.letter + std::to_string(found.code.number)];
      continue;
    }
    if (const Diagnosis found = check_one_device(*plan.model->work.graph, plan.request.batch); !found.ok()) {
      ++refused[found.code.letter + std::to_string(found.code.number)];
      continue;
    }
    ++legal;
    const bool many = programs.training().mesh.ranks() > 1;
    const bool threads = (many ? of_many : of_one)++ % 10 == 0 || all_on_threads;
    const Proof proof = proved({&programs.training(), &programs.evaluation()}, devices.of(plan), "the plan", threads);
    if (many && threads) ++of_threads;
    REQUIRE(proof.text == "");
    CHECK(proof.log2_of_bound <= -40);
    most = std::max(most, proof.log2_of_bound);
    if (legal % 20 != 0) continue;
    const bool mutant_on_threads = legal % 40 == 0 || all_on_threads;
    CAPTURE(mutant_on_threads);
    REQUIRE(said_without_a_backward(plan, programs, devices, seed, mutant_on_threads).find("[heddle.R31] the mutant does not compute") == 0);
    if (many && !mutant_on_threads) ++told_by_turns;
  }
  MESSAGE(legal << " legal plans, " << of_many << " of them of several devices, " << of_threads << " of those on threads, among " << drawn_in_all
                << " drawn");
  MESSAGE((legal / 20) << " mutants were told, " << told_by_turns << " of several devices by turns");
  MESSAGE("a wrong one passes with a probability below 2^" << most);
  for (const auto& [code, count] : refused) MESSAGE(code << ": " << count << " refused");
  CHECK(of_threads >= (all_on_threads ? of_many : (of_many + 9) / 10));
  if (wanted < 100) return;  // chance decides how many of a few plans have several devices
  CHECK(of_many > wanted * 3 / 4);
  CHECK((all_on_threads || told_by_turns > wanted / 200));
}
