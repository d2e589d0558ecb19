// SPDX-License-Identifier: MIT
// Room: plan. The table of collectives says of each what follows from the line or entry that starts it: the other checks read lines alone.
// Sees: plan/program, plan/check/noted.  Does not see: lowering, policies by name, processes, threads.
// In: a Program.  Out: ok, or S18 with what is noted and what follows.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/noted.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What a collective is, as it follows from an operation, a bucket or an entry, an axis, and what slices units. S18 and S19 have compared all that it
/// reads. The reduction of a bucket of 1,024 elements along the axis that slices it is a reduce-scatter, along another an all-reduce of a slice.
struct FollowingCollective {
  const Program& p;

  [[nodiscard]] constexpr Collective of(const Instruction& line) const {
    return line.bucket < 0 ? of_ranks(line) : of_bucket(line.bucket, line.axis, line.op >= ListOp::gather_start);
  }
  [[nodiscard]] constexpr Collective of(const Entry& entry) const {
    const bool gathers = entry.what == BodyOp::gather_start || entry.what == BodyOp::gather_wait;
    if (!converts(entry.what) && entry.what != BodyOp::reduce_parameter && entry.what != BodyOp::reduce_phase)
      return of_bucket(entry.bucket, entry.axis, gathers);
    Collective c;
    c.axis = entry.axis;
    if (entry.what == BodyOp::reduce_parameter) return of_parameter(entry, c);
    if (entry.what == BodyOp::reduce_phase) {
      c.purpose = Purpose::phase;
      c.order = order_of_sums(p, c.purpose);
      c.source = c.target = of_place(entry.d);
      c.elements = c.payload = entry.features;
      return c;
    }
    c.purpose = Purpose::value;
    if (entry.what != BodyOp::gather_value) c.order = order_of_sums(p, c.purpose);
    c.type = entry.type;  // S17 compares it with what lies there
    c.payload = p.batch.micro_rows * entry.features;
    c.source = of_place(entry.what == BodyOp::gather_value ? entry.a : entry.b);
    c.target = of_place(entry.what == BodyOp::gather_value ? entry.b : entry.d);
    if (entry.what == BodyOp::reduce_value) {
      c.source = c.target;
      c.elements = p.grain_elements(entry.features, entry.type) * grains_of(p.batch);
      return c;
    }
    const int ranks = p.mesh.size(entry.axis);
    c.kind = entry.what == BodyOp::gather_value ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter;
    c.elements = ranks * p.grain_elements(entry.features / ranks, entry.type) * grains_of(p.batch);
    return c;
  }

