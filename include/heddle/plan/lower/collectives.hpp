// SPDX-License-Identifier: MIT
// Room: plan. The table of collectives: those of buckets, of the loss and of the norm in front, those of values as bodies are written.
// Sees: policy answers, plan/program.  Does not see: instructions, entries, processes, threads.
// In: Layout, Storage, buckets.  Out: the number of each collective, and what it moves from where to where.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Buckets of all roles, behind them those that are not trained, where these are sliced: 2 stages of one Linear each have 2 and none.
struct CutBuckets {
  const FlatBucket* list = nullptr;
  int count = 0;
  int frozen = 0;
};

/// The axes along which ranks hold different parameters and gradients: a sum of squares and a flag are partial along these and no others.
[[nodiscard]] constexpr bool reduces_norm_along(Axis a, const Mesh& mesh, const Storage& storage) {
  if (mesh.size(a) == 1) return false;
  return a == Axis::stage || a == Axis::tensor || (a == storage.axis && storage.parts > 1);
}
inline constexpr Axis norm_axes[] = {Axis::data, Axis::shard, Axis::tensor, Axis::stage};

/// The axes along which ranks find a fact different: one of gradients where they hold different ones; one of the loss where they have other rows, and
/// between stages, of which one has the loss.
[[nodiscard]] constexpr bool differs_along(Axis a, Fact fact, const Layout& layout, const Storage& storage) {
  if (!BeforeStep::row(fact).of_loss) return reduces_norm_along(a, layout.mesh, storage);
  return layout.mesh.size(a) > 1 && (a == Axis::stage || layout.batch_split[static_cast<int>(a)]);
}

/// What ranks tell each other along an axis before a step: of Sharded<2> that clips 3 units and is guarded {0, 4} along axis shard, of
/// DataParallel<2> {3, 1} along axis data. Facts that differ along an axis lie side by side.
struct ToldAlong {
  int begin = 0;  // [floats], in the room of norms
  int count = 0;

  constexpr ToldAlong(Axis a, const BeforeStep& before, int units, const Layout& layout, const Storage& storage) {
    for (int f = 0; f < fact_count; ++f) {
      const Fact fact = static_cast<Fact>(f);
      if (!before.has(fact) || !differs_along(a, fact, layout, storage)) continue;
      if (count == 0) begin = before.place(fact, units);
      count += before.floats(fact, units);
    }
  }
};

/// Which collective has which number. Bucket by bucket come the reductions along the axes that split the batch and a gather, then the loss along the
/// same axes, the norm, and gathers of what is not trained. With two such axes and slices bucket 1 has the reductions 3 and 4 and the gather 5.
struct CollectiveNumbers {
  int along[axis_count]{};             ///< by axis: which of the reductions of a bucket, and of the loss
  int norm_along[axis_count]{};        ///< by axis: which of the norm
  int reductions = 0;                  ///< of the loss, and in training of a bucket
  int each = 0;                        ///< of a bucket
  int loss = 0, norm = 0, frozen = 0;  ///< the first of each
  int bucket_count = 0;
  int count = 0;
  bool all_gathered = true;             ///< false: of `buckets` those that are not stepped have no gather
  const FlatBucket* buckets = nullptr;  ///< g++ takes no comparison of it with null for a constant under -fsanitize=undefined

  constexpr CollectiveNumbers() = default;
  constexpr CollectiveNumbers(const Layout& layout, const Storage& storage, const CutBuckets& cut, bool training, const BeforeStep& before)
      : bucket_count(cut.count) {
    for (const Axis a : batch_axes)
      if (layout.batch_split[static_cast<int>(a)] && layout.mesh.size(a) > 1) along[static_cast<int>(a)] = reductions++;
    each = (training ? reductions : 0) + ((training ? storage.gathers_after_step() : false) || storage.parameters ? 1 : 0);
    for (int b = 0; b < bucket_count && training && storage.gathers_after_step(); ++b)
      if (!cut.list[b].steps()) buckets = cut.list, all_gathered = false;
    loss = first_of(bucket_count);
    norm = frozen = loss + reductions;
    for (const Axis a : norm_axes)
      if (training && ToldAlong{a, before, 1, layout, storage}.count > 0) norm_along[static_cast<int>(a)] = frozen++ - norm;
    count = frozen + (storage.parameters ? cut.frozen : 0);
  }
  [[nodiscard]] constexpr int first_of(int bucket) const {
    int first = bucket * each;
    for (int b = 0; b < bucket && !all_gathered; ++b) first -= buckets[b].steps() ? 0 : 1;
    return first;
  }
  [[nodiscard]] constexpr std::int16_t reduction(int bucket, Axis a) const {
    return static_cast<std::int16_t>(first_of(bucket) + along[static_cast<int>(a)]);
  }
  [[nodiscard]] constexpr std::int16_t of_loss(Axis a) const { return static_cast<std::int16_t>(loss + along[static_cast<int>(a)]); }
  [[nodiscard]] constexpr std::int16_t of_norm(Axis a) const { return static_cast<std::int16_t>(norm + norm_along[static_cast<int>(a)]); }
  [[nodiscard]] constexpr std::int16_t gather(int bucket) const {
    return static_cast<std::int16_t>(bucket < bucket_count ? first_of(bucket) + each - 1 : frozen + bucket - bucket_count);
  }
};

