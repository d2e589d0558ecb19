// SPDX-License-Identifier: MIT
// Slices of optimizer states, gradients and parameters that lie in processes: the bits of one device, the bytes of every rank along every axis, the
// memory.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Parts...>;
using Alone = Of<Single>;
struct Inner : Residual<Frozen<Named<"up", Linear<16, 19>>>, GELU, Named<"down", Linear<19, 16>>> {};
struct Tuned
    : Sequential<Named<"stem", Linear<23, 16>>, Named<"blocks", Repeat<3, Inner>>, Frozen<Linear<16, 16>>, Tanh, Named<"head", Linear<16, 10>>> {};
template <class... Parts>
using Grouped = Plan<Tuned, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, NoDecay<>, LearningRateFactor<"stem", 1, 10>,
                     LearningRateFactor<"blocks.1", 3, 2>, Parts...>;
using Clipped = Of<Single, Clip<GlobalNorm>>;
struct Imaged : Sequential<Linear<23, 48>, Unflatten<3, 4, 4>, BatchNorm2d<3>, Repeat<2, Residual<BatchNorm2d<3, Momentum<1, 3>>, Tanh>>, Flatten,
                           Linear<48, 10>, Unflatten<10, 1, 1>, BatchNorm2d<10>, Flatten> {};
template <class... Parts> using OfImaged = Plan<Imaged, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Clip<GlobalNorm>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<4>>;

}  // namespace

TEST_CASE("slices of each kind that lie in processes hold, with rounds as well") {
  hold_as_one_device<Alone, Of<Sharded<4, OptimizerState>>, Of<Sharded<4, heddle::Gradients>>, Of<Sharded<4>>,
                     Of<Sharded<2, heddle::Gradients>, Accumulate<4>>, Of<Sharded<2>, Accumulate<2>>>();
}

TEST_CASE("slices whose gathered copies are kept hold, alone, beside replicas and inside stages") {
  hold_as_one_device<Alone, Of<Sharded<4, Keep::Step>, Accumulate<2>>, Of<Hybrid<Sharded<2, Keep::Step>, DataParallel<2>>>,
                     Of<Hybrid<Two<OneFOneB>, Sharded<2, Keep::Step>>>>();
}

TEST_CASE("slices beside replicas hold, in both nestings") {
  hold_as_one_device<Alone, Of<Hybrid<Sharded<2>, DataParallel<2>>>, Of<Hybrid<DataParallel<2>, Sharded<2, OptimizerState>>>>();
}

TEST_CASE("slices inside stages hold, in every order") {
  hold_as_one_device<Alone, Of<Hybrid<Two<OneFOneB>, Sharded<2, heddle::Gradients>>>, Of<Hybrid<Two<Interleaved<2>>, Sharded<2>>>,
                     Of<Hybrid<Sharded<2, OptimizerState>, Two<ZeroBubbleH1>>>, Of<Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>>();
}

TEST_CASE("the norm of gradients that lie in slices, in stages and in replicas of processes holds") {
  hold_as_one_device<Clipped, Of<DataParallel<4>, Clip<GlobalNorm>>, Of<Sharded<4>, Clip<GlobalNorm>>,
                     Of<Hybrid<Sharded<2, heddle::Gradients>, DataParallel<2>>, Clip<GlobalNorm>>,
                     Of<Hybrid<Two<GPipe>, Sharded<2>>, Clip<GlobalNorm>>>();
}

TEST_CASE("frozen layers beside groups of parameters hold in slices inside stages") {
  hold_as_one_device<Grouped<Single>, Grouped<Hybrid<Two<OneFOneB>, Sharded<2>>>>();
}

TEST_CASE("norms over grains, and what they track, hold in slices inside stages and beside replicas") {
  hold_as_one_device<OfImaged<Single>, OfImaged<Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>, OfImaged<Hybrid<Sharded<2>, DataParallel<2>>>>();
}
