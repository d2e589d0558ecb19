// SPDX-License-Identifier: MIT
// Every process is lost in every collective of a step: sums in bodies of split layers, gathers of slices, every order, norms.
#include "equivalence/lost_policies.hpp"
#include "equivalence/lost_processes.hpp"

using namespace equivalence;
using namespace equivalence::lost;

namespace {

template <class ThePlan> void throw_in_every_collective() { throw_everywhere<ThePlan>(true); }

}  // namespace

TEST_CASE("split layers: a process that is lost in a sum, a gather or a scatter of values is named by all others") {
  throw_in_every_collective<Plan<Even, CrossEntropy, Adam, Batch<16>, Hybrid<TensorParallel<2>, DataParallel<2>>, Clip<GlobalNorm>>>();
  throw_in_every_collective<Plan<Steps, CrossEntropy, Adam, Batch<16>, TensorParallel<2, SequenceParallel>>>();
}

TEST_CASE("slices: a process that is lost in a gather, a scatter or the norm is named by all others") {
  throw_in_every_collective<Of<Sharded<2>, Accumulate<2>>>();
  throw_in_every_collective<Of<Sharded<2, heddle::Gradients>, Clip<GlobalNorm>>>();
  throw_in_every_collective<Of<Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>>();
}

TEST_CASE("interleaved stages and split backwards: a process that is lost in any transfer is named by all others") {
  throw_in_every_collective<Plan<Blocks, CrossEntropy, Adam, Batch<16>, Grain<2>, Two<Interleaved<2>>>>();
  throw_in_every_collective<Of<Hybrid<Two<ZeroBubbleH1>, DataParallel<2>>, Clip<GlobalNorm>>>();
  throw_in_every_collective<Of<Hybrid<Two<OneFOneB>, Sharded<2, Keep::Step>>>>();
}

TEST_CASE(
    "parts of the classes, overflow flags, tied weights and what runs again: a process that is lost in their collectives is named by all others") {
  using Half = TensorParallel<2>;
  throw_in_every_collective<Plan<Wide, CrossEntropy, Adam, Batch<16>, Half, LossScaling>>();
  throw_in_every_collective<Plan<Looped, CrossEntropy, Adam, Batch<16>, Grain<2>, Hybrid<Two<OneFOneB>, DataParallel<2>>>>();
  throw_in_every_collective<Plan<Stack, CrossEntropy, Adam, Batch<16>, Half, Recompute<EveryBlock>>>();
  throw_in_every_collective<Of<Hybrid<Two<OneFOneB>, Sharded<2>>, Recompute<ReLU>, LossScaling, Clip<GlobalNorm>>>();
}
