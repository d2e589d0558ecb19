// SPDX-License-Identifier: MIT
// What recomputation is for, against the papers' formulas: bytes kept a block, operations a step. Sources: sources.md#activation-checkpointing,
// sources.md#megatron-2021.
#include <doctest/doctest.h>

#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/lower/body.hpp"

using namespace heddle;

namespace {

// The MLP of a GPT block with its Residual; rows of s x h.
constexpr std::int64_t s = 4, h = 32, b = 16;
using Mlp = Residual<Linear<h, 4 * h>, GELU, Linear<4 * h, h>>;
template <int L> struct Stack : Sequential<Input<s, h>, Repeat<L, Mlp>> {};
template <int L, class... Options> using Of = Plan<Stack<L>, MeanSquaredError, Adam, Batch<b>, Options...>;

template <int L, class... Options>
using Between = Plan<Sequential<Input<s, h>, Linear<h, h>, Repeat<L, Mlp>, Linear<h, h>>, MeanSquaredError, Adam, Batch<b>, Options...>;

template <class P> constexpr std::int64_t frame(int chunk = 0) { return P::training.pools[pool_of(chunk, PoolKind::frame)].slot_bytes; }
template <class P> constexpr std::int64_t scratch() { return P::training.arenas[0][RegionKind::scratch].bytes(); }
/// Bytes of one value of s b h elements in float32.
constexpr std::int64_t sbh = 4 * s * b * h;

}  // namespace

// Table of bytes a layer, its MLP: 2 sbh into the first product, 8 sbh into GELU, 8 sbh into the second product (and a mask of dropout), in 16 bits.
// So 1 + 4 + 4 values of s b h; with full recomputation 2 sbh, one value; GELU alone run again: 8 sbh less.
TEST_CASE("a block keeps nine values of s b h, one if blocks run again, five if GELU does") {
  static_assert(frame<Of<12, Single>>() - frame<Of<11, Single>>() == (1 + 4 + 4) * sbh);
  static_assert(frame<Of<12, Single, Recompute<EveryBlock>>>() - frame<Of<11, Single, Recompute<EveryBlock>>>() == sbh);
  CHECK(frame<Of<12, Single, Recompute<GELU>>>() - frame<Of<11, Single, Recompute<GELU>>>() == (1 + 4) * sbh);
}

TEST_CASE("under tensor parallelism a block that runs again keeps one value, 2 sbh / t with sequences in parts: nothing that was gathered for it") {
  using Whole = TensorParallel<2>;
  using Parts = TensorParallel<2, SequenceParallel>;
  static_assert(frame<Of<12, Whole, Recompute<EveryBlock>>>() - frame<Of<11, Whole, Recompute<EveryBlock>>>() == sbh);
  static_assert(frame<Of<12, Whole>>() - frame<Of<11, Whole>>() == sbh + (4 + 4) * sbh / 2);
  static_assert(frame<Between<12, Parts, Recompute<EveryBlock>>>() - frame<Between<11, Parts, Recompute<EveryBlock>>>() == sbh / 2);
  // Not run again: that part, and two halves of 4 h.
  CHECK(frame<Between<12, Parts>>() - frame<Between<11, Parts>>() == sbh / 2 + (4 + 4) * sbh / 2);
}

// Blocks run again: the inputs of L blocks; the input of the model, targets and the gradient of the loss, in which all gradients of sums follow one
// another; aside one block (4 + 4) and the gradient of its 4 h (4).
TEST_CASE("peak memory of L blocks that run again: L + 3 values and one block aside") {
  using P = Of<12, Single, Recompute<EveryBlock>>;
  static_assert(frame<P>() == (12 + 3) * sbh);
  static_assert(scratch<P>() == (4 + 4 + 4) * sbh);
  constexpr std::int64_t pools = P::training.arenas[0][RegionKind::pools].begin;
  static_assert(peak_memory<P>() == Bytes{pools + (12 + 3 + 12) * sbh});
  static_assert(peak_memory<Of<12, Single>>() == Bytes{pools + (12 * 9 + 3 + 7) * sbh});
  CHECK(scratch<Of<12, Single>>() == (1 + 4 + 1 + 1) * sbh);  // the evaluation's: h, 4 h, h, and a hole
}

