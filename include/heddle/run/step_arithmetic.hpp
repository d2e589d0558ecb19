// SPDX-License-Identifier: MIT
// Room: run. The arithmetic of a step that belongs to no entry: norms, the loss scale, sums of slices and of tied weights, what the optimizer steps.
// Sees: plan/program, run/rank_tensors, run/host_work, run/tracked.  Does not see: policies, threads, transports, any backend.
// In: the tensors of a rank.  Out: the same, one step later.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/host_work.hpp"
#include "heddle/run/rank_tensors.hpp"
#include "heddle/run/square_sum.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/tracked.hpp"

namespace heddle::run_room {

/// What one rank computes between its backwards and the end of a step, in the memory that `Work` is at work in. A rank with 2 buckets takes its norm
/// once and steps twice.
///
/// Tested  run/step_arithmetic_test, run/executor_test, equivalence/
template <class Work> class StepArithmeticOf {
 public:
  HEDDLE_COLD StepArithmeticOf(const Program& training, int states, RankTensors& tensors, Work& work)
      : t_(tensors), work_(work), tracked_(training, tensors.role()), states_(static_cast<std::size_t>(states)) {}

  // ---- norms and the loss scale
  /// Squares of what this rank has of each unit; nothing of the units of other roles. Parameters that every coordinate of axis tensor holds
  /// whole are counted on the first. `before(values, elements)` is called with every part before its squares are taken.
  template <class Before> void sum_squares(Before before) {
    const Program& p = t_.program();
    const bool counts = p.mesh.coordinate(t_.rank(), Axis::tensor) == 0;
    work_.zero(t_.norms(), p.unit_count);
    for (int u = 0; u < p.unit_count; ++u) {
      if (p.units[u].role != t_.role()) continue;
      const HeldUnit unit = held_unit(p.units[u]);
      const auto each_other = [&](const float* part, std::int64_t count, auto visit) {
        const std::int64_t from = unit.begin + (part - unit.gradients);
        for (OtherRange range = tracked_.other(from, 0, count); range.elements > 0; range = tracked_.other(from, range.end(), count))
          visit(range.first, range.elements);
      };
      const auto prepare = [&](float* part, std::int64_t count) {
        each_other(part, count, [&](std::int64_t first, std::int64_t of_part) { before(part + first, of_part); });
      };
      if (counts && p.units[u].counts)
        work_.sum_squares(t_.norms() + u, unit.gradients, unit.elements, parts_of_slice(), prepare, each_other);
      else
        prepare(unit.gradients, unit.elements);
    }
    if (!counts) sum_squares_of_parts();
  }
  /// Divides this rank's gradients by the scale of the loss. The flag is 1 if one of them is not finite, else 0.
  void unscale(float scale) {
    const Program& p = t_.program();
    work_.zero(t_.overflow_flag(), 1);
    const auto divide = [&](float* values, std::int64_t elements) { work_.unscale(values, elements, scale, t_.overflow_flag()); };
    if (p.clips) sum_squares(divide);
    for (int b = 0; b < p.bucket_count && !p.clips; ++b)
      if (const FlatBucket& bucket = p.buckets[b]; bucket.role == t_.role())
        for (OtherRange range = trained_from(bucket, 0); range.elements > 0; range = trained_from(bucket, range.end()))
          divide(t_.gradient_slice(bucket) + range.first, range.elements);
  }
  /// The flag is 1 if a loss of this rank is not finite, or their sum, else 0; where no loss is made it is 0.
  void guard() {
    const Program& p = t_.program();
    work_.zero(t_.loss_flag(), 1);
    if (t_.role() == p.loss_role()) work_.guard(t_.losses(0), p.batch.rank_grains(), t_.loss_flag());
  }
  // ---- sums
  /// Of a later micro-batch, to the sum of those before it.
  void add_slice(const Collective& c) {
    const Program& p = t_.program();
    const std::int64_t part = c.elements / p.mesh.size(c.axis);
    work_.add(t_.at(c.target, part), t_.at(c.target, part), t_.at(c.arrived, part), part);
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
      work_.add(to, sum, t_.gradient_of_use(u), t_.slice_elements(b));
      sum = to;
    }
  }
  /// Gaps between the tensors of a ring hold what other units left there; they are reduced and stepped like the rest.
  void zero_gaps(const FlatBucket& b) {
    float* const whole = t_.whole_gradient(b);
    for (std::int64_t end = b.begin; end < b.end();) {
      const ParameterPlace* const next = t_.next_in(b, end);
      const std::int64_t begin = next == nullptr ? b.end() : next->begin;
      work_.zero(whole + (end - b.begin), begin - end);
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
      work_.clip(t_.gradient_slice(b) + range.first, range.elements, factor);
    for (OtherRange range = trained_from(b, 0); range.elements > 0 && p.groups.clips_values; range = trained_from(b, range.end()))
      work_.clip_values(t_.gradient_slice(b) + range.first, t_.parameter_slice(b) + range.first, range.elements, static_cast<float>(input.max_value));
    tracked_.fold(t_.slice_begin(b), all, t_.parameter_slice(b), t_.gradient_slice(b), input.rows,
                  [&](float* values, const float* sums, std::int64_t elements, float momentum, std::int64_t counted) {
                    work_.fold(values, sums, elements, momentum, counted);
                  });
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
  /// What an optimizer steps of this rank's slice: the next elements from number `from` on.
  [[nodiscard]] OtherRange trained_from(const FlatBucket& b, std::int64_t from) const {
    return tracked_.other(t_.slice_begin(b), from, t_.slice_elements(b));
  }
  /// Elements of this rank's slice, with the constants of one group.
  void step_range(const FlatBucket& b, std::int64_t from, std::int64_t to, int group, const StepInput& input) {
    for (OtherRange range = trained_from(b, from); range.first < to && range.elements > 0; range = trained_from(b, range.end())) {
      for (std::size_t s = 0; s < states_.size(); ++s) states_[s] = t_.state_slice(static_cast<int>(s), b) + range.first;
      work_.step(input, group, std::min(range.end(), to) - range.first, t_.parameter_slice(b) + range.first, t_.gradient_slice(b) + range.first,
                 states_.begin());
    }
  }

  /// What this rank has of the gradients of a unit: of 2,048 elements from 4,096 on the second of two slices has 1,024, which begin at 5,120.
  struct HeldUnit {
    float* gradients;
    std::int64_t begin;  // [elements] of the flat buffer
    std::int64_t elements;
  };
  [[nodiscard]] HeldUnit held_unit(const FlatUnit& unit) {
    const Program& p = t_.program();
    if (p.storage.parts == 1) return {t_.level(t_.last_level()) + unit.begin, unit.begin, unit.elements};
    int b = 0;
    while (p.buckets[b].role != t_.role() || p.buckets[b].begin != unit.begin) ++b;  // each unit is a bucket
    const std::int64_t elements = unit.elements / p.storage.parts;
    return {t_.gradient_slice(p.buckets[b]), unit.begin + t_.slice() * elements, elements};
  }
  [[nodiscard]] int parts_of_slice() const { return Layout::unit_parts / t_.program().storage.parts; }

  /// The unit in which a parameter is split that this role trains, -1 for others.
  [[nodiscard]] int unit_of_split(int parameter) const {
    const Program& p = t_.program();
    const ParameterPlace& place = p.parameters[parameter];
    if (place.role != t_.role() || !place.split.sharded() || p.graph->frozen(place.node) || p.graph->nodes[place.node].tied_to >= 0) return -1;
    if (p.graph->leaf(place.node).parameters[place.index].tracked()) return -1;
    int u = 0;
    while (p.units[u].role != t_.role() || place.begin >= p.units[u].end()) ++u;
    return u;
  }
  /// Of split parameters, whole lines: the rest of the last line of each is 0, as in the sum of a unit. Those of one unit are handed over together.
  void sum_squares_of_parts() {
    const int all = t_.program().graph->parameter_count;
    for (int first = 0, end = 0; first < all; first = end) {
      const int u = unit_of_split(first);
      end = first + 1;
      if (u < 0) continue;
      for (int next = u; end < all && (next = unit_of_split(end), next < 0 || next == u);) ++end;
      const HeldUnit unit = held_unit(t_.program().units[u]);
      work_.add_squares(t_.norms() + u, unit.gradients, unit.elements, parts_of_slice(), [&](auto visit) {
        for (int parameter = first; parameter < end; ++parameter)
          if (const HeldPart part = t_.held_gradient(parameter); unit_of_split(parameter) == u && part.elements > 0)
            visit(part.values - unit.gradients, rounded_up(part.elements, SquareLanes::count));
      });
    }
  }

  RankTensors& t_;
  Work& work_;
  Tracked tracked_;
  RowOf<float*> states_;
};

using StepArithmetic = StepArithmeticOf<HostWork>;

}  // namespace heddle::run_room
