// SPDX-License-Identifier: MIT
// Room: plan. Flat buffers: each parameter has its place and its size, in one bucket, one unit and, if it is shared, one use.
// Sees: plan/check/noted, plan/program.  Does not see: lowering, policies by name, processes, threads.
// In: a Program and what it was made from.  Out: ok, S18 with what is noted and what follows, or S19 with what overlaps.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/noted.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// "level 2 of device 0", "the scratch of device 0": words that end with a space are followed by a number.
[[nodiscard]] constexpr Diagnosis misplaced(std::string_view what, std::int64_t number, int role) {
  Diagnosis found{Code{'S', 19}, what};
  if (what.back() == ' ') found << number;
  return found << " of device " << role;
}
/// S19: "unit 2 of device 0 begins at byte 64, but what lies before it ends at byte 128".
[[nodiscard]] constexpr Diagnosis overlaps(std::string_view what, std::int64_t number, int role, std::int64_t begin, std::int64_t free) {
  return misplaced(what, number, role) << " begins at byte " << begin << ", but what lies before it ends at byte " << free
                                       << ". Fix: begin each thing at a line of 64 bytes behind the last.";
}
[[nodiscard]] constexpr Diagnosis ends_outside(std::string_view what, std::int64_t number, int role, std::int64_t end, std::int64_t room) {
  return misplaced(what, number, role) << " ends at byte " << end << ", but there are " << room << " bytes for it. Fix: make room for all of it.";
}

/// Walks the model once. Parameters of a device lie one behind the other in its order, or unit by unit and by group within one where there are
/// groups; uses of parameters that another layer keeps lie behind them.
///
/// Linear<8, 6> on one device: the weight at byte 0, 48 elements; the bias at byte 192, 6 elements.
/// Tested  plan/check/flat_test
struct FlatCheck {
  const Program& p;
  const MadeFrom& from;
  const Graph& model = from.model;
  const int ranks = from.layout.mesh.size(Axis::tensor);
  Diagnosis fault{};
  std::int64_t own[Layout::most_chunks]{};     // by role: where parameters end
  std::int64_t frozen[Layout::most_chunks]{};  // by role: where parameters that are not trained end
  std::int64_t thawed[Layout::most_chunks]{};  // by role: where uses of these that another layer keeps end
  std::int64_t other[Layout::most_chunks]{};   // by role: where gradients of parameters kept elsewhere end
  std::int64_t units[Layout::most_chunks]{};   // by role: where units of parameters end
  std::int64_t other_units[Layout::most_chunks]{};
  int unit = -1;

  constexpr void run() {
    int block = -1;
    for (int r = 0; r < p.roles && fault.ok(); ++r) {
      other[r] = other_units[r] = room_of(RegionKind::parameters, r);
      thawed[r] = room_of(RegionKind::frozen, r);
      if (const std::int64_t room = room_of(RegionKind::gradients, r); room < other[r])
        fault = past("each level of the gradients", 0, r, other[r], room);
    }
    for (int c = 0; c < p.chunks && fault.ok(); ++c, block = -1)
      for (int n = p.first_node[c]; n < p.first_node[c + 1] && fault.ok(); ++n) {
        const Node& node = model.nodes[n];
        if (node.parameter_count == 0) continue;
        const int role = p.device_of_chunk[c];
        const int keeper = node.tied_to < 0 ? -1 : first_use(n, role);
        if (gradients_of(node) == 0) {
          places(n, role, keeper);
          continue;
        }
        const bool begins = node.block < 0 || node.block != block;
        block = node.block;
        if (!from.groups.any())
          places(n, role, keeper);
        else if (begins)
          places_by_group(n, p.first_node[c + 1], role, keeper);
        if (fault.ok()) in_unit(n, role, keeper, begins);
      }
    if (fault.ok() && unit + 1 != p.unit_count) fault = noted_otherwise("the number of units", "", p.unit_count, unit + 1);
    if (fault.ok()) buckets();
    if (fault.ok()) uses();
  }