TEST_CASE("in a pipeline each micro-batch in flight keeps the inputs of its blocks, and one block is aside") {
  using Kept = Of<8, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  using Again = Of<8, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Recompute<EveryBlock>>;
  // The inputs of 4 blocks; on stage 0 the input of the model and what is sent, on stage 1 the targets and the gradient of the loss.
  static_assert(frame<Again>(0) == (4 + 2) * sbh / 4 && frame<Again>(1) == (4 + 2) * sbh / 4);
  static_assert(frame<Kept>(0) == (4 * 9 + 2) * sbh / 4 && frame<Kept>(1) == (4 * 9 + 2) * sbh / 4);
  CHECK(peak_memory<Again>() < peak_memory<Kept>());
}

// Operations of a block: forward F, backward B = 2 F, and F again: x4 instead of x3. What is kept anyway is not run again: the last product and the
// sum. The first product of the model makes no gradient of its input.
TEST_CASE("operations are F + B, and F again of what a block does not keep: x4 where its last product is read, x3.5 where it gives the next input") {
  constexpr Machine unit{0, 0, 1};
  const auto operations = [&](const Program& p) { return simulate(p, unit).step.value / b; };
  using Product = Linear<h, h, NoBias>;
  struct Read : Sequential<Input<s, h>, Repeat<6, Sequential<Product, GELU, Product, GELU>>> {};
  struct Next : Sequential<Input<s, h>, Repeat<6, Sequential<Product, Tanh, Product>>> {};
  using KeptRead = Plan<Read, MeanSquaredError, Adam, Batch<b>, Single>;
  using AgainRead = Plan<Read, MeanSquaredError, Adam, Batch<b>, Single, Recompute<EveryBlock>>;
  using KeptNext = Plan<Next, MeanSquaredError, Adam, Batch<b>, Single>;
  using AgainNext = Plan<Next, MeanSquaredError, Adam, Batch<b>, Single, Recompute<EveryBlock>>;
  constexpr std::int64_t product = 2 * s * h * h;
  constexpr std::int64_t gelu = graph_of<Read>.leaf(2).forward_flops;
  constexpr std::int64_t forward = 6 * 2 * product;
  CHECK(operations(KeptRead::training) == 3 * forward - product + 6 * 2 * 2 * gelu);
  CHECK(operations(AgainRead::training) == 4 * forward - product + 6 * (2 * 2 + 1) * gelu);
  constexpr std::int64_t tanh = graph_of<Next>.leaf(2).forward_flops;
  CHECK(operations(AgainNext::training) == 3 * forward - product + forward / 2 + 6 * 3 * tanh);
  CHECK(operations(AgainNext::training) - operations(KeptNext::training) == static_cast<double>(flops_run_again(AgainNext::training).value));
  // Stages do the same on their own: the whole work is that of one device.
  using Staged = Plan<Read, MeanSquaredError, Adam, Batch<b>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Recompute<EveryBlock>>;
  const Estimate estimate = simulate(Staged::training, unit);
  CHECK(estimate.busy[0].value + estimate.busy[1].value == b * operations(AgainRead::training));
}

namespace {

struct Block : Residual<Linear<12288, 4 * 12288>, GELU, Linear<4 * 12288, 12288>> {};
struct Large : Sequential<Linear<1024, 12288>, Repeat<96, Block>, Linear<12288, 1024>> {};
template <class... Options>
using Everything = Plan<Large, CrossEntropy, Adam, Batch<1024>,
                        Hybrid<TensorParallel<8>, Pipeline<Balanced<8>, Interleaved<2>, Microbatches<64>>, Sharded<16>>, Options...>;

}  // namespace

TEST_CASE("96 wide blocks over 8 x 8 x 16 devices that run again are made and checked at build with default limits") {
  using Again = Everything<Recompute<EveryBlock>>;
  static_assert(devices<Again> == 1024);
  static_assert(flops_run_again(Again::training) > Flops{0});
  // 6 blocks a chunk: the first takes what is received, each gives the input of the next, the last what is sent.
  constexpr std::int64_t row = 4 * 12288;
  static_assert(frame<Again>(3) == (6 + 1) * row);
  // Not run again: h into each block, and 4 h twice on each of 8 ranks.
  CHECK(frame<Everything<>>(3) == (6 + 1) * row + 6 * 2 * 4 * row / 8);
}
