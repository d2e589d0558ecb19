// SPDX-License-Identifier: MIT
// Drawn plans on logical devices of one card, and on a card for each, emulated on this machine, against the same plans on threads of the host.
// HEDDLE_DRAWN_PLANS says how many are wanted, HEDDLE_DRAWN_SEED where their seeds begin.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "equivalence/drawn_runs.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/backend/thread_session.hpp"

using namespace drawn_plans;

namespace {

long number_in(const char* name, long otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::atol(value);
}

/// The largest difference of two arrays, as a part of the largest number of the second.
double distance(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double far = 0, most = 1e-3;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(difference <= far)) far = difference;  // a NaN stays
    most = std::max(most, std::abs(static_cast<double>(b[i])));
  }
  return far / most;
}
double largest(const std::vector<float>& values) {
  double most = 0;
  for (const float v : values) most = std::max(most, std::abs(static_cast<double>(v)));
  return most;
}
/// Adam divides a gradient by its own size. That of a bias before a norm over the batch, or of a key, is nothing but rounding, and so is where it
/// goes.
void leave_out_rounding(Left::Named& card, Left::Named& host, double largest_gradient) {
  for (std::size_t i = 0; i < host.gradient.size() && i < host.values.size(); ++i)
    if (std::abs(static_cast<double>(host.gradient[i])) < 1e-4 * largest_gradient) card.values[i] = host.values[i];
}

constexpr int more_steps = 2;  // of the first kind: one that is captured and one that is replayed

/// Runs drawn plans on cards of the emulator and on threads of the host, and compares what they leave; of a plan of 4 devices that are cards there
/// are 4. look(session) sees the ranks before they replay a step.
template <class Session, class Look> void end_as_on_threads(bool cards, long wanted, Look look) {
  auto seed = static_cast<std::uint64_t>(number_in("HEDDLE_DRAWN_SEED", 1));
  long plans = 0, ranks = 0;
  double far = 0;
  std::set<std::ptrdiff_t> seen;
  for (; plans < wanted; ++seed) {
    DrawnPlan plan = drawn(seed);
    const LoweredPlan programs = lowered(plan);
    if (!check(programs).ok()) continue;
    CAPTURE(seed);
    CAPTURE(plan.text);
    cuda_emulator::reset({.seed = seed, .devices = cards ? programs.training().mesh.ranks() : 1});
    Left card;
    {
      Runs<Session> on_card{plan, kernels<CudaCompute>(), programs.training(), programs.evaluation()};
      card = on_card.run(more_steps, look);
      CHECK(cuda_emulator::counts().graph_launches > 0);
    }
    CHECK(cuda_emulator::violations() == std::vector<std::string>{});
    CHECK(cuda_emulator::alive() == "");
    Left host = Runs<ThreadSession>(plan, kernels(), programs.training(), programs.evaluation()).run(more_steps, [](auto&) {});
    const double numbers = distance(card.numbers, host.numbers);
    CHECK(numbers <= 5e-4);
    far = std::max(far, numbers);
    REQUIRE(card.parameters.size() == host.parameters.size());
    double most = 0;
    for (const Left::Named& parameter : host.parameters) most = std::max(most, largest(parameter.gradient));
    for (std::size_t p = 0; p < host.parameters.size(); ++p) {
      CAPTURE(host.parameters[p].name);
      leave_out_rounding(card.parameters[p], host.parameters[p], most);
      const double of_parameter = distance(card.parameters[p].values, host.parameters[p].values);
      const double of_mean = (2 + more_steps) * 1e-3;  // it follows such a bias, a step at a time
      CHECK(of_parameter <= (host.parameters[p].name.find("running_") == std::string::npos ? 2e-4 : of_mean));
      far = std::max(far, of_parameter);
    }
    ++plans;
    ranks += programs.training().mesh.ranks();
    seen.insert(plan.model - models().data());
  }
  MESSAGE(plans << " plans of " << ranks << " devices and " << seen.size() << " models; farthest " << far);
}

}  // namespace

TEST_CASE("drawn plans on one card, emulated on this machine, end where those on threads of the host end") {
  end_as_on_threads<OneCardSession>(false, number_in("HEDDLE_DRAWN_PLANS", 40), [](auto&) {});
}

TEST_CASE("so do those whose devices are cards of their own, emulated on this machine, and NCCL carries what the ledger says") {
  end_as_on_threads<CardThreadsSession>(true, number_in("HEDDLE_DRAWN_PLANS", 40), [](CardThreadsSession& session) {
    long sent = 0;
    for (int r = 0; r < session.ranks(); ++r)
      for (const Movement kind : {Movement::point_to_point, Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather})
        sent += static_cast<long>(session.sent(Rank{r}, kind).bytes.value);
    CHECK(cuda_emulator::counts().sent_bytes == sent);
  });
}
