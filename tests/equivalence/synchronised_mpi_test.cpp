// SPDX-License-Identifier: MIT
// Norms over the micro-batch of ranks that are processes: the bits of one device where it has the same micro-batches, else of threads; the bytes of
// every rank along every axis.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Norms : Residual<BatchNorm2d<3, Synchronised, Momentum<1, 3>>, GELU> {};
struct Imaged : Sequential<Linear<23, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, Repeat<2, Norms>, Frozen<BatchNorm2d<3, Synchronised>>,
                           Flatten, Linear<12, 10>> {};
template <class... Parts> using Of = Plan<Imaged, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class... Parts> using Split = Plan<Imaged, CrossEntropy, Adam, Batch<32, KeepLast>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<4>>;

}  // namespace

TEST_CASE("replicas and slices that are processes have the bits of one device that has the same micro-batch") {
  hold_as_one_device<Of<Single>, Of<DataParallel<4>>, Of<Sharded<4>>, Of<Hybrid<Sharded<2>, DataParallel<2>>, Recompute<EveryBlock>>>();
}

TEST_CASE("stages that are processes have those of one device that accumulates") {
  hold_as_one_device<Of<Single, Accumulate<4>>, Of<Two<OneFOneB>>, Of<Two<ZeroBubbleH1>>>();
}

TEST_CASE("where several ranks make several micro-batches, and where channels are split, processes have the bits of threads") {
  hold_as_threads<Of<Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>, Of<DataParallel<2>, Accumulate<2>>, Split<Hybrid<TensorParallel<2>, DataParallel<2>>>>();
}
