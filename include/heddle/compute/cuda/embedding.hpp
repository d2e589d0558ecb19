// SPDX-License-Identifier: MIT
// Room: compute. Embedding on a card: rows of the table are copied, gradients added to the rows in the order of the ids, without atomics.
// Sees: graph/layers/embedding, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<Embedding, CudaCompute>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/graph/layers/embedding.hpp"

namespace heddle::compute_room {

/// n elements of the output. Zeros for the tokens of other ranks; an id that is no token gives NaN and reads nothing outside the table.
template <class Value, int each> struct LookUpRows {
  static constexpr const char* name = "LookUpRows";
  static constexpr bool cooperative = false;
  static constexpr float nothing = std::numeric_limits<float>::quiet_NaN();  // made on the host: nvcc calls no such function on a card
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, TableRows table, Divisor features, const std::int32_t* ids, const Value* weight,
                                Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t at = features.quotient_of(i), row = table.row_of(ids[at]);
    NumbersOfThread<each> x;
    if (row >= 0)
      x.load(weight + row * table.features + (i - at * features.divisor()));
    else
      x.fill(row == TableRows::elsewhere ? 0.0F : nothing);
    x.store(to + i);
  }
};

/// Adds to each row of the table the gradients of the ids that name it, in the order of the ids.
///
/// A block owns some rows and a slice of their features. It reads all ids once, in their order, and keeps those that name its rows; when it has many,
/// and at the end, it sorts them by row. Then each warp takes one row after another and sums what belongs to it in registers. So a row has one sum,
/// in one order, on any number of blocks, and no memory is needed beside the table. 50,257 rows of 768 features are 6 slices of 296 rows each: 1,020
/// blocks.
template <int each> struct SumTokens {
  static constexpr const char* name = "SumTokens";
  static constexpr bool cooperative = true;
  static constexpr int threads = 256, warps = threads / warp_threads, slice = warp_threads * each;
  static constexpr int of_thread = Pack<std::int32_t>::count, of_step = threads * of_thread;  // ids
  static constexpr int most = 2 * of_step;                                                    // that are kept: a step may keep all that it reads
  static constexpr std::size_t shared_bytes = most * (sizeof(std::int64_t) + 2 * sizeof(std::int32_t)) + warps * sizeof(int);

  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, TableRows table, int slices, std::int64_t owned, const std::int32_t* ids, const Value* from,
                                float* sums) const {
    const Kept kept{b.template shared<std::int64_t>(most), b.template shared<std::int32_t>(most), b.template shared<std::int32_t>(most),
                    b.template shared<int>(warps)};
    const std::int64_t first = b.index() / slices * owned, column = b.index() % slices * slice + b.thread() % warp_threads * each;
    const std::int64_t end = first + owned < table.rows ? first + owned : table.rows;
    int count = 0;  // the same in all threads
    for (std::int64_t at = 0; at < table.ids; at += of_step) {
      count += keep(b, table, first, end, ids, at, kept, count);
      if (count <= most - of_step && at + of_step < table.ids) continue;
      sort(b, kept, count);
      if (column < table.features) add(b, kept, count, table.features, from + column, sums + column);
      count = 0;
    }
  }

 private:
  /// The ids that a block has kept: of 7, 3, 9, 3 and its rows from 3 to 7 the places 0, 1 and 3 and the rows 7, 3, 3 in the order 1, 2, 0.
  struct Kept {
    std::int64_t* places;  // which of all ids, ascending
    std::int32_t* rows;    // that it names
    std::int32_t* order;   // numbers of what is kept, by row
    int* of_warps;
  };
  /// Appends what this step reads of the block's rows; how many there are. All threads meet in it before anything is written over.
  template <class B>
  HEDDLE_DEVICE static int keep(B& b, const TableRows& table, std::int64_t first, std::int64_t end, const std::int32_t* ids, std::int64_t step,
                                const Kept& kept, int count) {
    const std::int64_t begin = step + b.thread() * of_thread;
    const Pack<std::int32_t> read = ids_from(ids, begin, table.ids);
    std::int64_t rows[of_thread];
    int mine = 0;
    for (int k = 0; k < of_thread; ++k) {
      rows[k] = read.values[k] == table.padding ? TableRows::elsewhere : table.row_of(read.values[k]);
      if (rows[k] < first || rows[k] >= end) rows[k] = TableRows::elsewhere;
      mine += rows[k] >= 0 ? 1 : 0;
    }
    int all = 0;
    int next = count + before_thread(b, mine, kept.of_warps, all);
    for (int k = 0; k < of_thread; ++k) {
      if (rows[k] < 0) continue;
      kept.places[next] = begin + k;
      kept.rows[next++] = static_cast<std::int32_t>(rows[k]);
    }
    return all;
  }
  /// What lies past the end is no token.
  HEDDLE_DEVICE static Pack<std::int32_t> ids_from(const std::int32_t* ids, std::int64_t begin, std::int64_t end) {
    if (begin + of_thread <= end && reinterpret_cast<std::uintptr_t>(ids) % sizeof(Pack<std::int32_t>) == 0) return load_pack(ids + begin);
    Pack<std::int32_t> read;
    for (int k = 0; k < of_thread; ++k) read.values[k] = begin + k < end ? ids[begin + k] : -1;
    return read;
  }
  /// The sum over the threads before this one, and that over all.
  template <class B> HEDDLE_DEVICE static int before_thread(B& b, int x, int* of_warps, int& all) {
    const int lane = b.thread() % warp_threads, warp = b.thread() / warp_threads;
    int from_here = x;  // to the last lane
    for (int d = 1; d < warp_threads; d *= 2) {
      const int later = b.shuffle_down(from_here, d);
      if (lane + d < warp_threads) from_here += later;
    }
    if (lane == 0) of_warps[warp] = from_here;
    b.sync();
    int before = 0;
    for (int w = 0; w < warps; ++w) {
      if (w <= warp) before = all + of_warps[w] - from_here;
      all += of_warps[w];
    }
    b.sync();
    return before;
  }
  /// By row, and in the order of the ids where rows are equal: each finds its place by counting those before it.
  template <class B> HEDDLE_DEVICE static void sort(B& b, const Kept& kept, int count) {
    b.sync();
    for (int i = b.thread(); i < count; i += threads) {
      const std::int32_t row = kept.rows[i];
      int before = 0;
      for (int j = 0; j < count; ++j) before += kept.rows[j] < row || (kept.rows[j] == row && j < i) ? 1 : 0;
      kept.order[before] = i;
    }
    b.sync();
  }
  /// A warp sums the rows that begin at its numbers in the order; some gradients are loaded before they are needed.
  template <class B, class Value>
  HEDDLE_DEVICE static void add(const B& b, const Kept& kept, int count, std::int64_t features, const Value* from, float* sums) {
    constexpr int ahead = 8;
    for (int begin = b.thread() / warp_threads; begin < count; begin += warps) {
      const std::int32_t row = kept.rows[kept.order[begin]];
      if (begin > 0 && kept.rows[kept.order[begin - 1]] == row) continue;
      int end = begin + 1;
      while (end < count && kept.rows[kept.order[end]] == row) ++end;
      NumbersOfThread<each> sum;
      sum.load(sums + row * features);
      const auto gradient = [&](int i) { return neighbours_at<each>(from + kept.places[kept.order[i]] * features); };
      int i = begin;
      for (; i + ahead <= end; i += ahead) {
        NumbersOfThread<each> gradients[ahead];
        for (int k = 0; k < ahead; ++k) gradients[k] = gradient(i + k);
        for (int k = 0; k < ahead; ++k) sum.add(gradients[k]);
      }
      for (; i < end; ++i) sum.add(gradient(i));
      sum.store(sums + row * features);
    }
  }
};

