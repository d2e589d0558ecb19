// SPDX-License-Identifier: MIT
// Steps of Llama 3 that others measured on eight B200, as plans: what they printed, and what the clock and the memory map say of the same layout.
// Source: sources.md#simumax.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/cost/model_states.hpp"
#include "heddle/cost/presets.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"

namespace heddle::tests::b200 {

using namespace heddle::extending;

inline constexpr int vocabulary = 128256, positions = 4096;

template <int Hidden, int QueryHeads, int KeyHeads, int Inner>
struct Decoder : Sequential<Residual<RMSNorm<Hidden>, Linear<Hidden, 128 * (QueryHeads + 2 * KeyHeads), NoBias>,
                                     Rotary<128, Heads<QueryHeads>, KeyValueHeads<KeyHeads>>,
                                     SelfAttention<Heads<QueryHeads>, KeyValueHeads<KeyHeads>, Causal>, Linear<Hidden, Hidden, NoBias>>,
                            Residual<RMSNorm<Hidden>, Linear<Hidden, 2 * Inner, NoBias>, SwiGLU, Linear<Inner, Hidden, NoBias>>> {};

/// Llama 3 70B cut to 12 layers.
struct Llama70B {
  static constexpr const char* name = "70B, 12 layers";
  static constexpr int hidden = 8192, layers = 12;
  using Block = Decoder<hidden, 64, 8, 28672>;
  static constexpr std::int64_t products[] = {hidden * 10240, hidden* hidden, hidden * 57344, hidden * 28672};  // weights of a block
};
/// Llama 3 405B cut to 4 layers, with 16 heads of keys and values, as it was measured (the published model has 8).
struct Llama405B {
  static constexpr const char* name = "405B, 4 layers";
  static constexpr int hidden = 16384, layers = 4;
  using Block = Decoder<hidden, 128, 16, 53248>;
  static constexpr std::int64_t products[] = {hidden * 20480, hidden* hidden, hidden * 106496, hidden* std::int64_t{53248}};
};

template <class L> struct Front : Sequential<Input<positions>, Embedding<vocabulary, L::hidden>, Repeat<L::layers / 2, typename L::Block>> {};
template <class L> struct Back : Sequential<Repeat<L::layers / 2, typename L::Block>, RMSNorm<L::hidden>, Linear<L::hidden, vocabulary, NoBias>> {};
template <class L> struct Whole : Sequential<Front<L>, Back<L>> {};
template <class L, int Rows, class... Parts> using Of = Plan<Whole<L>, CrossEntropy, AdamW, Batch<Rows>, Clip<GlobalNorm>, Mixed<BFloat16>, Parts...>;

/// Megatron's distributed optimizer slices optimizer states over the replicas; stages are halves of the layers; tensor ranks split the sequence too.
template <class L, int M>
using TwoStages = Of<L, 4 * M, Hybrid<Pipeline<Stage<Front<L>>, Stage<Back<L>>, OneFOneB, Microbatches<M>>, Sharded<4, OptimizerState>>>;
template <class L, int M> using Tensor2 = Of<L, 4 * M, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<4, OptimizerState>>, Accumulate<M>>;
template <class L, int M> using Tensor4 = Of<L, 2 * M, Hybrid<TensorParallel<4, SequenceParallel>, Sharded<2, OptimizerState>>, Accumulate<M>>;
template <class L, int M> using Tensor8 = Of<L, M, TensorParallel<8, SequenceParallel>, Accumulate<M>>;

/// One printed row beside what is predicted: 843.0 ms and 66.55 GiB of 70B in two stages with 4 micro-batches.
struct PublishedStep {
  std::string model, layout;
  int micro_batches = 0;
  double milliseconds = 0, gibibytes = 0;  ///< as printed
  double predicted_ms = 0;
  double states = 0, frames = 0, external = 0;  ///< GiB: what is kept of parameters, of micro-batches in flight, and beside tensors of the plan
  double own = 0;                               ///< GiB that the plan itself would take here