 private:
  [[nodiscard]] static constexpr Address of_place(const Place& place) {
    return {.region = place.pool < 0 ? RegionKind::scratch : RegionKind::pools, .pool = place.pool, .begin = place.offset / float_bytes};
  }
  /// What begins at `element` of the flat buffer, or the bucket itself in its slot of a ring.
  [[nodiscard]] static constexpr Address within(RegionKind kind, const FlatBucket& b, bool ring, std::int64_t element, int copy) {
    return {.region = kind, .copy = static_cast<std::int16_t>(ring ? b.slot : copy), .begin = ring ? 0 : element};
  }
  [[nodiscard]] constexpr Address own_slice_in(Address whole, std::int64_t elements) const {
    if (slices_of(p.storage, p.storage.states) == 1) return whole;
    whole.along = p.storage.axis;
    whole.stride = elements / slices_of(p.storage, p.storage.states);
    return whole;
  }
  [[nodiscard]] constexpr Collective of_parameter(const Entry& entry, Collective c) const {
    const ParameterPlace& place = p.parameters[p.graph->nodes[entry.node].first_parameter + entry.bucket];
    c.purpose = Purpose::parameter_term;
    c.order = order_of_sums(p, c.purpose);
    c.elements = c.payload = place.elements;
    if (slices_of(p.storage, p.storage.gradients) > 1) {
      const FlatBucket& unit = p.buckets[p.bucket_of_node[entry.node]];
      c.target = within(RegionKind::fresh, unit, true, 0, 0);
      c.target.begin = place.begin - unit.begin;
    } else {
      c.target = {.region = RegionKind::gradients, .copy = static_cast<std::int16_t>(gradient_copies(p.batch) - 1), .begin = place.begin};
    }
    c.source = c.target;
    return c;
  }
  /// What says that it is the loss is where a report reads the loss, and all else is the norm: whether that is what is due, S17 says.
  [[nodiscard]] constexpr Collective of_ranks(const Instruction& line) const {
    const bool loss = p.moves(line, Purpose::loss);
    Collective c;
    c.axis = line.axis;
    c.purpose = loss ? Purpose::loss : Purpose::norm;
    c.order = order_of_sums(p, c.purpose);
    c.source.region = c.target.region = loss ? RegionKind::losses : RegionKind::norms;
    const FloatsToTell told = told_along(p, line.axis);
    c.source.begin = c.target.begin = loss ? grains_of_step(p.batch) : told.begin;  // behind the terms of the grains
    c.elements = c.payload = loss ? 1 : told.count;
    return c;
  }
  [[nodiscard]] constexpr Collective of_bucket(int bucket, Axis axis, bool gathers) const {
    Collective c;
    c.axis = axis;
    const FlatBucket& b = p.buckets[bucket];
    const Storage& kept = p.storage;
    c.elements = b.elements;
    c.payload = b.payload;
    const bool sliced = kept.parts > 1 && axis == kept.axis;
    if (gathers) {
      c.kind = CollectiveKind::all_gather;
      c.purpose = Purpose::parameters;
      const Address here = within(b.frozen ? RegionKind::frozen : RegionKind::parameters, b, false, begin_of_values(b), 0);
      c.source = kept.parameters ? here : own_slice_in(here, b.elements);
      c.target = kept.parameters ? within(b.frozen ? RegionKind::thawed : RegionKind::gathered, b, !kept.keeps, b.begin, 0) : here;
      if (b.frozen || kept.gathered == ElementType::float32) return c;
      c.type = kept.gathered;
      c.source = c.target;
      c.source.along = kept.axis;
      c.source.stride = b.elements / kept.parts;
      return c;
    }
    c.order = order_of_sums(p, c.purpose);
    const int last = kept.gradients ? 0 : gradient_copies(p.batch) - 1;
    const Address here = within(RegionKind::gradients, b, false, b.begin, last);
    c.target = kept.gradients ? here : own_slice_in(here, b.elements);
    if (!sliced) {
      c.source = c.target;
      c.slices = static_cast<std::int16_t>(kept.state_parts());
      c.elements /= kept.state_parts();
      return c;
    }
    c.kind = CollectiveKind::reduce_scatter;
    c.source = kept.gradients ? within(RegionKind::fresh, b, true, 0, 0) : here;
    c.accumulates = kept.adds_slices;
    if (kept.adds_slices) c.arrived = within(RegionKind::arrived, b, true, 0, 0);
    return c;
  }
};

