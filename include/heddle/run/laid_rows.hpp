// SPDX-License-Identifier: MIT
// Room: run. Rows of parts that stand one after another, and rows of the whole, copied from one to the other over axis tensor.
// Sees: plan/program, run/rank_tensors.  Does not see: policies, kernels, threads, transports.
// In: an entry and two places.  Out: rows in the other way to lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "heddle/plan/program/program.hpp"
#include "heddle/run/rank_tensors.hpp"

namespace heddle::run_room {

/// Which parts are copied, and whether they come together or go apart.
enum class Lay : std::uint8_t { together, apart, own_part };

/// A row (1, 2, 3, 4) of 2 ranks in one run has the parts (1, 2) and (3, 4); in runs of one element (1, 3) and (2, 4) are those of 2 runs.
/// `move(to, to_stride, from, from_stride, bytes, runs)` copies so many runs of so many bytes, which lie strides of bytes apart.
///
/// Tested  run/laid_rows_test, equivalence/tensor_parallel_test
template <class Move> struct LaidRows {
  RankTensors& t;
  int part;  // of this rank
  Move move;

  /// `rows(g)` are those of a grain.
  template <class Rows> void lay(const Entry& entry, const Place& parts, const Place& whole, Lay how, Rows rows) const {
    const int ranks = t.program().graph->split.ranks;
    const bool own = how == Lay::own_part;
    const std::int64_t features = entry.features / ranks;
    const std::int64_t run = features / entry.runs;
    const std::int64_t run_bytes = run * bytes_of(entry.type);
    const std::int64_t stride = t.stride(features, entry.type);
    const std::int64_t part_stride = stride * t.grains();
    float* const at_parts = t.at(parts, own ? part_stride : ranks * part_stride);
    for (int k = own ? part : 0; k < (own ? part + 1 : ranks); ++k)
      for (int g = 0; g < t.grains(); ++g) {
        float* const one = at_parts + (own ? 0 : k * part_stride) + g * stride;
        float* const all = behind(t.at_grain(whole, entry.features, g, entry.type), k * run, entry.type);
        how == Lay::together ? move(all, ranks * run_bytes, one, run_bytes, run_bytes, rows(g) * entry.runs)
                             : move(one, run_bytes, all, ranks * run_bytes, run_bytes, rows(g) * entry.runs);
      }
  }

 private:
  [[nodiscard]] static float* behind(float* at, std::int64_t elements, ElementType type) {
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(at) + elements * bytes_of(type));
  }
};

}  // namespace heddle::run_room
