// SPDX-License-Identifier: MIT
// Room: run. The arithmetic of a step that belongs to no entry: norms, the loss scale, sums of slices and of tied weights, what the optimizer steps.
// Sees: plan/program, run/rank_tensors, run/kernel_table, run/tracked.  Does not see: policies, threads, transports, any backend.
// In: the tensors of a rank.  Out: the same, one step later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/rank_tensors.hpp"
#include "heddle/run/square_sum.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/tracked.hpp"

namespace heddle::run_room {

/// What one rank computes between its backwards and the end of a step, in the memory of the host. A rank with 2 buckets takes its norm once and steps
/// twice.
///
/// Tested  run/step_arithmetic_test, run/executor_test, equivalence/
class StepArithmetic {
 public:
  HEDDLE_COLD StepArithmetic(const Program& training, const KernelTable& kernels, RankTensors& tensors)
      : t_(tensors), kernels_(kernels), tracked_(training, tensors.role()), states_(static_cast<std::size_t>(kernels.states)) {}

  // ---- norms and the loss scale
  /// Squares of what this rank has of each unit; nothing of the units of other roles. Parameters that every coordinate of axis tensor holds
  /// whole are counted on the first. `before(values, elements)` is called with every part before its squares are taken.
  template <class Before> void sum_squares(Before before) {
    const Program& p = t_.program();
    const bool counts = p.mesh.coordinate(t_.rank(), Axis::tensor) == 0;
    for (int u = 0; u < p.unit_count; ++u) {
      const FlatUnit& unit = p.units[u];
      t_.norms()[u] = 0;
      if (unit.role != t_.role()) continue;
      float* values = t_.level(t_.last_level()) + unit.begin;
      if (p.storage.parts > 1) {
        int b = 0;
        while (p.buckets[b].role != t_.role() || p.buckets[b].begin != unit.begin) ++b;  // each unit is a bucket
        values = t_.gradient_slice(p.buckets[b]);
      }
      const std::int64_t elements = unit.elements / p.storage.parts;
      const std::int64_t begin = unit.begin + (p.storage.parts > 1 ? t_.slice() * elements : 0);
      const auto squares = [&](const float* part, std::int64_t count) {
        const std::int64_t from = begin + (part - values);
        OtherRange range = tracked_.other(from, 0, count);
        float sum = range.elements > 0 ? arithmetic().square_sum(part + range.first, range.elements) : 0;
        while ((range = tracked_.other(from, range.end(), count)).elements > 0)
          sum = arithmetic().plus(sum, arithmetic().square_sum(part + range.first, range.elements));
        return sum;
      };
      const auto prepare = [&](float* part, std::int64_t count) {
        const std::int64_t from = begin + (part - values);
        for (OtherRange range = tracked_.other(from, 0, count); range.elements > 0; range = tracked_.other(from, range.end(), count))
          before(part + range.first, range.elements);
      };
      if (counts && unit.counts)
        t_.norms()[u] = square_sum(values, elements, Layout::unit_parts / p.storage.parts, prepare, squares, arithmetic().plus);
      else
        prepare(values, elements);
    }
    if (!counts) sum_squares_of_parts();
  }
  /// Divides this rank's gradients by the scale of the loss. The flag is 1 if one of them is not finite, else 0.
  void unscale(float scale) {
    const Program& p = t_.program();
    const auto inverse = static_cast<float>(1 / static_cast<double>(scale));
    bool finite = true;
    const auto divide = [&](float* values, std::int64_t elements) { finite = arithmetic().multiply(values, elements, inverse) && finite; };
    if (p.clips) sum_squares(divide);
    for (int b = 0; b < p.bucket_count && !p.clips; ++b)
      if (const FlatBucket& bucket = p.buckets[b]; bucket.role == t_.role())
        for (OtherRange range = trained_from(bucket, 0); range.elements > 0; range = trained_from(bucket, range.end()))
          divide(t_.gradient_slice(bucket) + range.first, range.elements);
    *t_.overflow_flag() = finite ? 0.0F : 1.0F;
  }
  /// Of the whole model, when the squares of all ranks are summed.
  [[nodiscard]] float norm() { return arithmetic().norm(t_.norms(), t_.program().unit_count); }

