// SPDX-License-Identifier: MIT
// Plans drawn while the test runs. HEDDLE_DRAWN_PLANS says how many legal ones are wanted, HEDDLE_DRAWN_SEED where the seeds begin.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>

#include "equivalence/drawn_plans.hpp"
#include "proof/mutable_program.hpp"

using namespace drawn_plans;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

/// What prove says of a Program without one of its backwards of a layer with parameters; nothing if there is none.
std::string said_without_a_backward(const DrawnPlan& plan, const LoweredPlan& programs, Devices& devices, std::uint64_t seed) {
  const Program& whole = programs.training();
  const auto has_gradients = [&](const Entry& entry) {
    return (entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_weight) && whole.graph->leaf(entry.node).parameter_count > 0;
  };
  proof_test::MutableProgram all{whole};
  const int backwards = all.drop_entries(has_gradients);
  proof_test::MutableProgram mutant{whole};
  CHECK(mutant.drop_entries(has_gradients, Draw{seed}(backwards)) == 1);
  return prove_programs<FieldThreads::Session>({&mutant.program(), &programs.evaluation()}, devices.of(plan), "the mutant").text;
}

}  // namespace

TEST_CASE("every drawn plan that the checks accept computes what one device computes, and none does without one of its backwards") {
  const long wanted = number_in("HEDDLE_DRAWN_PLANS", sanitized ? 100 : 2000);
  auto seed = static_cast<std::uint64_t>(number_in("HEDDLE_DRAWN_SEED", 1));
  Devices devices{ProofOptions{}};
  std::map<std::string, int> refused;
  long legal = 0;
  long of_many = 0;
  long drawn_in_all = 0;
  double most = -1000;
  for (; legal < wanted; ++seed, ++drawn_in_all) {
    DrawnPlan plan = drawn(seed);
    CAPTURE(plan.text);
    const LoweredPlan programs = lowered(plan);
    if (const Diagnosis found = check(programs); !found.ok()) {
      ++refused[found.code.letter + std::to_string(found.code.number)];
      continue;
    }
    ++legal;
    if (programs.training().mesh.ranks() > 1) ++of_many;
    const Proof proof = prove_programs<FieldThreads::Session>({&programs.training(), &programs.evaluation()}, devices.of(plan), "the plan");
    REQUIRE(proof.text == "");
    CHECK(proof.log2_of_bound <= -40);
    most = std::max(most, proof.log2_of_bound);
    if (legal % 20 == 0) REQUIRE(said_without_a_backward(plan, programs, devices, seed).find("[heddle.R31] the mutant does not compute") == 0);
  }
  MESSAGE(legal << " legal plans, " << of_many << " of them of several devices, among " << drawn_in_all << " drawn");
  MESSAGE("a wrong one passes with a probability below 2^" << most);
  for (const auto& [code, count] : refused) MESSAGE(code << ": " << count << " refused");
  CHECK(of_many > wanted * 3 / 4);
}
