// SPDX-License-Identifier: MIT
// Queries, keys and values of three projections, gate and value of two, as Llama has them: nothing is gathered where they are split, the gradients of
// what they read are summed once, and the bytes are Megatron's. The numbers are those of one device, and of the packed projections.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

constexpr int width = 16, inside = 24;
template <int Heads_, int Shared>
struct Attention
    : Sequential<Unnumbered<Branches<Concat, Named<"q_proj", Linear<width, 2 * Heads_, NoBias>>, Named<"k_proj", Linear<width, 2 * Shared, NoBias>>,
                                     Named<"v_proj", Linear<width, 2 * Shared, NoBias>>>>,
                 SelfAttention<Heads<Heads_>, KeyValueHeads<Shared>, Causal>, Named<"o_proj", Linear<2 * Heads_, width, NoBias>>> {};
struct Feed
    : Sequential<Unnumbered<Branches<Concat, Named<"gate_proj", Linear<width, inside, NoBias>>, Named<"up_proj", Linear<width, inside, NoBias>>>>,
                 SwiGLU, Named<"down_proj", Linear<inside, width, NoBias>>> {};
template <class Attends, class Feeds>
struct Decoder : Sequential<Unnumbered<Residual<Named<"input_layernorm", RMSNorm<width>>, Named<"self_attn", Attends>>>,
                            Unnumbered<Residual<Named<"post_attention_layernorm", RMSNorm<width>>, Named<"mlp", Feeds>>>> {};
template <class Attends, class Feeds>
struct Llama : Sequential<Input<6, width>, Named<"first", RMSNorm<width>>, Named<"layers", Repeat<2, Decoder<Attends, Feeds>>>,
                          Named<"norm", RMSNorm<width>>> {};
using Apart = Llama<Attention<8, 4>, Feed>;
struct PackedAttention : Sequential<Named<"qkv_proj", Linear<width, 32, NoBias>>, SelfAttention<Heads<8>, KeyValueHeads<4>, Causal>,
                                    Named<"o_proj", Linear<16, width, NoBias>>> {};
struct PackedFeed : Sequential<Named<"gate_up_proj", Linear<width, 2 * inside, NoBias>>, SwiGLU, Named<"down_proj", Linear<inside, width, NoBias>>> {
};
using Packed = Llama<PackedAttention, PackedFeed>;

template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<8>, Parts...>;
template <class Model, class... Parts> using Even = Plan<Model, MeanSquaredError, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class P> constexpr std::int64_t count(BodyOp op) { return traffic<P>().value_collectives(0, op); }

// Two layers, in each an attention and a gated network: one sum forward and one backward, of 8 rows of 6 x 16 floats, 2 (N - 1) / N from each rank.
constexpr Bytes value{8 * 6 * width * 4};
using OnTwo = Of<Apart, TensorParallel<2>>;
using OnFour = Of<Apart, TensorParallel<4>>;
static_assert(traffic<OnTwo>().total() == 2 * 4 * (2 * 1 * value));
static_assert(traffic<OnFour>().total() == 2 * 4 * (2 * 3 * value));
static_assert(count<OnTwo>(BodyOp::reduce_value) == 8 && count<OnTwo>(BodyOp::gather_value) == 0 && count<OnTwo>(BodyOp::slice_value) == 0);
static_assert(traffic<OnFour>().total() == traffic<Of<Packed, TensorParallel<4>>>().total());
// Each rank has its rows of every projection, and columns of the one behind them.
constexpr bool splits_as(const char* name, Laid how) {
  const Graph& graph = graph_of<Apart>;
  for (int n = 0; n < graph.node_count; ++n)
    for (int p = 0; p < graph.nodes[n].parameter_count; ++p)
      if (graph.parameter_name(n, p).view() == name) return OnFour::training.parameters[graph.nodes[n].first_parameter + p].split == how;
  return false;
}
static_assert(splits_as("layers.1.self_attn.q_proj.weight", laid::shard(0)) && splits_as("layers.1.self_attn.k_proj.weight", laid::shard(0)));
static_assert(splits_as("layers.0.self_attn.v_proj.weight", laid::shard(0)) && splits_as("layers.0.self_attn.o_proj.weight", laid::shard(1)));
static_assert(splits_as("layers.1.mlp.gate_proj.weight", laid::shard(0)) && splits_as("layers.1.mlp.up_proj.weight", laid::shard(0)));
static_assert(splits_as("layers.0.mlp.down_proj.weight", laid::shard(1)) && splits_as("layers.0.input_layernorm.weight", laid::replicate));

// Sequences in parts: a gather before and a sum that is scattered behind each of the four, in both directions.
using Steps = Of<Apart, TensorParallel<2, SequenceParallel>>;
static_assert(count<Steps>(BodyOp::scatter_value) == 2 * 4 && count<Steps>(BodyOp::reduce_value) == 0);
static_assert(count<Steps>(BodyOp::gather_value) == 2 * 4 + 2);  // and the output, and its gradient
// What three products read is gathered once and kept whole; made again it is kept in parts, with the bytes of packed ones, which gather it again.
using Again = Of<Apart, TensorParallel<2, SequenceParallel>, Recompute<RMSNorm<width>>>;
using PackedSteps = Of<Packed, TensorParallel<2, SequenceParallel>>;
static_assert(traffic<Again>().total() == traffic<PackedSteps>().total() && traffic<Steps>().total() < traffic<Again>().total());
static_assert(peak_memory<Again>() < peak_memory<PackedSteps>() && peak_memory<PackedSteps>() < peak_memory<Steps>());
// Products with stages, replicas and slices move the same values along axis tensor, all micro-batches and replicas together.
template <class P> constexpr Bytes values = traffic<P>().values().total_payload;
using Replicated = Of<Apart, Hybrid<TensorParallel<2>, DataParallel<2>>>;
using Staged = Of<Apart, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>;
using Sliced = Of<Apart, Hybrid<TensorParallel<4>, Sharded<2>>>;
static_assert(values<OnTwo> == traffic<OnTwo>().total() && values<Replicated> == values<OnTwo> && values<Staged> == values<OnTwo>);
static_assert(values<Sliced> == values<OnFour> && count<Sliced>(BodyOp::gather_value) == 0 && count<Replicated>(BodyOp::gather_value) == 0);

template <class P> void check_numbers() {
  const auto data = equivalence::rows_of<P>(8);
  const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 20);
}

}  // namespace

TEST_CASE("projections apart have the bits of one device under every policy that promises them") { equivalence::check_every_policy<Even, Apart>(); }

TEST_CASE("split projections have the numbers of one device, with whole and split sequences, stages, replicas, slices, and run again") {
  check_numbers<OnTwo>();
  check_numbers<OnFour>();
  check_numbers<Steps>();
  check_numbers<Staged>();
  check_numbers<Of<Apart, Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>>>();
  check_numbers<Replicated>();
  check_numbers<Sliced>();
  check_numbers<Again>();
  check_numbers<Of<Apart, TensorParallel<2>, Recompute<EveryBlock>>>();
}
