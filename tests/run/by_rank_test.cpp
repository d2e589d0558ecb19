// SPDX-License-Identifier: MIT
#include "heddle/run/by_rank.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Alone = Trained<Mnist, Single>;
using Stages = Trained<Mnist, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
using Both = Trained<Mnist, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>;
using Split = Trained<Mnist, TensorParallel<2>>;

/// Volumes with padding, as the ledger counts them over all ranks.
template <class ThePlan> Bytes total_with_padding() {
  const Traffic moved = traffic<ThePlan>();
  Bytes sum =
      moved.activations().total_with_padding + moved.values().total_with_padding + moved.ties().total_with_padding + moved.norm().total_with_padding;
  for (const Axis a : batch_axes) sum += moved.gradients().on(a).total_with_padding + moved.parameters().on(a).total_with_padding;
  return sum;
}

}  // namespace

TEST_CASE("a rank of run time has the memory of the device of that number") {
  static_assert(peak_memory<Stages>(Rank{0}) == peak_memory<Stages>(device<0>) && peak_memory<Stages>(Rank{1}) == peak_memory<Stages>(device<1>));
  static_assert(peak_memory<Stages>(device<0>) != peak_memory<Stages>(device<1>));
  static_assert(peak_memory<Both>(Rank{2}) == peak_memory<Both>(device<2>) && peak_memory<Both>(Rank{3}) == peak_memory<Both>(device<3>));
  Bytes most;
  for (int r = 0; r < devices<Both>; ++r)
    if (peak_memory<Both>(Rank{r}) > most) most = peak_memory<Both>(Rank{r});
  CHECK(most == peak_memory<Both>());
}

TEST_CASE("what the ranks send adds up to what a step moves") {
  const auto adds_up = []<class P>(std::type_identity<P>) {
    Bytes sum;
    for (int r = 0; r < devices<P>; ++r) sum += sent<P>(Rank{r});
    CHECK(sum == total_with_padding<P>());
    CHECK(sum > Bytes{0});
  };
  adds_up(std::type_identity<Stages>{});
  adds_up(std::type_identity<Both>{});
  adds_up(std::type_identity<Split>{});
  // 2 micro-batches cross the one cut forwards and backwards; each is one message
  static_assert(traffic<Stages>().messages() == 4);
  static_assert(traffic<Alone>().messages() == 0 && sent<Alone>(Rank{0}) == Bytes{0});
}

TEST_CASE("L07: a rank that the plan does not have is refused with one sentence") {
  CHECK_THROWS_WITH_AS((void)peak_memory<Stages>(Rank{2}),
                       "[heddle.L07] rank 2 is not there: the plan has 2 devices, counted from 0. Fix: ask about rank 1 or one before it.", Error);
  CHECK_THROWS_WITH_AS((void)sent<Alone>(Rank{-1}),
                       "[heddle.L07] rank -1 is not there: the plan has 1 device, counted from 0. Fix: ask about rank 0 or one before it.", Error);
}
