// SPDX-License-Identifier: MIT
// Room: plan. What a remedy of advice would change, read off the constants of a Program: micro-batches that suffice and are accepted, gradients
// that can be reduced early, bytes of layers in one unit, shares of the batch.
// Sees: plan/read/work, plan/program/alignment.  Does not see: machines, processes, threads.
// In: a Program.  Out: micro_batches_for, shares_of_all, orderly_micro_batches, accepted_micro_batches, behind_the_first, joined_bytes.
#pragma once

#include <cstdint>

#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/read/work.hpp"

namespace heddle::plan_room {

/// Micro-batches from `least` on with which GPipe and 1F1B leave stages idle for less than `limit` percent of a step; at most eight times `least`.
/// A step of M of them takes one through all stages and M - 1 through the slowest device.
///
/// Four equal stages, limit 50, least 4: 4. The same, limit 20: 13, since (S-1)/(M+S-1) is 20 % for 12.
/// Tested  plan/read/remedy_test
[[nodiscard]] constexpr int micro_batches_for(const Program& p, int least, int limit) {
  double all = 0;
  double most = 0;
  for (int r = 0; r < p.roles; ++r) {
    const auto own = static_cast<double>(stage_flops(p, r));
    all += own;
    most = own > most ? own : most;
  }
  const auto idle = [&](int m) { return 100 - 100 * m * all / (p.roles * (all + (m - 1) * most)); };
  int m = least;
  while (all > 0 && m < 8 * least && idle(m) >= limit) ++m;
  return m;
}

/// Shares of a micro-batch over all ranks, and the smallest that a rank takes: 4 and 1 for WeightedDataParallel<3, 1>, 2 and 1 for DataParallel<2>.
[[nodiscard]] constexpr int shares_of_all(const BatchDivision& d) {
  return d.share_count == 0 ? d.ranks : d.capacity() / d.total_micro_batches() / d.share_rows;
}
[[nodiscard]] constexpr int smallest_share(const BatchDivision& d) {
  int smallest = d.share_count == 0 ? 1 : d.shares[0];
  for (int i = 1; i < d.share_count; ++i) smallest = d.shares[i] < smallest ? d.shares[i] : smallest;
  return smallest;
}

/// Rows of the batch for each micro-batch of a round, so that all ranks have whole grains: 4 for DataParallel<2> and Grain<2>.
[[nodiscard]] constexpr std::int64_t rows_of_all_ranks(const BatchDivision& d) {
  return std::int64_t{shares_of_all(d)} * d.rounds * (d.grain_named ? d.grain_rows : 1);
}

/// The least number of micro-batches from `least` on that comes in whole groups of `group` and, where the fixed tree asks for it (B04), is a power
/// of two with its rounds.
[[nodiscard]] constexpr int orderly_micro_batches(const BatchDivision& d, int least, int group) {
  const bool by_two = d.tree && !d.grain_named && d.ranks > 1;
  int m = (least + group - 1) / group * group;
  for (int tried = 0; tried < 64 * least && by_two && !power_of_two(m * d.rounds); ++tried) m += group;
  return m;
}

/// The same, and it divides the batch; 0 if there is none up to 64 times `least`.
///
/// Batch<64> over two ranks, from 5 on: 8. Batch<8>: none.
/// Tested  plan/read/remedy_test
[[nodiscard]] constexpr int accepted_micro_batches(const BatchDivision& d, int least, int group) {
  const std::int64_t rows = rows_of_all_ranks(d);
  for (int m = orderly_micro_batches(d, least, group); m <= 64 * least && rows * m <= d.batch; m = orderly_micro_batches(d, m + 1, group))
    if (d.batch % (rows * m) == 0 || d.remedy != Remedy::none) return m;
  return 0;
}

/// Gradients of a role that are complete while its backward still runs.
/// Of Linear<784, 2000> and Linear<2000, 10> those of the second are: 20,010 elements in 81,920 bytes.
struct EarlyGradients {
  std::int64_t payload = 0;  ///< elements of parameters
  std::int64_t bytes = 0;    ///< in the flat buffer, to its end
};

/// All behind the first layer with parameters, or behind the first unit where buckets end with units: gathered parameters, norms of slices, and
/// parameters that lie by group ask for that. Slices are whole lines, so a bucket of them may end with fewer layers. Of a role whose parameters
/// nobody shares.
///
/// Linear<784, 2000> and Linear<2000, 10>, replicated: 20,010 elements in 81,920 bytes. One layer: none.
/// Tested  plan/read/remedy_test
[[nodiscard]] constexpr EarlyGradients behind_the_first(const Program& p, int role) {
  const auto each_place = [&](auto visit) {
    for (int c = 0; c < p.chunks; ++c)
      for (int n = p.first_node[c]; p.device_of_chunk[c] == role && n < p.first_node[c + 1]; ++n)
        for (int i = 0; i < p.graph->nodes[n].trained_count(); ++i) visit(p.parameters[p.graph->nodes[n].first_parameter + i]);
  };
  std::int64_t begin = -1;
  int first = -1;
  const bool by_units = p.groups.any() || (p.storage.parts > 1 && (p.storage.parameters || p.clips));
  if (by_units)
    for (int u = 0; u < p.unit_count && begin < 0; ++u) {
      if (p.units[u].role != role) continue;
      if (first >= 0) begin = p.units[u].begin;
      first = u;
    }
  else
    each_place([&](const ParameterPlace& place) {
      if (first < 0) first = place.node;
      if (begin < 0 && place.index == 0 && place.node != first && place.begin % (p.storage.parts * line_elements) == 0) begin = place.begin;
    });
  EarlyGradients early;
  if (begin < 0) return early;
  early.bytes = float_bytes * (p.arenas[role].flat_elements() - begin);
  each_place([&](const ParameterPlace& place) { early.payload += place.begin >= begin ? place.elements : 0; });
  return early;
}

/// Bytes of gradients of a role, with padding, if the layers of each chunk were one unit; those of tied parameters stay units of their own.
///
/// Eight Linear<16, 16> of 1088 bytes: 12,288, where eight units are 32,768.
/// Tested  plan/read/remedy_test
[[nodiscard]] constexpr std::int64_t joined_bytes(const Program& p, int role) {
  std::int64_t all = 0;
  for (int b = 0; b < p.bucket_count; ++b)
    if (p.buckets[b].role == role && p.buckets[b].shared) all += float_bytes * p.buckets[b].elements;
  for (int c = 0; c < p.chunks; ++c) {
    std::int64_t chunk = 0;
    for (int n = p.first_node[c]; p.device_of_chunk[c] == role && n < p.first_node[c + 1]; ++n) {
      bool shared = false;
      for (int u = 0; u < p.use_count; ++u) shared = shared || p.uses[u].node == n;
      for (int i = 0; i < p.graph->nodes[n].trained_count() && !shared; ++i)
        chunk += rounded_up(float_bytes * p.parameters[p.graph->nodes[n].first_parameter + i].elements, line_bytes);
    }
    all += rounded_up(chunk, unit_bytes);
  }
  return all;
}

}  // namespace heddle::plan_room
