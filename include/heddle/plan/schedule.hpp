// SPDX-License-Identifier: MIT
// Room: plan. List scheduling: in which order each role runs its computes, by time under F = 1, B = 2.
// Sees: policy answers, plan/batch.  Does not see: memory, processes, threads.
// In: chunks, devices, in-flight limits.  Out: computes in order of their begin.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/batch.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::inline plan_room {

/// One forward or backward of one chunk for one micro-batch, in units of one forward.
struct TimedCompute {
  std::int16_t chunk = 0;
  std::int16_t micro_batch = 0;
  bool backward = false;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

inline constexpr int forward_time = 1;
inline constexpr int backward_time = 2;

/// Above this a schedule does not fit into a constant expression with the compilers' default limits (S07): computes, and chunks x computes,
/// since each pick looks at every chunk. 24 chunks x 24 micro-batches is the largest that was tried with many chunks.
inline constexpr int most_computes = 3000;
inline constexpr int most_looks = 27'700;

[[nodiscard]] constexpr Diagnosis check_schedule_length(const Layout& layout, const BatchDivision& batch) {
  const int computes = 2 * layout.chunk_count * batch.total_micro_batches();
  if (computes <= most_computes && layout.chunk_count * computes <= most_looks) return {};
  const int most = most_looks / layout.chunk_count < most_computes ? most_looks / layout.chunk_count : most_computes;
  return Diagnosis{Code{'S', 7}, ""} << layout.chunk_count << " chunks x " << batch.total_micro_batches() << " micro-batches make " << computes
                                     << " computes, but at most " << most << " of " << layout.chunk_count
                                     << " chunks are scheduled at build. Fix: use fewer micro-batches or rounds, or fewer chunks.";
}

/// State of the simulation: the next forward and backward of each chunk, and when the earlier ones ended.
template <int Chunks, int MicroBatches> struct ListScheduler {
  const Layout& layout;
  int round_size = 1;
  bool training = true;
  int next_forward[Chunks]{};
  int next_backward[Chunks]{};
  std::int32_t forward_end[Chunks][MicroBatches]{};
  std::int32_t backward_end[Chunks][MicroBatches]{};
  std::int32_t free_at[Chunks]{};  // by device

  /// When the next backward of chunk c could begin, or -1.
  [[nodiscard]] constexpr std::int32_t backward_ready(int c) const {
    const int m = next_backward[c];
    if (!training || m >= next_forward[c]) return -1;
    if (c + 1 < Chunks && next_backward[c + 1] <= m) return -1;
    if (layout.order.forwards_first && next_forward[c] < (m / round_size + 1) * round_size) return -1;
    return c + 1 < Chunks ? backward_end[c + 1][m] : forward_end[c][m];
  }
  [[nodiscard]] constexpr std::int32_t forward_ready(int c) const {
    const int m = next_forward[c];
    if (m >= MicroBatches) return -1;
    if (c > 0 && next_forward[c - 1] <= m) return -1;
    if (training && m - next_backward[c] >= layout.in_flight[c]) return -1;
    if (training && layout.order.forwards_first && next_backward[c] < m / round_size * round_size) return -1;
    return c > 0 ? forward_end[c - 1][m] : 0;
  }
  /// The compute that can begin first; a backward before a forward, a later chunk before an earlier one.
  constexpr TimedCompute pick() const {
    TimedCompute best;
    best.begin = -1;
    for (int c = Chunks - 1; c >= 0; --c) {
      const std::int32_t free = free_at[layout.device_of_chunk[c]];
      for (const bool backward : {true, false}) {
        std::int32_t ready = backward ? backward_ready(c) : forward_ready(c);
        if (ready < 0) continue;
        if (ready < free) ready = free;
        const bool first = best.begin < 0 || ready < best.begin || (ready == best.begin && backward && !best.backward);
        if (first)
          best = TimedCompute{static_cast<std::int16_t>(c), static_cast<std::int16_t>(backward ? next_backward[c] : next_forward[c]), backward, ready,
                              0};
      }
    }
    best.end = best.begin + (best.backward ? backward_time : forward_time);
    return best;
  }
  constexpr void run(const TimedCompute& compute) {
    free_at[layout.device_of_chunk[compute.chunk]] = compute.end;
    if (compute.backward) {
      backward_end[compute.chunk][compute.micro_batch] = compute.end;
      ++next_backward[compute.chunk];
    } else {
      forward_end[compute.chunk][compute.micro_batch] = compute.end;
      ++next_forward[compute.chunk];
    }
  }
};

/// All computes of a step in order of their begin: the one global order from which lists are emitted.
template <int Chunks, int MicroBatches, bool Training> struct Schedule {
  static constexpr int count = Chunks * MicroBatches * (Training ? 2 : 1);
  TimedCompute computes[count]{};
  std::int32_t makespan = 0;
};

template <int Chunks, int MicroBatches, bool Training>
[[nodiscard]] constexpr Schedule<Chunks, MicroBatches, Training> schedule_computes(const Layout& layout, int round_size) {
  Schedule<Chunks, MicroBatches, Training> out;
  ListScheduler<Chunks, MicroBatches> state{layout, round_size, Training};
  for (TimedCompute& compute : out.computes) {
    compute = state.pick();
    state.run(compute);
    if (compute.end > out.makespan) out.makespan = compute.end;
  }
  return out;
}

}  // namespace heddle::inline plan_room
