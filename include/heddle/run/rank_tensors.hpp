// SPDX-License-Identifier: MIT
// Room: run. Where the tensors of one rank lie: values in pools and scratch, parameters, gradients and states whole or as its slice.
// Sees: plan/program, run/arena.  Does not see: policies, kernels, threads, transports.
// In: a Program and a rank.  Out: pointers into its arena, which nobody here reads or writes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// The part of one tensor that a rank keeps: elements begin .. begin + elements of it. Of 128 elements in 2 slices rank 1 has 64, which begin at 64.
struct HeldPart {
  std::int64_t begin = 0;
  std::int64_t elements = 0;
  float* values = nullptr;
};

/// The memory of one rank, addressed by what the Program calls things. Addresses are computed here; what lies there is the device's business.
/// Grains of 3 rows of 10 features have 30 floats each and lie 32 floats apart.
class RankTensors {
 public:
  RankTensors(const Program& training, Rank rank)
      : RankTensors(training, rank, Arena{training.arenas[training.mesh.coordinate(rank, Axis::stage)].total}) {}
  /// In memory that a device has of its own.
  RankTensors(const Program& training, Rank rank, Arena arena)
      : rank_(rank), role_(training.mesh.coordinate(rank, Axis::stage)),
        slice_(training.storage.parts == 1 ? 0 : training.mesh.coordinate(rank, training.storage.axis)), map_(training.arenas[role_]),
        arena_(std::move(arena)), p_(&training) {}
  RankTensors(const RankTensors&) = delete;
  RankTensors& operator=(const RankTensors&) = delete;

  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] const Arena& arena() const { return arena_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] int role() const { return role_; }
  [[nodiscard]] int slice() const { return slice_; }  ///< among the ranks that slice units
  [[nodiscard]] const ArenaMap& map() const { return map_; }
  /// The Program whose tensors are addressed, and the micro-batch that runs.
  [[nodiscard]] const Program& program() const { return *p_; }
  [[nodiscard]] int micro_batch() const { return micro_batch_; }
  void use(const Program& program) { p_ = &program; }
  void use(int micro_batch) { micro_batch_ = micro_batch; }

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
  /// A region with all of its copies, and what lies between tensors: of gradients in 2 levels both.
  [[nodiscard]] std::span<float> whole_region(RegionKind kind) {
    const std::int64_t floats = map_[kind].bytes() / float_bytes;
    return {arena_.floats(map_[kind].begin, floats), static_cast<std::size_t>(floats)};
  }
  /// What begins at `element` of the flat buffer of this role.
  [[nodiscard]] float* in_region(RegionKind kind, std::int64_t element, std::int64_t elements, int copy = 0) {
    return arena_.floats(map_[kind].at(element, 0, copy), elements);
  }
  /// A bucket that begins at `element` of the flat buffer: whole, or the slice of this rank where the region has slices.
  [[nodiscard]] float* in_region(RegionKind kind, std::int64_t element, const FlatBucket& b, int copy = 0) {
    const Region& region = map_[kind];
    return arena_.floats(region.at(element, b.slot, copy), b.elements / region.parts * bytes_of(region.type) / float_bytes);
  }

  // ---- units: whole, or the slice of this rank
  [[nodiscard]] float* whole_parameters(const FlatBucket& b) {
    if (b.frozen) return in_region(RegionKind::thawed, b.begin, b);
    return p_->storage.parameters ? in_region(RegionKind::gathered, b.begin, b) : in_region(RegionKind::parameters, b.values(), b);
  }
  /// Of a bucket, where a parameter that lies in it begins there.
  [[nodiscard]] float* whole_parameter(const FlatBucket& b, const ParameterPlace& place) {
    const ElementType type = b.frozen ? ElementType::float32 : p_->storage.gathered;
    return reinterpret_cast<float*>(reinterpret_cast<std::byte*>(whole_parameters(b)) + (place.begin - b.begin) * bytes_of(type));
  }
  /// In place of a parameter that another coordinate of axis tensor adds.
  [[nodiscard]] float* zeros(std::int64_t elements = 0) { return arena_.floats(map_[RegionKind::zeros].begin, elements); }
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
  /// One float a unit of the model if the plan clips, then the flags of BeforeStep.
  [[nodiscard]] float* norms() { return arena_.floats(map_[RegionKind::norms].begin, p_->norm_floats()); }
  /// Where this rank's slice begins in the flat buffer.
  [[nodiscard]] std::int64_t slice_begin(const FlatBucket& b) const { return b.begin + (p_->storage.states ? slice_ * slice_elements(b) : 0); }
  [[nodiscard]] float* overflow_flag() { return norms() + p_->before_step().place(Fact::overflow, p_->unit_count); }
  [[nodiscard]] float* loss_flag() { return norms() + p_->before_step().place(Fact::loss, p_->unit_count); }
  /// The losses of the grains of this rank, and behind them their sum.
  [[nodiscard]] float* losses(int grain) { return arena_.floats(map_[RegionKind::losses].begin, p_->batch.rank_grains() + 1) + grain; }
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

 private:
  /// Of a region that has slices of all units, or has them whole.
  [[nodiscard]] HeldPart slice_of(const ParameterPlace& place, RegionKind kind, int copy = 0) {
    const SliceRange range = slice_range(*p_, place, slice_);
    if (range.elements == 0) return {};
    const FlatBucket& b = p_->buckets[range.bucket];
    float* const there = in_region(kind, b.begin, b, copy);
    return {range.begin, range.elements, (map_[kind].parts > 1 ? there : there + slice_ * slice_elements(b)) + range.at};
  }

  Rank rank_;
  int role_;
  int slice_;
  ArenaMap map_;
  Arena arena_;
  const Program* p_;
  int micro_batch_ = 0;
};

}  // namespace heddle::run_room
