// SPDX-License-Identifier: MIT
// Room: compute. LearnedPositions and Rotary on a card: vectors are added, pairs are turned.
// Sees: graph/layers/positions, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<LearnedPositions, CudaCompute>, Kernel<Rotary, CudaCompute>.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/graph/layers/positions.hpp"

namespace heddle::compute_room {

/// How the rows of a call lie as sequences. 8 rows of (2, 5, 24) are 16 sequences of 5 positions of 24 features.
struct SequencesOfCall {
  std::int64_t width, positions, sequences;
  SequencesOfCall(const Leaf& leaf, std::int64_t rows)
      : width(leaf.in.shape.last()), positions(graph_room::positions_of(leaf.in.shape)),
        sequences(rows * (leaf.in.elements() / (positions * width))) {}
  /// Of one sequence: as many elements lead the table of LearnedPositions.
  [[nodiscard]] std::int64_t elements() const { return positions * width; }
};

/// to = from + the rows of the table, n elements in sequences of so many.
template <class Value, int each> struct AddPositions {
  static constexpr const char* name = "AddPositions";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, Divisor of_sequence, const Value* table, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> x;
    NumbersOfThread<each> y;
    x.load(from + i);
    y.load(table + of_sequence.rest_of(i));
    x.add(y);
    x.store(to + i);
  }
};

/// Of each element of a sequence the sum over the sequences, into the first of n elements of the table; the others have 0. Each warp of a block sums
/// every so manieth sequence, and the block the sums of its warps in their order. `copy`, if it is not null, is made of what is read.
template <int each> struct SumPositions {
  static constexpr const char* name = "SumPositions";
  static constexpr bool cooperative = true;
  static constexpr int columns = warp_threads * each;  // of a block
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, std::int64_t of_sequence, std::int64_t sequences, bool add, const Value* from, Value* copy,
                                float* sums) const {
    const int lane = b.thread() % warp_threads, warp = b.thread() / warp_threads, warps = b.threads() / warp_threads;
    float* const of_warps = b.template shared<float>(warps * columns);
    const std::int64_t i = std::int64_t{b.index()} * columns + lane * each;
    NumbersOfThread<each> sum;
    sum.fill(0);
    for (std::int64_t s = warp; s < sequences && i < of_sequence; s += warps) {
      NumbersOfThread<each> x;
      x.load(from + s * of_sequence + i);
      sum.add(x);
      if (copy != nullptr) x.store(copy + s * of_sequence + i);
    }
    sum.store(of_warps + warp * columns + lane * each);
    b.sync();
    if (warp > 0 || i >= n) return;
    for (int w = 1; w < warps; ++w) {
      NumbersOfThread<each> other;
      other.load(of_warps + w * columns + lane * each);
      sum.add(other);
    }
    if (add) {
      NumbersOfThread<each> before;
      before.load(sums + i);
      sum.add(before);
    }
    sum.store(sums + i);
  }
};

template <class Value> void learned_positions_forward(const ForwardCallIn<CudaMemory>& call) {
  const SequencesOfCall lie(*call.leaf, call.rows);
  launch_values_in_runs<AddPositions, Value>(call.space.queue->stream, lie.width, lie.sequences * lie.elements(), Divisor{lie.elements()},
                                             values_at<Value>(call.parameters[0]), values_at<Value>(call.input), values_at<Value>(call.output));
}
template <class Value, int each> void sum_positions(const BackwardCallIn<CudaMemory>& call, const SequencesOfCall& lie) {
  using K = SumPositions<each>;
  const std::int64_t n = call.leaf->parameters[0].shape.elements(), blocks = (n + K::columns - 1) / K::columns;
  const int warps = blocks < 256 && lie.sequences > 8 ? 32 : 8;  // few blocks fill no card unless each has many threads
  launch<K>(call.space.queue->stream, {blocks, warps * warp_threads, static_cast<std::size_t>(warps) * K::columns * sizeof(float)}, n, lie.elements(),
            lie.sequences, call.add, values_at<Value>(call.output_gradient),
            values_at<Value>(call.input_gradient == call.output_gradient ? nullptr : call.input_gradient), call.parameter_gradients[0]);
}
/// Both gradients of one reading of that of the output.
template <class Value> void learned_positions_backward(const BackwardCallIn<CudaMemory>& call) {
  const SequencesOfCall lie(*call.leaf, call.rows);
  if (call.parameter_gradients == nullptr) {
    if (call.input_gradient != nullptr)
      CudaCompute::copy(call.space, values_at<Value>(call.input_gradient), values_at<Value>(call.output_gradient), lie.sequences * lie.elements());
  } else if (is_whole_packs(lie.width)) {
    sum_positions<Value, Pack<float>::count>(call, lie);
  } else {
    sum_positions<Value, 1>(call, lie);
  }
}

/// The cosine and `way` times the sine of the angle of each of n pairs of a head, position by position: in double, rounded once, as on the CPU.
struct MakeAngles {
  static constexpr const char* name = "MakeAngles";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, std::int64_t of_head, std::int64_t base, float way, float* cosines, float* sines) const {
    const std::int64_t i = first_of_thread<1>(b);
    if (i >= n) return;
    const double power = -static_cast<double>(i % of_head) / static_cast<double>(of_head);
    const std::int64_t position = i / of_head;
    const double angle = static_cast<double>(position) * std::pow(static_cast<double>(base), power);
    cosines[i] = static_cast<float>(std::cos(angle));
    sines[i] = way * static_cast<float>(std::sin(angle));
  }
};