  // ---- sums
  /// Of a later micro-batch, to the sum of those before it.
  void add_slice(const Collective& c) {
    const Program& p = t_.program();
    const std::int64_t part = c.elements / p.mesh.size(c.axis);
    kernels_.add(t_.at(c.target, part), t_.at(c.target, part), t_.at(c.arrived, part), part);
  }
  /// All uses in the order of the model, on every owner, into the gradient that is stepped. Until its own turn the sum grows where the first arrived.
  void sum_ties(int bucket) {
    const Program& p = t_.program();
    const FlatBucket& b = p.buckets[bucket];
    int own = 0;
    while (p.uses[own].bucket != bucket) ++own;
    int first = own;
    while (first > 0 && p.uses[first - 1].owner == p.uses[own].owner) --first;
    float* sum = t_.gradient_of_use(first);
    for (int u = first + 1; u < p.use_count && p.uses[u].owner == p.uses[own].owner; ++u) {
      float* const to = u < own ? sum : t_.gradient_of_use(own);
      kernels_.add(to, sum, t_.gradient_of_use(u), t_.slice_elements(b));
      sum = to;
    }
  }
  /// Gaps between the tensors of a ring hold what other units left there; they are reduced and stepped like the rest.
  void zero_gaps(const FlatBucket& b) {
    float* const whole = t_.whole_gradient(b);
    for (std::int64_t end = b.begin; end < b.end();) {
      const ParameterPlace* const next = t_.next_in(b, end);
      const std::int64_t begin = next == nullptr ? b.end() : next->begin;
      std::fill(whole + (end - b.begin), whole + (begin - b.begin), 0.0F);
      end = next == nullptr ? begin : begin + next->elements;
    }
  }

  // ---- the optimizer
  /// What this rank keeps of a bucket, with the constants of the step; `factor` clips its gradients, or the step each of their values.
  void step(int bucket, float factor, const StepInput& input) {
    const Program& p = t_.program();
    const FlatBucket& b = p.buckets[bucket];
    const std::int64_t all = t_.slice_elements(b);
    for (OtherRange range = trained_from(b, 0); range.elements > 0 && p.clips; range = trained_from(b, range.end()))
      arithmetic().clip(t_.gradient_slice(b) + range.first, range.elements, factor);
    for (OtherRange range = trained_from(b, 0); range.elements > 0 && p.groups.clips_values; range = trained_from(b, range.end()))
      arithmetic().clip_values(t_.gradient_slice(b) + range.first, t_.parameter_slice(b) + range.first, range.elements,
                               static_cast<float>(input.max_value));
    tracked_.fold(t_.slice_begin(b), all, t_.parameter_slice(b), t_.gradient_slice(b), input.rows, arithmetic());
    if (!p.groups.any()) return step_range(b, 0, all, 0, input);
    const StepPiece* const end = p.pieces + p.piece_count;
    const StepPiece* piece = std::lower_bound(p.pieces, end, bucket, [](const StepPiece& of, int wanted) { return of.bucket < wanted; });
    for (; piece != end && piece->bucket == bucket; ++piece) {
      const std::int64_t from = std::max(piece->begin - t_.slice() * all, std::int64_t{0});
      const std::int64_t to = std::min(piece->end() - t_.slice() * all, all);
      if (from < to) step_range(b, from, to, piece->group, input);
    }
  }

 private:
  [[nodiscard]] const Arithmetic& arithmetic() const { return kernels_.arithmetic; }
  /// What an optimizer steps of this rank's slice: the next elements from number `from` on.
  [[nodiscard]] OtherRange trained_from(const FlatBucket& b, std::int64_t from) const {
    return tracked_.other(t_.slice_begin(b), from, t_.slice_elements(b));
  }
  /// Elements of this rank's slice, with the constants of one group.
  void step_range(const FlatBucket& b, std::int64_t from, std::int64_t to, int group, const StepInput& input) {
    const void* const constants = static_cast<const std::byte*>(input.constants) + static_cast<std::size_t>(group) * input.constants_bytes;
    for (OtherRange range = trained_from(b, from); range.first < to && range.elements > 0; range = trained_from(b, range.end())) {
      for (std::size_t s = 0; s < states_.size(); ++s) states_[s] = t_.state_slice(static_cast<int>(s), b) + range.first;
      kernels_.step(constants, std::min(range.end(), to) - range.first, t_.parameter_slice(b) + range.first, t_.gradient_slice(b) + range.first,
                    states_.begin());
    }
  }

  /// Of split parameters, whole lines: the rest of the last line of each is 0, as in the sum of a unit.
  void sum_squares_of_parts() {
    const Program& p = t_.program();
    for (int parameter = 0; parameter < p.graph->parameter_count; ++parameter) {
      const ParameterPlace& place = p.parameters[parameter];
      if (place.role != t_.role() || !place.split.sharded() || p.graph->frozen(place.node) || p.graph->nodes[place.node].tied_to >= 0) continue;
      if (p.graph->leaf(place.node).parameters[place.index].tracked()) continue;
      const HeldPart part = t_.held_gradient(parameter);
      int u = 0;
      while (p.units[u].role != t_.role() || place.begin >= p.units[u].end()) ++u;
      t_.norms()[u] = arithmetic().plus(t_.norms()[u], arithmetic().square_sum(part.values, rounded_up(part.elements, SquareLanes::count)));
    }
  }

  RankTensors& t_;
  const KernelTable& kernels_;
  Tracked tracked_;
  RowOf<float*> states_;
};

}  // namespace heddle::run_room