  [[nodiscard]] double time_error() const { return 100 * (predicted_ms / milliseconds - 1); }
  [[nodiscard]] double memory() const { return states + frames + external; }
  [[nodiscard]] double memory_error() const { return 100 * (memory() / gibibytes - 1); }
};

/// The launcher of those steps had turned off whatever lets collectives and messages overlap with computing.
inline Machine as_launched(Machine b200) {
  b200.overlaps = false;
  return b200;
}
inline Machine machine() { return as_launched(measured_b200_nodes()); }
/// What the datasheet alone says, launched the same way.
inline Machine datasheet() { return as_launched(b200_nodes()); }

/// The same step with the bytes that Megatron moves: sums of bfloat16 values and gathered parameters travel as bfloat16, while those of a plan travel
/// as float32. Of 67 million elements that are summed 134 MB count, not 268.
class AsMegatronMoves {
 public:
  explicit AsMegatronMoves(const plan_room::Program& plan) : program_(plan), moved_(plan.collectives, plan.collectives + plan.collective_count) {
    for (plan_room::Collective& c : moved_)
      if (c.widens() || (c.purpose == plan_room::Purpose::parameters && c.wire() == ElementType::float32)) c.elements /= 2;
    program_.collectives = moved_.data();
  }
  AsMegatronMoves(const AsMegatronMoves&) = delete;
  AsMegatronMoves& operator=(const AsMegatronMoves&) = delete;
  [[nodiscard]] const plan_room::Program& program() const { return program_; }

 private:
  plan_room::Program program_;
  std::vector<plan_room::Collective> moved_;
};

/// Seconds of passes over gradients and parameters that Megatron-LM's optimizer makes beside those of a plan: it zeroes gradients (4 bytes each) and,
/// with replicas, scales them before their reduction (8), multiplies its slice by the factor of the clip (8), and copies parameters to bfloat16 (6).
/// 1.5e9 parameters without replicas take 4.7 ms at 5.72 TB/s: 18 bytes each.
/// Source  sources.md#megatron-optimizer
inline double closing_passes(const Machine& b200, double elements, int data) {
  return b200.per_memory_byte * elements * (4 + (data > 1 ? 8 : 0) + 14.0 / data);
}

/// What the first rank keeps by Megatron's conventions: bfloat16 parameters, float32 gradients, and float32 parameters and moments in slices, 6 +
/// 12/d bytes a parameter; the frames of micro-batches in flight, min(M, p - r) on rank r; and beside these the buffers that Transformer Engine puts
/// in the place of weight gradients which it adds to float32 ones, bfloat16 and one for each shape of a product.
template <class L, class ThePlan>
PublishedStep row_of(const Machine& b200, const char* layout, int tensor, int data, int in_flight, int m, double milliseconds, double gibibytes) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  const auto& p = ThePlan::training;
  const auto elements = static_cast<double>(p.arenas[0].flat_elements());
  PublishedStep row{L::name, layout, m, milliseconds, gibibytes};
  row.predicted_ms = 1e3 * (simulate(AsMegatronMoves{p}.program(), b200).step.value + closing_passes(b200, elements, data));
  row.states = cost_room::model_state_bytes(cost_room::BytesPerParameter{2, 4, 12}, elements, data, OptimizerState::sharding) / gib;
  row.frames = static_cast<double>(in_flight * p.pools[0].slot_bytes) / gib;
  for (const std::int64_t weight : L::products) row.external += 2.0 * static_cast<double>(weight) / tensor / gib;
  if (p.roles == 1) row.external += 2.0 * vocabulary * L::hidden / tensor / gib;
  row.own = static_cast<double>(peak_memory<ThePlan>().value) / gib;
  return row;
}

template <class L, int M>
void add_rows(std::vector<PublishedStep>& to, const Machine& b200, const double (&milliseconds)[4], const double (&gibibytes)[4]) {
  to.push_back(row_of<L, TwoStages<L, M>>(b200, "PP2 DP4", 1, 4, 2, M, milliseconds[0], gibibytes[0]));
  to.push_back(row_of<L, Tensor2<L, M>>(b200, "TP2 DP4", 2, 4, 1, M, milliseconds[1], gibibytes[1]));
  to.push_back(row_of<L, Tensor4<L, M>>(b200, "TP4 DP2", 4, 2, 1, M, milliseconds[2], gibibytes[2]));
  to.push_back(row_of<L, Tensor8<L, M>>(b200, "TP8", 8, 1, 1, M, milliseconds[3], gibibytes[3]));
}
/// All rows of 4 and 8 micro-batches of sequences of 4,096, as they are predicted of a machine.
inline std::vector<PublishedStep> rows(const Machine& b200 = machine()) {
  std::vector<PublishedStep> all;
  add_rows<Llama70B, 4>(all, b200, {843.0, 725.5, 409.8, 280.9}, {66.55, 60.68, 39.07, 28.29});
  add_rows<Llama70B, 8>(all, b200, {1476.8, 1387.0, 765.6, 556.7}, {66.55, 60.68, 39.07, 28.29});
  add_rows<Llama405B, 4>(all, b200, {1074.6, 907.3, 476.0, 258.8}, {87.08, 81.59, 52.89, 38.57});
  add_rows<Llama405B, 8>(all, b200, {1935.4, 1716.8, 899.6, 488.1}, {87.08, 81.59, 52.89, 38.57});
  return all;
}

}  // namespace heddle::tests::b200