 private:
  /// The first layer of the device that uses the parameters of `node`, if it is before it.
  [[nodiscard]] constexpr int first_use(int node, int role) const {
    const int owner = model.nodes[node].tied_to;
    for (int n = owner; n < node; ++n)
      if (model.owner(n) == owner && device_of(n) == role) return n;
    return -1;
  }
  [[nodiscard]] constexpr int device_of(int node) const {
    int c = 0;
    while (node >= p.first_node[c + 1]) ++c;
    return p.device_of_chunk[c];
  }
  /// Elements of a flat buffer, all slices together.
  [[nodiscard]] constexpr std::int64_t room_of(RegionKind kind, int role) const { return p.arenas[role][kind].elements(); }
  /// S19 of what is counted in elements.
  [[nodiscard]] static constexpr Diagnosis covers(std::string_view what, std::int64_t number, int role, std::int64_t begin, std::int64_t free) {
    return overlaps(what, number, role, float_bytes * begin, float_bytes * free);
  }
  [[nodiscard]] static constexpr Diagnosis past(std::string_view what, std::int64_t number, int role, std::int64_t end, std::int64_t room) {
    return ends_outside(what, number, role, float_bytes * end, float_bytes * room);
  }
  constexpr void wrong(std::string_view what, int node, int parameter, std::int64_t noted, std::int64_t follows) {
    fault = noted_otherwise(what, model.parameter_name(node, parameter).view(), noted, follows);
  }
  constexpr void places(int n, int role, int keeper) {
    const bool trained = gradients_of(model.nodes[n]) > 0;
    std::int64_t& end = !trained ? (keeper < 0 ? frozen : thawed)[role] : keeper < 0 ? own[role] : other[role];
    for (int k = 0; k < model.nodes[n].parameter_count && fault.ok(); ++k) place_of(n, k, role, keeper, end);
    if (!trained && keeper >= 0) return;  // they lie there only while they are gathered
    const std::int64_t room = room_of(!trained ? RegionKind::frozen : keeper < 0 ? RegionKind::parameters : RegionKind::gradients, role);
    if (fault.ok() && end > room) fault = past("the parameters of layer ", n, role, end, room);
  }
  /// Parameters of the unit that begins with node n: by group, groups from the first to the last in units 0, 2, 4 .. and where parameters are shared,
  /// else from the last to the first.
  constexpr void places_by_group(int n, int chunk_end, int role, int keeper) {
    bool shared = model.nodes[n].tied_to >= 0;
    for (int m = n + 1; m < model.node_count && model.tie_count > 0; ++m) shared = shared || model.nodes[m].tied_to == n;
    const bool last_first = (unit + 1) % 2 == 1 && !shared;
    std::int64_t& end = keeper < 0 ? own[role] : other[role];
    for (int i = 0; i < from.groups.count; ++i) {
      const int group = last_first ? from.groups.count - 1 - i : i;
      for (int m = n; m < chunk_end && (m == n || (model.nodes[n].block >= 0 && model.nodes[m].block == model.nodes[n].block)); ++m)
        for (int k = 0; k < gradients_of(model.nodes[m]) && fault.ok(); ++k)
          if (from.groups.of_parameter[model.nodes[m].first_parameter + k] == group) place_of(m, k, role, keeper, end);
    }
    const std::int64_t room = room_of(keeper < 0 ? RegionKind::parameters : RegionKind::gradients, role);
    if (fault.ok() && end > room) fault = past("the parameters of the unit of layer ", n, role, end, room);
  }
  /// Parameter k of node n lies behind `end`, which becomes its own.
  constexpr void place_of(int n, int k, int role, int keeper, std::int64_t& end) {
    const Node& node = model.nodes[n];
    const ParameterPlace& place = p.parameters[node.first_parameter + k];
    const Laid how = p.graph->signature(n).parameters[k];  // S18 has compared it
    const std::int64_t elements = model.leaves[node.leaf].leaf.parameters[k].shape.elements() / (how.sharded() ? ranks : 1);
    const std::int64_t owned = keeper < 0 ? -1 : p.parameters[model.nodes[keeper].first_parameter + k].begin;
    if (place.node != n) return wrong("the layer of parameter ", n, k, place.node, n);
    if (place.index != k) return wrong("the number in its layer of parameter ", n, k, place.index, k);
    if (place.role != role) return wrong("the device of parameter ", n, k, place.role, role);
    if (place.elements != elements) return wrong("the number of elements on a rank of parameter ", n, k, place.elements, elements);
    if (place.split != (how.sharded() ? how : laid::replicate)) return wrong("the split dimension of parameter ", n, k, place.split.code, how.code);
    if (place.owner_begin != owned) return wrong("where another layer keeps parameter ", n, k, place.owner_begin, owned);
    if (place.begin < end || place.begin % line_elements != 0) return void(fault = covers("the parameters of layer ", n, role, place.begin, end));
    end = place.begin + elements;
  }
  /// A unit is a block of the outermost Repeat or OneUnit, or a layer outside; it ends with its chunk, and is of even slices. Shared parameters count
  /// in the norm where they are owned.
  constexpr void in_unit(int n, int role, int keeper, bool begins) {
    if (begins && ++unit == p.unit_count) return void(fault = noted_otherwise("the number of units", "", p.unit_count, unit + 1));
    const FlatUnit& in = p.units[unit];
    if (begins) {
      std::int64_t& end = keeper < 0 ? units[role] : other_units[role];
      if (in.role != role)
        return void(fault = noted_otherwise<std::int64_t>("the device of the unit that begins with layer ", model.name(n).view(), in.role, role));
      if (in.begin < end || in.begin % unit_elements != 0) return void(fault = covers("unit ", unit, role, in.begin, end));
      end = in.end();
      if (in.elements % unit_elements != 0)
        return void(fault = noted_otherwise("the elements of the unit that begins with layer ", model.name(n).view(), in.elements,
                                            rounded_up(in.elements, unit_elements)));
    }
    const Node& node = model.nodes[n];
    if (in.counts != (node.tied_to < 0))
      return void(
          fault = noted_otherwise<std::int64_t>("whether the norm has the gradients of layer ", model.name(n).view(), in.counts, node.tied_to < 0));
    for (int k = 0; k < node.parameter_count && fault.ok(); ++k)
      if (const ParameterPlace& place = p.parameters[node.first_parameter + k]; place.begin < in.begin || place.begin + place.elements > in.end())
        fault = past("a parameter of unit ", unit, role, place.begin + place.elements, in.end());
  }

