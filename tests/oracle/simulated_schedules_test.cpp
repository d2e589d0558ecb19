// SPDX-License-Identifier: MIT
// Idle time of lowered plans under the clock, against the published formulas of sources.md#gpipe, #pipedream, #megatron-2021 and #zero-bubble. Stages
// are equal, F = 1 and B = 2 = I + W, and messages are free: what is simulated are the lists that a device would run.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <type_traits>

#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"

using namespace heddle;

namespace {

// The table has parameters and no arithmetic, so every block makes a gradient of its input.
template <int Blocks> struct Even : Sequential<Input<1>, Embedding<2, 16>, Repeat<Blocks, Linear<16, 16, NoBias>>> {};

struct Held {
  int checked = 0, held = 0, by_mutant = 0;
};

/// Of a stage: seconds of a forward are those of its blocks.
template <class Order, int P, int V, int M, class Idle, class Mutant> void row(Held& count, Idle idle, Mutant mutant) {
  using ThePlan = Plan<Even<P * V>, MeanSquaredError, SGD, Batch<M>, Pipeline<Balanced<P>, Order, Microbatches<M>>>;
  const LoweredPlan plan = lower(request_of<RequestOf<ThePlan>>());
  REQUIRE(plan.fault().ok());
  const Estimate found = simulate(plan.training(), Machine{});
  const double forward = V * 2.0 * 16 * 16;
  for (const Seconds& waits : found.idle) {
    ++count.checked;
    count.held += waits.value == idle(P, V, M) * forward ? 1 : 0;
    count.by_mutant += waits.value == mutant(P, V, M) * forward ? 1 : 0;
  }
}
template <class Order, int P, int V, class Idle, class Mutant> void rows(Held& count, Idle idle, Mutant mutant) {
  row<Order, P, V, P>(count, idle, mutant);
  row<Order, P, V, 2 * P>(count, idle, mutant);
  row<Order, P, V, 4 * P>(count, idle, mutant);
}
template <class Order, int V, class Idle, class Mutant> void holds(const std::string& what, Idle idle, Mutant mutant) {
  Held count;
  rows<Order, 2, V>(count, idle, mutant);
  rows<Order, 3, V>(count, idle, mutant);
  rows<Order, 4, V>(count, idle, mutant);
  rows<Order, 6, V>(count, idle, mutant);
  MESSAGE(what << ": devices checked " << count.checked << ", held " << count.held << ", held by the mutant " << count.by_mutant);
  CHECK(count.checked == 3 * (2 + 3 + 4 + 6));
  CHECK(count.held == count.checked);
  CHECK(count.by_mutant < count.checked);
}

constexpr double F = 1, B = 2, I = 1, W = 1;

}  // namespace

TEST_CASE("simulated: GPipe and 1F1B are idle (p-1)(F+B) on every device") {
  const auto idle = [](int p, int, int) { return (p - 1) * (F + B); };
  const auto without_backward = [](int p, int, int) { return (p - 1) * F; };
  holds<GPipe, 1>("GPipe", idle, without_backward);
  holds<OneFOneB, 1>("1F1B", idle, without_backward);
}

TEST_CASE("simulated: interleaved stages are idle (p-1)(F+B)/v on every device") {
  const auto idle = [](int p, int v, int) { return (p - 1) * (F + B) / v; };
  const auto undivided = [](int p, int, int) { return (p - 1) * (F + B); };
  holds<Interleaved<2>, 2>("interleaved, 2 chunks", idle, undivided);
}

TEST_CASE("simulated: ZB-H1 is idle (p-1)(F+I-W) on every device") {
  const auto idle = [](int p, int, int) { return (p - 1) * (F + I - W); };
  const auto unfilled = [](int p, int, int) { return (p - 1) * (F + I); };
  holds<ZeroBubbleH1, 1>("ZB-H1", idle, unfilled);
}

TEST_CASE("simulated: the makespan of equal stages is m(F+B) and their idle time, whatever the order") {
  const auto is = [](auto order, double idle) {
    using ThePlan = Plan<Even<8>, MeanSquaredError, SGD, Batch<8>, Pipeline<Balanced<4>, typename decltype(order)::type, Microbatches<8>>>;
    const double stage = 2 * 2.0 * 16 * 16;
    CHECK(simulate(lower(request_of<RequestOf<ThePlan>>()).training(), Machine{}).step.value == (8 * (F + B) + idle) * stage);
  };
  is(std::type_identity<GPipe>{}, 3 * (F + B));
  is(std::type_identity<OneFOneB>{}, 3 * (F + B));
  is(std::type_identity<Interleaved<2>>{}, 3 * (F + B) / 2);
  is(std::type_identity<ZeroBubbleH1>{}, 3 * (F + I - W));
}
