// SPDX-License-Identifier: MIT
// Room: run. Where the tensors of one rank lie: values in pools and scratch, parameters, gradients and states whole or as its slice.
// Sees: plan/program, run/arena.  Does not see: policies, kernels, threads, transports.
// In: a Program and a rank.  Out: pointers into its arena.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/arithmetic.hpp"
#include "heddle/run/square_sum.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/tracked.hpp"

namespace heddle::run_room {

/// The part of one tensor that a rank keeps: elements begin .. begin + elements of it. Of 128 elements in 2 slices rank 1 has 64, which begin at 64.
struct HeldPart {
  std::int64_t begin = 0;
  std::int64_t elements = 0;
  float* values = nullptr;
};

/// The arena of one rank, addressed by what the Program calls things. Grains of 3 rows of 10 features have 30 floats each and lie 32 floats apart.
class RankTensors {
 public:
  RankTensors(const Program& training, Rank rank, const Arithmetic& arithmetic = arithmetic_in<FloatArithmetic>)
      : rank_(rank), role_(training.mesh.coordinate(rank, Axis::stage)),
        slice_(training.storage.parts == 1 ? 0 : training.mesh.coordinate(rank, training.storage.axis)), map_(training.arenas[role_]),
        arena_(map_.total), p_(&training), arithmetic_(arithmetic), tracked_(training, role_) {}

  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int role() const { return role_; }
  /// What this rank keeps of a parameter.
  [[nodiscard]] HeldPart held_parameter(int parameter) {
    ParameterPlace place = p_->parameters[parameter];
    const RegionKind kind = p_->graph->frozen(place.node) ? RegionKind::frozen : RegionKind::parameters;
    place.begin = place.values();
    if (p_->storage.parameters) return slice_of(place, kind);
    return {0, place.elements, in_region(kind, place.begin, place.elements)};
  }
  /// What this rank has of the gradient of a parameter after a step: nothing of a frozen one.
  [[nodiscard]] HeldPart held_gradient(int parameter) {
    const ParameterPlace& place = p_->parameters[parameter];
    if (p_->graph->frozen(place.node)) return {};
    if (p_->storage.states) return slice_of(place, RegionKind::gradients, last_level());
    return {0, place.elements, in_region(RegionKind::gradients, place.begin, place.elements, last_level())};
  }

 protected:
  // ---- addresses
  [[nodiscard]] float* at(const Place& place, std::int64_t elements) {
    if (place.pool == Place::scratch) return arena_.floats(map_[RegionKind::scratch].begin + place.offset, elements);
    const Pool& pool = p_->pools[place.pool];
    return arena_.floats(pool.base + p_->slot(place.pool, micro_batch_) * pool.slot_bytes + place.offset, elements);
  }
  /// One end of a collective.
  [[nodiscard]] float* at(const Address& end, std::int64_t elements) {
    const std::int64_t begin = end.begin + (end.stride > 0 ? p_->mesh.coordinate(rank_, end.along) * end.stride : 0);
    if (end.pool >= 0) return at(Place{end.pool, float_bytes * begin}, elements);
    return arena_.floats(map_[end.region].in_copy(end.copy, begin), elements);
  }
  [[nodiscard]] float* whole(const Place& place, const Entry& entry) { return at(place, stride(entry.features, entry.type) * grains()); }
  /// Elements of another type lie where floats would, in whole lines.
  [[nodiscard]] float* at_grain(const Place& place, std::int64_t features, int grain, ElementType type = ElementType::float32) {
    return place.set() ? at(place, stride(features, type) * grains()) + grain * stride(features, type) : nullptr;
  }
  [[nodiscard]] std::int64_t stride(std::int64_t features, ElementType type = ElementType::float32) const { return p_->grain_stride(features, type); }
  [[nodiscard]] int grains() const { return p_->batch.grains(); }
  [[nodiscard]] int last_level() const { return p_->batch.levels() - 1; }
  [[nodiscard]] float* level(int number) { return in_region(RegionKind::gradients, 0, map_[RegionKind::gradients].slot_bytes / float_bytes, number); }
  /// What begins at `element` of the flat buffer of this role.
  [[nodiscard]] float* in_region(RegionKind kind, std::int64_t element, std::int64_t elements, int copy = 0) {
    return arena_.floats(map_[kind].at(element, 0, copy), elements);
  }
  /// A bucket that begins at `element` of the flat buffer: whole, or the slice of this rank where the region has slices.
  [[nodiscard]] float* in_region(RegionKind kind, std::int64_t element, const FlatBucket& b, int copy = 0) {
    const Region& region = map_[kind];
    return arena_.floats(region.at(element, b.slot, copy), b.elements / region.parts);
  }