  /// Buckets of a device come from the end of its buffer and of what lies behind.
  constexpr void buckets() {
    std::int64_t before[Layout::most_chunks][2]{};
    for (int r = 0; r < p.roles; ++r) {
      before[r][0] = room_of(RegionKind::parameters, r);
      before[r][1] = room_of(RegionKind::gradients, r);
    }
    for (int b = 0; b < p.bucket_count && fault.ok(); ++b) {
      const FlatBucket& bucket = p.buckets[b];
      if (bucket.role < 0 || bucket.role >= p.roles)
        return void(fault = noted_otherwise<std::int64_t>("the device of a bucket", "", bucket.role, p.roles - 1));
      std::int64_t& begin = before[bucket.role][bucket.owner_begin < 0 ? 0 : 1];
      if (bucket.end() > begin) return void(fault = past("bucket ", b, bucket.role, bucket.end(), begin));
      const std::int64_t least = bucket.owner_begin < 0 ? 0 : room_of(RegionKind::parameters, bucket.role);
      const std::int64_t lines = p.storage.parts * line_elements;  // a slice is of whole lines
      const std::int64_t line = bucket.owner_begin >= 0 ? unit_elements : lines;
      if (bucket.begin < least || bucket.elements <= 0 || bucket.begin % line != 0)
        return void(fault = covers("bucket ", b, bucket.role, bucket.begin, least));
      if (p.storage.parts > 1 && bucket.elements % lines != 0)
        return void(fault = noted_otherwise("the elements of a sliced bucket", "", bucket.elements, rounded_up(bucket.elements, lines)));
      begin = bucket.begin;
      in_slot(b);
      if (fault.ok()) filled(bucket);
    }
    if (p.storage.parts > 1 && p.clips && fault.ok()) sliced_units();
  }
  /// Neighbours take turns in the two slots of each ring, which have room for the largest bucket.
  constexpr void in_slot(int b) {
    const FlatBucket& bucket = p.buckets[b];
    const Storage& kept = p.storage;
    const bool used[] = {kept.parameters && !kept.keeps, kept.gradients, kept.adds_slices};
    constexpr RegionKind rings[] = {RegionKind::gathered, RegionKind::fresh, RegionKind::arrived};
    for (int k = 0; k < 3; ++k) {
      const std::int64_t room = used[k] ? p.arenas[bucket.role][rings[k]].elements() : 0;
      if (used[k] && (bucket.slot < 0 || bucket.slot > 1 || bucket.elements > room))
        return void(fault = past("bucket ", b, bucket.role, bucket.slot * room + bucket.elements, 2 * room));
    }
  }
  /// What a bucket says of its layers is so of those that lie in it.
  constexpr void filled(const FlatBucket& bucket) {
    std::int64_t payload = 0;
    int lowest = -1;
    int highest = -1;
    for (int n = bucket.lowest_node < 0 ? 0 : bucket.lowest_node; n <= bucket.highest_node && n < model.node_count; ++n) {
      const Node& node = model.nodes[n];
      if (gradients_of(node) == 0) continue;
      const ParameterPlace& first = p.parameters[node.first_parameter];
      if (first.role != bucket.role || first.begin < bucket.begin || first.begin >= bucket.end()) continue;
      if (lowest < 0) lowest = n;
      highest = n;
      for (int k = 0; k < node.parameter_count; ++k) {
        const ParameterPlace& place = p.parameters[node.first_parameter + k];
        payload += place.elements;
        const std::int64_t owned = place.owner_begin < 0 ? -1 : bucket.begin - place.begin + place.owner_begin;
        if (bucket.owner_begin != owned) return wrong("where another layer keeps the bucket of parameter ", n, k, bucket.owner_begin, owned);
      }
    }
    if (bucket.lowest_node != lowest || bucket.highest_node != highest) {
      fault = noted_otherwise<std::int64_t>(bucket.lowest_node != lowest ? "the lowest layer of a bucket" : "the highest layer of a bucket", "",
                                            bucket.lowest_node != lowest ? bucket.lowest_node : bucket.highest_node,
                                            bucket.lowest_node != lowest ? lowest : highest);
    } else if (bucket.payload != payload) {
      fault = noted_otherwise("the number of parameters in a bucket", "", bucket.payload, payload);
    }
  }
  /// A norm of slices is summed unit by unit: each is a bucket.
  constexpr void sliced_units() {
    for (int u = 0; u < p.unit_count && fault.ok(); ++u) {
      int b = 0;
      while (b < p.bucket_count && (p.buckets[b].role != p.units[u].role || p.buckets[b].begin != p.units[u].begin)) ++b;
      if (b == p.bucket_count || p.buckets[b].elements != p.units[u].elements)
        fault = noted_otherwise("the elements of the bucket of a unit", "", b == p.bucket_count ? 0 : p.buckets[b].elements, p.units[u].elements);
    }
  }
  /// Of every layer that shares parameters, by owner: a bucket of its own, in which they lie as in that of the owner, so that slices can be added.
  constexpr void uses() {
    int u = 0;
    for (int owner = next_owner(-1); owner >= 0; owner = next_owner(owner))
      for (int n = owner; n < model.node_count; ++n) {
        if (model.owner(n) != owner) continue;
        if (u == p.use_count) return void(fault = noted_otherwise("the number of layers that share parameters", "", u, u + 1));
        use(u++, n, owner);
        if (!fault.ok()) return;
      }
    int buckets_of_uses = 0;
    for (int b = 0; b < p.bucket_count; ++b) buckets_of_uses += p.buckets[b].shared ? 1 : 0;
    if (u != p.use_count) fault = noted_otherwise("the number of layers that share parameters", "", p.use_count, u);
    if (u != buckets_of_uses) fault = noted_otherwise("the number of buckets of shared parameters", "", buckets_of_uses, u);
  }
  [[nodiscard]] constexpr int next_owner(int after) const {
    int next = -1;
    for (int n = 0; n < model.node_count && model.tie_count > 0; ++n)
      if (const int owner = model.nodes[n].tied_to; owner > after && !model.frozen(n) && (next < 0 || owner < next)) next = owner;
    return next;
  }
  constexpr void use(int u, int n, int owner) {
    const TiedUse& is = p.uses[u];
    const auto otherwise = [&](std::string_view what, std::int64_t noted, std::int64_t follows) {
      fault = noted_otherwise(what, model.name(n).view(), noted, follows);
    };
    if (is.owner != owner) return otherwise("the owner of the parameters of ", is.owner, owner);
    if (is.node != n) return otherwise("the layer of the use of ", is.node, n);
    if (is.role != device_of(n)) return otherwise("the device of the use of ", is.role, device_of(n));
    const bool there = is.bucket >= 0 && is.bucket < p.bucket_count;
    const FlatBucket none{.lowest_node = -1};
    const FlatBucket& bucket = there ? p.buckets[is.bucket] : none;
    if (bucket.lowest_node != n || bucket.highest_node != n || !bucket.shared)
      return otherwise("the layer of the shared bucket of ", bucket.lowest_node, n);
    int first = 0;  // the owner is the first of its uses
    while (p.uses[first].owner != owner) ++first;
    const FlatBucket& of_owner = p.buckets[p.uses[first].bucket];
    if (bucket.elements != of_owner.elements) return otherwise("the elements of the bucket of ", bucket.elements, of_owner.elements);
    for (int k = 0; k < model.nodes[n].parameter_count; ++k) {
      const std::int64_t here = p.parameters[model.nodes[n].first_parameter + k].begin - bucket.begin;
      const std::int64_t at_owner = p.parameters[model.nodes[owner].first_parameter + k].begin - of_owner.begin;
      if (here != at_owner) return otherwise("the offset in its bucket of a parameter of ", here, at_owner);
    }
  }
};

}  // namespace heddle::plan_room
