// SPDX-License-Identifier: MIT
// What walks give is held in cost/simulate_test and oracle/; here: a walk by rank of ranks that are alike is the walk by role.
#include "heddle/cost/step_walk.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Deep : Sequential<Linear<16, 16>, Repeat<4, Residual<Linear<16, 16>, ReLU>>, Linear<16, 16>> {};
template <class... Parts> using Of = Plan<Deep, MeanSquaredError, Adam, Batch<32>, Parts...>;

/// Every cost of the machine is set, so nothing that a walk forgets is free.
constexpr Machine machine{.alpha = 3e-6,
                          .beta = 1e-9,
                          .per_flop = 1e-9,
                          .per_memory_byte = 1e-10,
                          .per_call = 1e-7,
                          .per_message = 2e-7,
                          .per_collective = 4e-6,
                          .gamma = 1e-10,
                          .acknowledgement = 1e-6};

template <class P> void walks_alike() {
  const Program& p = P::training;
  NoEvents none;
  StepWalk<NoEvents> roles{p, machine, false, none}, ranks{p, machine, true, none};
  roles.run();
  ranks.run();
  CHECK(roles.step() > 0);
  CHECK(ranks.step() == doctest::Approx(roles.step()).epsilon(1e-12));
  for (int d = 0; d < ranks.count(); ++d) {
    const int role = ranks.devices().role(d);
    CHECK(ranks.busy(d) == doctest::Approx(roles.busy(role)).epsilon(1e-12));
    CHECK(ranks.meetings().sending(d) == doctest::Approx(roles.meetings().sending(role)).epsilon(1e-12));
    CHECK(ranks.meetings().now(d) == doctest::Approx(roles.meetings().now(role)).epsilon(1e-12));
  }
  CHECK(ranks.meetings().bytes(0) == doctest::Approx(roles.meetings().bytes(0)).epsilon(1e-12));
}

}  // namespace

TEST_CASE("ranks that are alike take as long as the role that stands for them") {
  walks_alike<Of<Single>>();
  walks_alike<Of<DataParallel<4>, Bucket<1_KiB>, Clip<GlobalNorm>>>();
  walks_alike<Of<Sharded<4>, Accumulate<2>>>();
  walks_alike<Of<Hybrid<Sharded<2, Keep::Step>, DataParallel<2>>, Accumulate<2>, LossScaling>>();
  walks_alike<Of<TensorParallel<2>, Accumulate<2>, Clip<GlobalNorm>>>();
  walks_alike<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
  walks_alike<Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>, Clip<GlobalNorm>>>();
  walks_alike<Of<Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Sharded<2>>>>();
}

TEST_CASE("tied parameters and phases of layers wait for each other by rank as by role") {
  struct Language : Sequential<Input<4>, Named<"table", Embedding<12, 8>>, Linear<8, 8>, Tied<"head", Linear<8, 12, NoBias>, To<"table">>> {};
  walks_alike<Plan<Language, CrossEntropy, Adam, Batch<8>, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, Sharded<2>>>>();
  struct Images : Sequential<Linear<6, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, Flatten, Linear<12, 6>> {};
  walks_alike<Plan<Images, MeanSquaredError, SGD, Batch<16>, Hybrid<Sharded<2>, DataParallel<2>>, Accumulate<2>, Grain<1>>>();
}
