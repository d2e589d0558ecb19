// SPDX-License-Identifier: MIT
#include "heddle/plan/backend_named.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Pairing {
  using Compute = int;
  using Session = int;
};
struct OfAPrime {
  static constexpr bool proves = true;
};
struct Exact {
  using Compute = OfAPrime;
  using Session = int;
};
using Sound = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single>;
using Uneven = Plan<Mnist, CrossEntropy, Adam, Batch<63>, DataParallel<2>>;

}  // namespace

TEST_CASE("a Trainer without a backend, or with something else as its backend, says which one to name") {
  static_assert(RunsPlans<Pairing> && !RunsPlans<void> && !RunsPlans<Adam> && !RunsPlans<Sound>);
  CHECK(NamedBackend<Sound, void>::found.sentence().view() ==
        "[heddle.L09] a Trainer names no backend. Fix: write Trainer<MyPlan, CpuThreads>, and include heddle/backend/cpu_threads.hpp.");
  CHECK(NamedBackend<Sound, void, OfRunner>::found.sentence().view() ==
        "[heddle.L09] a Runner names no backend. Fix: write Runner<MyInference, CpuThreads>, and include heddle/backend/cpu_threads.hpp.");
  CHECK(NamedBackend<Sound, void, OfVerify>::found.sentence().view() ==
        "[heddle.L09] verify names no backend. Fix: write verify<MyPlan, CpuThreads>(batch), and include heddle/backend/cpu_threads.hpp.");
  CHECK(NamedBackend<Sound, CpuThreads>::found.sentence().view() ==
        "[heddle.L09] the header of CpuThreads is not included. Fix: add #include <heddle/backend/cpu_threads.hpp>.");
  CHECK(NamedBackend<Sound, CpuMpi>::found.sentence().view() ==
        "[heddle.L09] the header of CpuMpi is not included. Fix: add #include <heddle/backend/cpu_mpi.hpp>.");
  CHECK(NamedBackend<Sound, Adam>::found.sentence().view() ==
        "[heddle.L09] Adam is no backend. Fix: name the plan first, then CpuThreads or CpuMpi.");
}

TEST_CASE("a pairing that proves neither trains nor predicts nor verifies") {
  static_assert(ProvesPlans<Exact> && !RunsPlans<Exact> && !ProvesPlans<Pairing> && !ProvesPlans<void>);
  CHECK(NamedBackend<Sound, Exact>::found.sentence().view() ==
        "[heddle.L09] Exact computes modulo a prime, which is for prove alone. Fix: write Trainer<MyPlan, CpuThreads>.");
  CHECK(NamedBackend<Sound, Exact, OfRunner>::found.sentence().view() ==
        "[heddle.L09] Exact computes modulo a prime, which is for prove alone. Fix: write Runner<MyInference, CpuThreads>.");
  CHECK(NamedBackend<Sound, Exact, OfVerify>::found.sentence().view() ==
        "[heddle.L09] Exact computes modulo a prime, which is for prove alone. Fix: write verify<MyPlan, CpuThreads>(batch).");
}

TEST_CASE("of a refused plan the refusal is told, and of a plan in the place of the backend their order") {
  static_assert(NamedBackend<Uneven, void>::found.code == Code{'B', 1});
  CHECK(NamedBackend<Pairing, Sound>::found.code == Code{'L', 9});
}
