// SPDX-License-Identifier: MIT
#include "equivalence/lost_processes.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Grain<2>, Bucket<1_KiB>, Parts...>;

}  // namespace

TEST_CASE("two replicas: a process that throws at any place is named by the other") { throw_everywhere<Of<DataParallel<2>>>(); }

TEST_CASE("four replicas: a process that throws at any place is named by all others") { throw_everywhere<Of<DataParallel<4>>>(); }

TEST_CASE("two slices: a process that throws at any place is named by the other") { throw_everywhere<Of<Sharded<2>>>(); }

TEST_CASE("two stages under 1F1B: a process that throws at any place is named by the other") {
  throw_everywhere<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>();
}

TEST_CASE("two stages times two replicas: a process that throws at any place is named by all others") {
  throw_everywhere<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>>();
}
