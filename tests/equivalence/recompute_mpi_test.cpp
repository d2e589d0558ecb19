// SPDX-License-Identifier: MIT
// What runs again in processes: the bits of one device that keeps everything, or of threads; the bytes of every rank along every axis, the memory.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Halves : Sequential<Residual<Linear<16, 24>, GELU, Linear<24, 16>>, Linear<16, 16>, Tanh, Linear<16, 16>, Residual<Tanh>> {};
struct Stack : Sequential<Linear<23, 16>, Repeat<3, Halves>, Linear<16, 10>> {};
template <class Model, class... Parts> using Any = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Bucket<1_KiB>, Parts...>;
template <class... Parts> using Of = Any<Blocks, Grain<2>, Parts...>;
template <class... Parts> using Again = Of<Recompute<EveryBlock>, Parts...>;
template <class... Parts> using Split = Any<Stack, Recompute<EveryBlock>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<4>>;

}  // namespace

TEST_CASE("replicas, slices and stages that are processes and run blocks again have the bits of one device that keeps everything") {
  hold_as_one_device<Of<Single>, Again<DataParallel<4>>, Again<Sharded<4>>, Again<Sharded<2, Keep::Step>, Accumulate<2>>, Again<Two<Interleaved<2>>>,
                     Again<Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>>();
}

TEST_CASE("split layers that run again in processes have the bits of threads and take the sums that are stated") {
  static_assert(traffic<Split<TensorParallel<2>>>().value_collectives(0, BodyOp::reduce_value) >
                traffic<Any<Stack, TensorParallel<2>>>().value_collectives(0, BodyOp::reduce_value));
  hold_as_threads<Split<TensorParallel<4>>, Split<Hybrid<TensorParallel<2>, Sharded<2>>, LossScaling>,
                  Split<Hybrid<Two<OneFOneB>, TensorParallel<2>>, Clip<GlobalNorm>, LossScaling>>();
}