/// S18 of collectives: what is noted beside each line and entry that starts, awaits or adds one. A WAIT names the collective of its START.
/// `started`: by bucket its reduction and its gather, zeroed; the number of a collective, from 1 on.
///
/// Tested  plan/check/collectives_test, mutants.table
template <class Started> struct CollectiveCheck {
  const Program& p;
  Started started;
  Diagnosis fault{};
  FollowingCollective following{p};

  constexpr void run(const int* after, int first_closing) {
    for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
      for (int c = 0; c < p.chunks; ++c)
        for (int e = bodies[c].begin, end = bodies[c].end; e < end && fault.code.letter == '-'; ++e)
          if (p.entries[e].what >= BodyOp::reduce_start) entry(p.entries[e]);
    for (int i = first_closing; i > 0 && fault.ok(); i = after[i - 1]) line(p.instructions[i - 1]);
  }

 private:
  constexpr void line(const Instruction& line) {
    const bool reduces = line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait;
    const bool gathers = line.op == ListOp::gather_start || line.op == ListOp::gather_wait;
    if (!reduces && !gathers) return;
    if (line.bucket < 0) return is_there(line.collective) ? compare(line.collective, following.of(line)) : void();
    of_bucket(line, gathers, line.op == ListOp::reduce_wait || line.op == ListOp::gather_wait);
  }
  constexpr void entry(const Entry& entry) {
    const BodyOp what = entry.what;
    if (what == BodyOp::slice_value || what == BodyOp::loss_terms || what == BodyOp::zero_gaps || what == BodyOp::sum_grains) return;
    if (what > BodyOp::gather_wait && what != BodyOp::add_slice) return compare(entry.collective, following.of(entry));
    const bool starts = what == BodyOp::reduce_start || what == BodyOp::gather_start;
    of_bucket(entry, what == BodyOp::gather_start || what == BodyOp::gather_wait, !starts);
  }
  /// What follows of a bucket along an axis is the same wherever it is started: it is compared once.
  template <class Line> constexpr void of_bucket(const Line& line, bool gathers, bool waits) {
    int& begun = started[2 * line.bucket + (gathers ? 1 : 0)];
    const int number = line.collective;
    if (begun == number + 1 && p.collectives[number].axis == line.axis) return;
    compare(number, following.of(line));
    if (fault.ok() && waits) fault = noted_otherwise<std::int64_t>("the collective that is waited for", "", number, begun - 1);
    begun = number + 1;
  }
  constexpr bool is_there(int number) {
    if (number >= 0 && number < p.collective_count) return true;
    fault = noted_otherwise<std::int64_t>("the number of collectives", "", p.collective_count, number + 1);
    return false;
  }
  constexpr void compare(int number, const Collective& follows) {
    if (!is_there(number)) return;
    const Collective& is = p.collectives[number];
    if (is == follows) return;  // numbers are looked at where one differs
    const NotedNumber numbers[] = {{"the kind of a collective", static_cast<int>(is.kind), static_cast<int>(follows.kind)},
                                   {"the purpose of a collective", static_cast<int>(is.purpose), static_cast<int>(follows.purpose)},
                                   {"the axis of a collective", static_cast<int>(is.axis), static_cast<int>(follows.axis)},
                                   {"the order of a sum over ranks", static_cast<int>(is.order), static_cast<int>(follows.order)},
                                   {"the element type of a collective", static_cast<int>(is.type), static_cast<int>(follows.type)},
                                   {"whether a collective is added to what came before", is.accumulates, follows.accumulates},
                                   {"the number of slices of a collective", is.slices, follows.slices},
                                   {"the number of elements of a collective", is.elements, follows.elements},
                                   {"the payload of a collective", is.payload, follows.payload}};
    if (fault = differs(numbers); !fault.ok()) return;
    if (fault = ends("the source of a collective: ", is.source, follows.source); !fault.ok()) return;
    if (fault = ends("the target of a collective: ", is.target, follows.target); !fault.ok()) return;
    fault = ends("where a collective of later micro-batches arrives: ", is.arrived, follows.arrived);
  }
  [[nodiscard]] static constexpr Diagnosis ends(std::string_view end, const Address& is, const Address& follows) {
    if (is.region != follows.region) return number(end, "its region", static_cast<int>(is.region), static_cast<int>(follows.region));
    if (is.along != follows.along) return number(end, "its axis", static_cast<int>(is.along), static_cast<int>(follows.along));
    if (is.pool != follows.pool) return number(end, "its pool", is.pool, follows.pool);
    if (is.copy != follows.copy) return number(end, "its copy", is.copy, follows.copy);
    if (is.begin != follows.begin) return number(end, "its first element", is.begin, follows.begin);
    return is.stride == follows.stride ? Diagnosis{} : number(end, "its stride", is.stride, follows.stride);
  }
  [[nodiscard]] static constexpr Diagnosis number(std::string_view end, std::string_view what, std::int64_t is, std::int64_t follows) {
    return noted_otherwise(end, what, is, follows);
  }
};
template <class Started> CollectiveCheck(const Program&, Started) -> CollectiveCheck<Started>;

}  // namespace heddle::plan_room
