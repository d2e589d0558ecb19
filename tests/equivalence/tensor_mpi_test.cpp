// SPDX-License-Identifier: MIT
// Layers split over processes: the bits that threads have, the bytes of every rank along every axis, the memory.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Even : Sequential<Linear<23, 16>, ReLU, Residual<Linear<16, 20>, GELU, Linear<20, 16>>, Linear<16, 12>, Tanh, Linear<12, 10>> {};
struct Steps
    : Sequential<Input<23>, Linear<23, 24>, Unflatten<4, 6>, Linear<6, 6>, Residual<Linear<6, 8>, GELU, Linear<8, 6>>, Flatten, Linear<24, 10>> {};
template <class... Parts> using Split = Plan<Even, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;
template <class... Parts> using Sequences = Plan<Steps, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;
struct Gated : Residual<RMSNorm<8>, Linear<8, 24, NoBias>, SwiGLU, Linear<12, 8>> {};
struct Heedful
    : Sequential<Input<5, 7>, Linear<7, 8>, Residual<LayerNorm<8>, Linear<8, 16>, SelfAttention<Heads<8>, KeyValueHeads<4>, Causal>, Linear<8, 8>>,
                 Gated, Linear<8, 4>> {};
template <class... Parts> using Heeded = Plan<Heedful, MeanSquaredError, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;

}  // namespace

TEST_CASE("layers split over processes have the bits of threads, alone and beside replicas") {
  hold_as_threads<Split<TensorParallel<2>>, Split<TensorParallel<4>, Grain<4>>>();
  hold_as_threads<Split<Hybrid<DataParallel<2>, TensorParallel<2>>, Accumulate<3>, Clip<GlobalNorm>>>();
}

TEST_CASE("sequences split over processes have the bits of threads, alone and beside replicas") {
  static_assert(traffic<Sequences<TensorParallel<2, SequenceParallel>>>().value_collectives(0, BodyOp::scatter_value) > 0);
  hold_as_threads<Sequences<TensorParallel<2, SequenceParallel>>>();
  hold_as_threads<Sequences<Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>, Accumulate<3>>>();
}

TEST_CASE("split layers in stages and under slices have the bits of threads") {
  hold_as_threads<Split<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>>();
  hold_as_threads<Split<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, TensorParallel<2>>>>();
  hold_as_threads<Split<Hybrid<TensorParallel<2>, Sharded<2>>, Accumulate<2>, Clip<GlobalNorm>>>();
}

TEST_CASE("heads, gates and their values in sections have the bits of threads") {
  static_assert(Heeded<TensorParallel<4>>::training.parameters[4].split == laid::shard(0, 3, 2));
  hold_as_threads<Heeded<TensorParallel<4>>, Heeded<Hybrid<TensorParallel<2>, Sharded<2>>>>();
}
