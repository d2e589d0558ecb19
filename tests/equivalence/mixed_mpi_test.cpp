// SPDX-License-Identifier: MIT
// Values in bfloat16 between processes: the bits of one device that rounds too, or of threads where layers are split; the bytes of every rank.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Inner : Residual<LayerNorm<16>, Linear<16, 20>, GELU, Linear<20, 16>> {};
struct Deep : Sequential<Linear<23, 16>, Repeat<3, Inner>, Linear<16, 10>> {};
template <class... Parts> using Of = Plan<Deep, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Mixed<BFloat16>, Parts...>;
template <class... Parts> using Split = Plan<Deep, CrossEntropy, Adam, Batch<32, KeepLast>, Mixed<BFloat16>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<4>>;

}  // namespace

TEST_CASE("replicas, slices and stages that are processes have the bits of one device that keeps values as bfloat16") {
  hold_as_one_device<Of<Single>, Of<DataParallel<4>>, Of<Sharded<4>>, Of<Two<ZeroBubbleH1>, Recompute<EveryBlock>>,
                     Of<Hybrid<Two<OneFOneB>, Sharded<2>>>>();
}
TEST_CASE("where layers are split processes have the bits of threads") {
  hold_as_threads<Split<TensorParallel<2>>, Split<Hybrid<TensorParallel<2>, DataParallel<2>>>>();
}
