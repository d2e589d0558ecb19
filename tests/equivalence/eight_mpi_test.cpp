// SPDX-License-Identifier: MIT
// Products of three and four policies on eight processes: bits, the bytes of every rank along every axis, the memory.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Even : Sequential<Linear<23, 16>, ReLU, Residual<Linear<16, 20>, GELU, Linear<20, 16>>, Linear<16, 12>, Tanh, Linear<12, 10>> {};
template <class... Parts> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class... Parts> using Split = Plan<Even, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<2>>;
using Alone = Of<Single>;

}  // namespace

TEST_CASE("eight replicas and eight slices hold") {
  hold_as_one_device<Alone, Of<DataParallel<8>>, Of<Sharded<8>>, Of<Hybrid<Sharded<4, heddle::Gradients>, DataParallel<2>>>>();
}

TEST_CASE("stages, slices and replicas hold together") {
  hold_as_one_device<Alone, Of<Hybrid<Two<OneFOneB>, Sharded<2>, DataParallel<2>>>, Of<Hybrid<Sharded<2>, Two<Interleaved<2>>, DataParallel<2>>>,
                     Of<Hybrid<DataParallel<2>, Two<ZeroBubbleH1>, Sharded<2, OptimizerState>>>>();
  hold_as_one_device<Of<Single, Clip<GlobalNorm>>, Of<Hybrid<Two<OneFOneB>, Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>>>();
}

TEST_CASE("split layers with stages, slices and replicas hold") {
  hold_as_threads<Split<Hybrid<TensorParallel<2>, Two<OneFOneB>, DataParallel<2>>, Clip<GlobalNorm>>,
                  Split<Hybrid<TensorParallel<2>, Two<Interleaved<2>>, Sharded<2>>>, Split<Hybrid<TensorParallel<2>, Sharded<2>, DataParallel<2>>>,
                  Split<Hybrid<DataParallel<2>, TensorParallel<4>>, Accumulate<2>>>();
  hold_as_threads<Split<Hybrid<TensorParallel<2>, Two<ZeroBubbleH1>, Sharded<2, Keep::Step>>, Recompute<GELU>, LossScaling, Clip<GlobalNorm>>>();
}