template <class Value> void embedding_forward(const ForwardCallIn<CudaMemory>& call) {
  const TableRows table(*call.leaf, call.rows, call.part);
  launch_values_in_runs<LookUpRows, Value>(call.space.queue->stream, table.features, table.ids * table.features, table, Divisor{table.features},
                                           call.ids, values_at<Value>(call.parameters[0]), values_at<Value>(call.output));
}

/// About so many blocks share the rows of a table, or one for each row: enough for every card, few enough that all read all ids.
inline constexpr std::int64_t blocks_of_table = 1'024;
template <class Value, int each> void sum_tokens(const BackwardCallIn<CudaMemory>& call, const TableRows& table) {
  using K = SumTokens<each>;
  const std::int64_t slices = (table.features + K::slice - 1) / K::slice;
  const std::int64_t shares = std::clamp<std::int64_t>(blocks_of_table / slices, 1, table.rows);
  const std::int64_t owned = (table.rows + shares - 1) / shares;
  launch<K>(call.space.queue->stream, {slices * ((table.rows + owned - 1) / owned), K::threads, K::shared_bytes}, table, static_cast<int>(slices),
            owned, call.ids, values_at<Value>(call.output_gradient), call.parameter_gradients[0]);
}
/// dW: for each row the sum over the ids that name it, in their order; nothing for that of padding. Ids have no gradient.
template <class Value> void embedding_backward(const BackwardCallIn<CudaMemory>& call) {
  if (call.parameter_gradients == nullptr) return;
  const TableRows table(*call.leaf, call.rows, call.part);
  if (!call.add) CudaCompute::zero(call.space, call.parameter_gradients[0], table.rows * table.features);
  if (table.ids == 0) return;
  if (is_whole_packs(table.features))
    sum_tokens<Value, Pack<float>::count>(call, table);
  else
    sum_tokens<Value, 1>(call, table);
}

}  // namespace heddle::compute_room

namespace heddle {

/// Embedding on CudaCompute or what derives from it; the code does not depend on its arguments.
///
/// Errors  none; rows may be 0
/// Law     the gradient has the bits of EigenCompute: the same sums in the same order
/// Tested  compute/cuda/embedding_test
template <std::int64_t Vocabulary, std::int64_t Features, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Embedding<Vocabulary, Features, Options...>, C> {
  using TakesBFloat16 = Kernel;
  static constexpr bool backward_in_parts = true;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::embedding_forward<Value>(call);
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    compute_room::embedding_backward<Value>(call);
  }
};

}  // namespace heddle