  // ---- units: whole, or the slice of this rank
  [[nodiscard]] float* whole_parameters(const FlatBucket& b) {
    if (b.frozen) return in_region(RegionKind::thawed, b.begin, b);
    return p_->storage.parameters ? in_region(RegionKind::gathered, b.begin, b) : in_region(RegionKind::parameters, b.values(), b);
  }
  [[nodiscard]] float* whole_gradient(const FlatBucket& b) {
    return p_->storage.gradients ? in_region(RegionKind::fresh, b.begin, b) : in_region(RegionKind::gradients, b.begin, b, last_level());
  }
  [[nodiscard]] std::int64_t slice_elements(const FlatBucket& b) const { return b.elements / p_->storage.state_parts(); }
  [[nodiscard]] float* parameter_slice(const FlatBucket& b) {
    if (p_->storage.parameters) return in_region(b.frozen ? RegionKind::frozen : RegionKind::parameters, b.values(), b);
    return whole_parameters(b) + slice_ * slice_elements(b);
  }
  [[nodiscard]] float* gradient_slice(const FlatBucket& b) {
    if (p_->storage.gradients) return in_region(RegionKind::gradients, b.begin, b);
    return whole_gradient(b) + slice_ * slice_elements(b);
  }
  [[nodiscard]] float* state_slice(int number, const FlatBucket& b) { return in_region(RegionKind::states, b.begin, b, number); }
  // ---- tied parameters
  /// The gradient slice of one use: of this role, or as it arrived from another.
  [[nodiscard]] float* gradient_of_use(int use) {
    const FlatBucket& b = p_->buckets[p_->uses[use].bucket];
    if (p_->uses[use].role == role_) return gradient_slice(b);
    int t = p_->transfer_count - 1;
    while (p_->transfers[t].use != use || p_->transfers[t].to_role != role_) --t;
    return tie_room(p_->transfers[t]);
  }
  [[nodiscard]] float* tie_room(const Transfer& t) { return arena_.floats(map_[RegionKind::ties].begin + t.target.offset, t.elements); }
  /// One float a unit of the model if the plan clips, then the flag if it scales its loss.
  [[nodiscard]] float* norms() { return arena_.floats(map_[RegionKind::norms].begin, p_->norm_floats()); }
  /// Squares of what this rank has of each unit; nothing of the units of other roles. Parameters that every coordinate of axis tensor holds
  /// whole are counted on the first. `before(values, elements)` is called with every part before its squares are taken.
  template <class Before> void sum_squares(Before before) {
    const bool counts = p_->mesh.coordinate(rank_, Axis::tensor) == 0;
    for (int u = 0; u < p_->unit_count; ++u) {
      const FlatUnit& unit = p_->units[u];
      norms()[u] = 0;
      if (unit.role != role_) continue;
      float* values = level(last_level()) + unit.begin;
      if (p_->storage.parts > 1) {
        int b = 0;
        while (p_->buckets[b].role != role_ || p_->buckets[b].begin != unit.begin) ++b;  // each unit is a bucket
        values = gradient_slice(p_->buckets[b]);
      }
      const std::int64_t elements = unit.elements / p_->storage.parts;
      const std::int64_t begin = unit.begin + (p_->storage.parts > 1 ? slice_ * elements : 0);
      const auto squares = [&](const float* part, std::int64_t count) {
        const std::int64_t from = begin + (part - values);
        OtherRange range = tracked_.other(from, 0, count);
        float sum = range.elements > 0 ? arithmetic_.square_sum(part + range.first, range.elements) : 0;
        while ((range = tracked_.other(from, range.end(), count)).elements > 0)
          sum = arithmetic_.plus(sum, arithmetic_.square_sum(part + range.first, range.elements));
        return sum;
      };
      const auto prepare = [&](float* part, std::int64_t count) {
        const std::int64_t from = begin + (part - values);
        for (OtherRange range = tracked_.other(from, 0, count); range.elements > 0; range = tracked_.other(from, range.end(), count))
          before(part + range.first, range.elements);
      };
      if (counts && unit.counts)
        norms()[u] = square_sum(values, elements, Layout::unit_parts / p_->storage.parts, prepare, squares, arithmetic_.plus);
      else
        prepare(values, elements);
    }
    if (!counts) sum_squares_of_parts();
  }
  /// Divides this rank's gradients by the scale of the loss. The flag is 1 if one of them is not finite, else 0.
  void unscale(float scale) {
    const auto inverse = static_cast<float>(1 / static_cast<double>(scale));
    bool finite = true;
    const auto divide = [&](float* values, std::int64_t elements) { finite = arithmetic_.multiply(values, elements, inverse) && finite; };
    if (p_->clips) sum_squares(divide);
    for (int b = 0; b < p_->bucket_count && !p_->clips; ++b)
      if (const FlatBucket& bucket = p_->buckets[b]; bucket.role == role_)
        for (OtherRange range = trained_from(bucket, 0); range.elements > 0; range = trained_from(bucket, range.end()))
          divide(gradient_slice(bucket) + range.first, range.elements);
    overflow_flag() = finite ? 0.0F : 1.0F;
  }
  /// What an optimizer steps of this rank's slice: the next elements from number `from` on.
  [[nodiscard]] OtherRange trained_from(const FlatBucket& b, std::int64_t from) const {
    return tracked_.other(slice_begin(b), from, slice_elements(b));
  }
  /// Where this rank's slice begins in the flat buffer.
  [[nodiscard]] std::int64_t slice_begin(const FlatBucket& b) const { return b.begin + (p_->storage.states ? slice_ * slice_elements(b) : 0); }
  [[nodiscard]] float& overflow_flag() { return norms()[p_->norm_floats() - 1]; }
  /// Of split parameters, whole lines: the rest of the last line of each is 0, as in the sum of a unit.
  void sum_squares_of_parts() {
    for (int parameter = 0; parameter < p_->graph->parameter_count; ++parameter) {
      const ParameterPlace& place = p_->parameters[parameter];
      if (place.role != role_ || !place.split.sharded() || p_->graph->frozen(place.node) || p_->graph->nodes[place.node].tied_to >= 0) continue;
      if (p_->graph->leaf(place.node).parameters[place.index].tracked()) continue;
      const HeldPart part = held_gradient(parameter);
      int u = 0;
      while (p_->units[u].role != role_ || place.begin >= p_->units[u].end()) ++u;
      norms()[u] = arithmetic_.plus(norms()[u], arithmetic_.square_sum(part.values, rounded_up(part.elements, SquareLanes::count)));
    }
  }
  /// Gaps between the tensors of a ring hold what other units left there; they are reduced and stepped like the rest.
  void zero_gaps(const FlatBucket& b) {
    float* const whole = whole_gradient(b);
    for (std::int64_t end = b.begin; end < b.end();) {
      const ParameterPlace* const next = next_in(b, end);
      const std::int64_t begin = next == nullptr ? b.end() : next->begin;
      std::fill(whole + (end - b.begin), whole + (begin - b.begin), 0.0F);
      end = next == nullptr ? begin : begin + next->elements;
    }
  }
  /// The parameter of a bucket that lies first from element `from` of the flat buffer on; null if none does.
  [[nodiscard]] const ParameterPlace* next_in(const FlatBucket& b, std::int64_t from) const {
    const ParameterPlace* next = nullptr;
    for (int n = b.lowest_node; n <= b.highest_node; ++n)
      for (int k = 0; k < p_->graph->nodes[n].trained_count(); ++k) {
        const ParameterPlace& place = p_->parameters[p_->graph->nodes[n].first_parameter + k];
        if (place.begin < from || (next != nullptr && next->begin < place.begin)) continue;
        next = &place;
        if (!p_->groups.any()) return next;  // parameters lie in the order of the model
      }
    return next;
  }

  /// Where a grain's gradient of a parameter is written: into a level of the counter, or into the ring.
  [[nodiscard]] float* gradient_of(const ParameterPlace& place, int counted) {
    if (!p_->storage.gradients) return level(counted) + place.begin;
    const FlatBucket& unit = p_->buckets[p_->bucket_of_node[place.node]];
    return whole_gradient(unit) + (place.begin - unit.begin);
  }

  Rank rank_;
  int role_;
  int slice_;  // among the ranks that slice units
  ArenaMap map_;
  Arena arena_;
  const Program* p_;
  Arithmetic arithmetic_;
  Tracked tracked_;
  int micro_batch_ = 0;

 private:
  /// Of a region that has slices of all units, or has them whole.
  [[nodiscard]] HeldPart slice_of(const ParameterPlace& place, RegionKind kind, int copy = 0) {
    const SliceRange range = slice_range(*p_, place, slice_);
    if (range.elements == 0) return {};
    const FlatBucket& b = p_->buckets[range.bucket];
    float* const there = in_region(kind, b.begin, b, copy);
    return {range.begin, range.elements, (map_[kind].parts > 1 ? there : there + slice_ * slice_elements(b)) + range.at};
  }
};

}  // namespace heddle::run_room