/// Sums over ranks go on where those over grains end: a batch whose grains are added along the fixed tree asks the same of ranks. So do outputs,
/// which have the same bits in every layout of one split, whatever the batch. What several groups of ranks hold alike stays alike only along one
/// tree: norms, losses, what layers tell between phases, and gradients of what the ranks of axis tensor have whole.
[[nodiscard]] constexpr SumOrder order_of(Purpose sum, const BatchDivision& batch, const Mesh& mesh, bool training) {
  const bool alike =
      sum == Purpose::norm || sum == Purpose::loss || sum == Purpose::phase || (sum == Purpose::gradient && mesh.size(Axis::tensor) > 1);
  return batch.tree || !training || alike ? SumOrder::tree : SumOrder::any;
}

/// Writes what stands in front of the collectives of values.
/// Linear<16, 16> in 2 slices has a reduce-scatter of 1,024 elements and a gather of as many, each rank with 512 of them.
///
/// Tested  plan/lower/collectives_test
struct UnitCollectives {
  const Layout& layout;
  const BatchDivision& batch;
  const Storage& storage;
  CutBuckets buckets;
  BeforeStep before;
  int units;
  bool training;
  int last_level = batch.levels() - 1;

  constexpr void write(const CollectiveNumbers& numbers, List<Collective>& out) const {
    const bool gathers = numbers.each > (training ? numbers.reductions : 0);
    for (int b = 0; b < buckets.count && numbers.each > 0; ++b) {
      for (const Axis a : batch_axes)
        if (training && splits(a)) gradient(buckets.list[b], a, out.append());
      if (gathers && (storage.parameters || buckets.list[b].steps())) parameters(buckets.list[b], out.append());
    }
    for (const Axis a : batch_axes)
      if (splits(a)) whole(Purpose::loss, a, RegionKind::losses, batch.rank_grains(), 1, out.append());
    for (const Axis a : norm_axes)
      if (const ToldAlong told{a, before, units, layout, storage}; out.count < numbers.frozen && told.count > 0)
        whole(Purpose::norm, a, RegionKind::norms, told.begin, told.count, out.append());
    for (int b = 0; b < numbers.count - numbers.frozen; ++b) parameters(buckets.list[buckets.count + b], out.append());
  }

 private:
  [[nodiscard]] constexpr bool splits(Axis a) const { return layout.batch_split[static_cast<int>(a)] && layout.mesh.size(a) > 1; }
  constexpr void whole(Purpose purpose, Axis a, RegionKind region, std::int64_t begin, std::int64_t elements, Collective& c) const {
    c.purpose = purpose;
    c.axis = a;
    c.order = order_of(purpose, batch, layout.mesh, training);
    c.target.region = region;
    c.target.begin = begin;
    c.source = c.target;
    c.elements = c.payload = elements;
  }
  /// The slice of a rank lies by itself, or in the whole at the place of its coordinate.
  constexpr void slice(RegionKind region, int copy, std::int64_t begin, bool apart, std::int64_t elements, Address& to) const {
    to.region = region;
    to.copy = static_cast<std::int16_t>(copy);
    to.begin = begin;
    if (apart || !storage.states) return;
    to.along = storage.axis;
    to.stride = elements / storage.parts;
  }
  constexpr void in_ring(RegionKind region, const FlatBucket& b, Address& to) const {
    to.region = region;
    to.copy = b.slot;
  }
  /// Along the axis that slices units a whole is reduced to slices, along another one slices are reduced.
  constexpr void gradient(const FlatBucket& b, Axis a, Collective& c) const {
    c.axis = a;
    c.order = order_of(c.purpose, batch, layout.mesh, training);
    c.payload = b.payload;
    slice(RegionKind::gradients, storage.gradients ? 0 : last_level, b.begin, storage.gradients, b.elements, c.target);
    if (storage.parts == 1 || a != storage.axis) {
      c.source = c.target;
      c.slices = static_cast<std::int16_t>(storage.state_parts());
      c.elements = b.elements / storage.state_parts();
      return;
    }
    c.kind = CollectiveKind::reduce_scatter;
    c.elements = b.elements;
    if (!storage.gradients) {
      slice(RegionKind::gradients, last_level, b.begin, true, b.elements, c.source);
      return;
    }
    in_ring(RegionKind::fresh, b, c.source);
    c.accumulates = storage.adds_slices;
    if (c.accumulates) in_ring(RegionKind::arrived, b, c.arrived);
  }
  constexpr void parameters(const FlatBucket& b, Collective& c) const {
    c.kind = CollectiveKind::all_gather;
    c.purpose = Purpose::parameters;
    c.axis = storage.axis;
    c.elements = b.elements;
    c.payload = b.payload;
    const RegionKind whole = b.frozen ? RegionKind::thawed : RegionKind::gathered;
    slice(b.frozen ? RegionKind::frozen : RegionKind::parameters, 0, b.values(), storage.parameters, b.elements, c.source);
    if (storage.parameters && !storage.keeps) {
      in_ring(whole, b, c.target);
    } else {
      c.target.region = storage.parameters ? whole : RegionKind::parameters;
      c.target.begin = storage.parameters ? b.begin : b.values();
    }
    if (b.frozen || storage.gathered == ElementType::float32) return;
    c.type = storage.gathered;  // a rank rounds its slice to where it has its place in the whole
    c.source = c.target;
    c.source.along = storage.axis;
    c.source.stride = b.elements / storage.parts;
  }
};

/// Of a value: where an entry has it.
[[nodiscard]] constexpr Address address_of(const Place& place) {
  Address to;
  to.region = place.pool == Place::scratch ? RegionKind::scratch : RegionKind::pools;
  to.pool = place.pool;
  to.begin = place.offset / float_bytes;
  return to;
}

}  // namespace heddle::plan_room