/// How a vector of Rotary lies: pairs of heads that are turned, and then elements that stay; both are items. A vector of 3 heads of 4 features, 2 of
/// which are turned, has 4 pairs, 2 a head, and 8 items.
struct HeadsOfVector {
  Divisor positions, of_head, items;
  std::int64_t width, pairs;
  HeadsOfVector(std::int64_t positions_of_sequence, std::int64_t pairs_of_a_head, std::int64_t features, std::int64_t turned)
      : positions(positions_of_sequence), of_head(pairs_of_a_head), items(features - turned / 2), width(features), pairs(turned / 2) {}
};
/// Turns pairs, and copies what stays, n items of all vectors; an output may lie where its input does.
template <class Value, int each> struct TurnPairs {
  static constexpr const char* name = "TurnPairs";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, HeadsOfVector lie, const float* cosines, const float* sines, const Value* from,
                                Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t vector = lie.items.quotient_of(i), item = i - vector * lie.items.divisor();
    NumbersOfThread<each> x;
    if (item >= lie.pairs) {
      const std::int64_t at = vector * lie.width + lie.pairs + item;
      x.load(from + at);
      x.store(to + at);
      return;
    }
    const std::int64_t of_head = lie.of_head.divisor(), head = lie.of_head.quotient_of(item), pair = item - head * of_head;
    const std::int64_t at = vector * lie.width + 2 * head * of_head + pair, angle = lie.positions.rest_of(vector) * of_head + pair;
    NumbersOfThread<each> y;
    NumbersOfThread<each> cosine;
    NumbersOfThread<each> sine;
    x.load(from + at);
    y.load(from + at + of_head);
    cosine.load(cosines + angle);
    sine.load(sines + angle);
    for (int k = 0; k < each; ++k) {
      const float first = x.values[k], second = y.values[k];
      x.values[k] = first * cosine.values[k] - second * sine.values[k];
      y.values[k] = second * cosine.values[k] + first * sine.values[k];
    }
    x.store(to + at);
    y.store(to + at + of_head);
  }
};

/// Turns the pairs of each head that is no value by the angle of its position, times `way`: 1 forward, -1 back. The angles are made once, in
/// `angles`, for all sequences and heads.
///
/// Law     a position has the same bits in any sequence and any head
template <class L, class Value>
void turn(const CudaMemory& space, const Leaf& leaf, std::int64_t rows, const Value* from, Value* to, float way, void* angles) {
  if (rows == 0) return;
  constexpr std::int64_t of_head = L::features / 2;
  const SequencesOfCall lie(leaf, rows);
  const std::int64_t n = lie.positions * of_head, shared = lie.width / (L::features * (L::sharing + 2));
  const HeadsOfVector heads(lie.positions, of_head, lie.width, (L::sharing + 1) * shared * L::features);
  float* const cosines = static_cast<float*>(angles);
  float* const sines = cosines + n;
  launch<MakeAngles>(space.queue->stream, extents_of(n), n, of_head, std::int64_t{L::base}, way, cosines, sines);
  constexpr int each = of_head % Pack<float>::count == 0 ? Pack<float>::count : 1;  // also of bfloat16: angles are floats
  const std::int64_t items = lie.sequences * lie.positions * heads.items.divisor();
  launch<TurnPairs<Value, each>>(space.queue->stream, extents_of(items, each), items, heads, static_cast<const float*>(cosines),
                                 static_cast<const float*>(sines), from, to);
}

}  // namespace heddle::compute_room

namespace heddle {

/// LearnedPositions on CudaCompute or what derives from it.
///
/// Errors  none; rows may be 0
/// Tested  compute/cuda/positions_test
template <std::int64_t Length, std::int64_t Features, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::LearnedPositions<Length, Features>, C> {
  using TakesBFloat16 = Kernel;
  static constexpr bool backward_in_parts = true;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::learned_positions_forward<Value>(call);
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::learned_positions_backward<Value>(call);
  }
};
/// Rotary on CudaCompute or what derives from it. Its angles lie in the workspace, 8 bytes for each pair of features of a head at each position.
template <std::int64_t Features, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Rotary<Features, Options...>, C> {
  using L = graph_room::Rotary<Features, Options...>;
  static constexpr core_room::Bytes scratch(const graph_room::Leaf& leaf) {
    return core_room::Bytes{graph_room::positions_of(leaf.in.shape) * L::features * core_room::float_bytes};
  }
  using TakesBFloat16 = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::turn<L>(call.space, *call.leaf, call.rows, compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.output),
                          1, call.workspace);
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (call.input_gradient != nullptr)
      compute_room::turn<L>(call.space, *call.leaf, call.rows, compute_room::values_at<Value>(call.output_gradient),
                            compute_room::values_at<Value>(call.input_gradient), -1, call.workspace);
  }
};

}  // namespace heddle
