// SPDX-License-Identifier: MIT
// Room: run. Parameters that are tracked: where they lie among those that are stepped, of how many values they are, what a step makes of them.
// Sees: plan/program, run/step_input, run/arithmetic.  Does not see: policies, kernels, threads, transports.
// In: a Program and a role.  Out: Tracked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arithmetic.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// Values that a step of so many rows has for an element that is of `each` of a row, in grains that have at least `least` of them. 5 rows in grains
/// of 2 have 5 values of 1 a row, 4 of which are in grains of at least 2.
///
/// Where ranks tell each other of their rows, the values of a micro-batch on all ranks stand for those of a grain.
///
/// Tested  run/tracked_test
[[nodiscard]] inline std::int64_t counted_values(const BatchDivision& batch, std::int64_t rows, std::int64_t each, std::int64_t least,
                                                 bool together = false) {
  if (each >= least) return rows * each;
  std::int64_t counted = 0;
  for (int m = 0; together && m < batch.total_micro_batches(); ++m)
    if (const std::int64_t values = each * rows_in_micro_batch(batch, rows, m); values >= least) counted += values;
  if (together) return counted;
  for (int position = 0; position < batch.ranks; ++position)
    for (int m = 0; m < batch.total_micro_batches(); ++m)
      for (int g = 0; g < batch.grains(); ++g) {
        const std::int64_t values = each * rows_in_grain(batch, rows, position, m, g);
        if (values >= least) counted += values;
      }
  return counted;
}

/// Elements that an optimizer steps, between those that are tracked: {64, 16} are 64 to 79.
struct OtherRange {
  std::int64_t first = 0;
  std::int64_t elements = 0;
  [[nodiscard]] std::int64_t end() const { return first + elements; }
};

/// The tracked parameters of one role, in the order in which they lie: no optimizer steps them, no norm and no loss scale counts their sums. A
/// BatchNorm2d<3> has two, of 3 elements in a line of 16 each.
///
/// Tested  run/tracked_test, equivalence/batch_norm_test
class Tracked {
 public:
  HEDDLE_COLD Tracked(const Program& training, int role) : batch_(training.batch), all_(count(*training.graph)) {
    const Graph& graph = *training.graph;
    for (int n = 0; n < graph.node_count; ++n)
      for (int k = 0; k < graph.nodes[n].trained_count(); ++k) {
        const Parameter& parameter = graph.leaf(n).parameters[k];
        const ParameterPlace& place = training.parameters[graph.nodes[n].first_parameter + k];
        if (!parameter.tracked() || place.role != role) continue;
        Range* at = all_.begin() + used_++;
        for (; at != all_.begin() && at[-1].begin > place.begin; --at) *at = at[-1];  // groups of parameters may lie the other way round
        *at = {place.begin,      place.elements,         graph.leaf(n).values_a_row(k),
               parameter.tracks, graph.leaf(n).momentum, graph.leaf(n).forward_phases.any()};
      }
  }

  /// Of `elements` from element `begin` of the flat buffer on, the next that are not tracked, from number `from` on; none if all that are left are.
  [[nodiscard]] OtherRange other(std::int64_t begin, std::int64_t from, std::int64_t elements) const {
    std::int64_t to = elements;
    for (const Range* at = all_.begin(); at != all_.begin() + used_; ++at) {
      const std::int64_t first = at->begin - begin;
      const std::int64_t end = rounded_up(at->begin + at->elements, line_elements) - begin;
      if (first > from) {
        to = std::min(first, elements);
        break;
      }
      from = std::max(from, end);
    }
    return {from, std::max(to - from, std::int64_t{0})};
  }
  /// What a step of so many rows makes of those among `elements` from element `begin` of the flat buffer on, by take(values, sums, elements,
  /// momentum, counted).
  template <class Take>
  HEDDLE_COLD void fold(std::int64_t begin, std::int64_t elements, float* values, const float* sums, std::int64_t rows, Take take) const {
    for (const Range* at = all_.begin(); at != all_.begin() + used_; ++at) {
      const Range& range = *at;
      const std::int64_t first = std::max(range.begin, begin);
      const std::int64_t end = std::min(range.begin + range.elements, begin + elements);
      if (first >= end) continue;
      const std::int64_t counted = counted_values(batch_, rows, range.values, range.least, range.together);
      if (counted > 0) take(values + (first - begin), sums + (first - begin), end - first, range.momentum, counted);
    }
  }

 private:
  /// Of a BatchNorm2d<3> on (3, 4, 4) the running variance has 3 elements, each of 16 values of a row, in grains of at least 2.
  struct Range {
    std::int64_t begin = 0;  // [elements]
    std::int64_t elements = 0;
    std::int64_t values = 0;  // of one row, for each element
    std::int64_t least = 1;   // in a grain that counts
    float momentum = 0;
    bool together = false;  // with those of all ranks
  };
  [[nodiscard]] static std::size_t count(const Graph& graph) {
    std::size_t count = 0;
    for (int n = 0; n < graph.node_count; ++n)
      for (int k = 0; k < graph.nodes[n].trained_count(); ++k)
        if (graph.leaf(n).parameters[k].tracked()) ++count;
    return count;
  }
  BatchDivision batch_;
  RowOf<Range> all_;  // of which this role has the first `used_`
  std::ptrdiff_t used_ = 0;
};

}  // namespace heddle::run_room
