// SPDX-License-Identifier: MIT
// Every rank is lost in every collective of a step, before and after it: sums in bodies of split layers, gathers of slices, every order, norms.
#include "equivalence/lost_policies.hpp"
#include "equivalence/lost_ranks.hpp"

using namespace equivalence;
using namespace equivalence::lost;

namespace {

template <class ThePlan> void fail_in_every_collective() {
  Failures<ThePlan> failures{true};
  for (const bool after : {false, true}) failures.every_place(after);
  CHECK(failures.went_on() > 0);
}

}  // namespace

TEST_CASE("split layers: a rank that is lost in a sum, a gather or a scatter of values is named, and nobody hangs") {
  fail_in_every_collective<Plan<Even, CrossEntropy, Adam, Batch<16>, Hybrid<TensorParallel<2>, DataParallel<2>>, Clip<GlobalNorm>>>();
  fail_in_every_collective<Plan<Steps, CrossEntropy, Adam, Batch<16>, TensorParallel<2, SequenceParallel>>>();
}

TEST_CASE("slices: a rank that is lost in a gather, a scatter or the norm is named, and nobody hangs") {
  fail_in_every_collective<Of<Sharded<2>, Accumulate<2>>>();
  fail_in_every_collective<Of<Sharded<2, heddle::Gradients>, Clip<GlobalNorm>>>();
  fail_in_every_collective<Of<Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>>();
}

TEST_CASE("interleaved stages and split backwards: a rank that is lost in any transfer is named, and nobody hangs") {
  fail_in_every_collective<Plan<Blocks, CrossEntropy, Adam, Batch<16>, Grain<2>, Two<Interleaved<2>>>>();
  fail_in_every_collective<Of<Hybrid<Two<ZeroBubbleH1>, DataParallel<2>>, Clip<GlobalNorm>>>();
  fail_in_every_collective<Of<Hybrid<Two<OneFOneB>, Sharded<2, Keep::Step>>>>();
  fail_in_every_collective<Of<Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>>();
}

TEST_CASE(
    "parts of the classes, overflow flags, tied weights and what runs again: a rank that is lost in their collectives is named, and nobody hangs") {
  using Half = TensorParallel<2>;
  fail_in_every_collective<Plan<Wide, CrossEntropy, Adam, Batch<16>, Half, LossScaling>>();
  fail_in_every_collective<Plan<Looped, CrossEntropy, Adam, Batch<16>, Grain<2>, Hybrid<Two<OneFOneB>, DataParallel<2>>>>();
  fail_in_every_collective<Plan<Stack, CrossEntropy, Adam, Batch<16>, Half, Recompute<EveryBlock>>>();
  fail_in_every_collective<Of<Hybrid<Two<OneFOneB>, Sharded<2>>, Recompute<ReLU>, LossScaling, Clip<GlobalNorm>>>();
}
