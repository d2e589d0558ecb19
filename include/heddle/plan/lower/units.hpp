// SPDX-License-Identifier: MIT
// Room: plan. Flat buffers: where each parameter lies, how units are padded, which ranges are reduced as one bucket.
// Sees: graph, policy answers, plan/program.  Does not see: processes, threads, kernels.
// In: Graph, Layout, bucket size.  Out: ParameterPlace, FlatBucket.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Where everything lies that has parameters: a view over tables that have been written.
/// Linear<16, 16>, ReLU, Linear<16, 16> on one role are 2 units, of 1,024 elements each, in 2,048.
struct FlatPlaces {
  const ParameterPlace* parameters = nullptr;
  const std::int64_t* node_begin = nullptr;  ///< [elements], of the first parameter of a node in its role's buffer
  const bool* starts_unit = nullptr;         ///< by node
  const bool* shared = nullptr;              ///< by node: several leaves use its parameters
  const FlatUnit* units = nullptr;
  const std::int64_t* role_elements = nullptr;
  const std::int64_t* gradient_elements = nullptr;  ///< with gradients of uses of tied parameters that another leaf of the role keeps, behind those
  const std::int64_t* frozen_elements = nullptr;    ///< by role: of parameters that are not trained, which lie apart
  int unit_count = 0;
};

/// The same tables while they are written; they belong to another owner and have their initial values.
struct FlatBuffers {
  ParameterPlace* parameters;
  std::int64_t* node_begin;
  bool* starts_unit;
  bool* shared;
  List<FlatUnit> units;
  std::int64_t* role_elements;
  std::int64_t* gradient_elements;
  std::int64_t* frozen_elements;

  [[nodiscard]] constexpr FlatPlaces view() const {
    return {parameters, node_begin, starts_unit, shared, units.data, role_elements, gradient_elements, frozen_elements, units.count};
  }
  constexpr void open_unit(int role, std::int64_t begin, bool counts) {
    FlatUnit& unit = units.append();
    unit = FlatUnit{};
    unit.role = static_cast<std::int16_t>(role);
    unit.counts = counts;
    unit.begin = begin;
  }
  constexpr void close_unit(std::int64_t end) {
    if (units.count == 0) return;
    FlatUnit& last = units.data[units.count - 1];
    if (last.elements == 0) last.elements = end - last.begin;
  }
};

/// Owns where parameters lie in the flat buffers, as a constant: Linear<4, 3> alone is one unit, with its weight at byte 0 and its bias behind it.
template <int Parameters, int Nodes, int Roles> struct FlatTables {
  static constexpr int most_units = Parameters > 0 ? Parameters : 1;
  ParameterPlace parameters[std::size_t{most_units}]{};
  std::int64_t node_begin[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  bool starts_unit[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  bool shared[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  FlatUnit units[std::size_t{most_units}]{};
  std::int64_t role_elements[std::size_t{Roles}]{};
  std::int64_t gradient_elements[std::size_t{Roles}]{};
  std::int64_t frozen_elements[std::size_t{Roles}]{};
  int unit_count = 0;

  [[nodiscard]] constexpr FlatPlaces view() const {
    return {parameters, node_begin, starts_unit, shared, units, role_elements, gradient_elements, frozen_elements, unit_count};
  }
};

/// True if a cut goes through a block of the outermost Repeat or OneUnit: its parameters are then two units, and one where the block is whole.
[[nodiscard]] constexpr bool cuts_a_unit(const Graph& graph, const Layout& layout) {
  for (int c = 1; c < layout.chunk_count; ++c) {
    const int n = layout.first_node[c];
    if (graph.nodes[n].block >= 0 && graph.nodes[n].block == graph.nodes[n - 1].block) return true;
  }
  return false;
}

/// The first leaf of the role that uses the tied parameters of `node` too, before it; -1 if there is none.
[[nodiscard]] constexpr int keeper_of(const Graph& graph, const Layout& layout, int node, int role) {
  const int owner = graph.nodes[node].tied_to;
  for (int n = owner; n >= 0 && n < node; ++n)
    if (graph.owner(n) == owner && layout.device_of_chunk[layout.chunk_of(n)] == role) return n;
  return -1;
}

/// Places the parameters of a node one after another from `begin` on; returns their end.
constexpr std::int64_t lay_out_node(const Graph& graph, FlatBuffers& flat, int n, int role, std::int64_t begin) {
  std::int64_t end = begin;
  flat.node_begin[n] = begin;
  for (int p = 0; p < graph.nodes[n].parameter_count; ++p) {
    ParameterPlace& place = flat.parameters[graph.nodes[n].first_parameter + p];
    place.node = n;
    place.index = static_cast<std::int16_t>(p);
    place.role = static_cast<std::int16_t>(role);
    place.begin = end;
    place.elements = graph.leaf(n).parameters[p].shape.elements();
    if (const Laid used = graph.signature(n).parameters[p]; used.sharded()) place.split = static_cast<std::int8_t>(used.dimension());
    end = rounded_up(end + place.elements, line_elements);
  }
  return end;
}

/// Places the gradient of a node whose tied parameters `keeper` has, as a unit of its own behind all parameters of the role.
constexpr void lay_out_gradient(const Graph& graph, FlatBuffers& flat, int n, int role, int keeper) {
  std::int64_t& end = flat.gradient_elements[role];
  end = rounded_up(lay_out_node(graph, flat, n, role, end), unit_elements);
  flat.close_unit(end);
  for (int p = 0; p < graph.nodes[n].parameter_count; ++p)
    flat.parameters[graph.nodes[n].first_parameter + p].owner_begin = flat.parameters[graph.nodes[keeper].first_parameter + p].begin;
}

/// Lays parameters out in the order of nodes. A unit is a block of the outermost Repeat or OneUnit, or a leaf outside; it ends at a cut too.
/// Gradients without parameters lie behind those of parameters; parameters that are not trained lie apart and are no units.
constexpr void lay_out_units(const Graph& graph, const Layout& layout, FlatBuffers& flat) {
  for (int c = 0; c < layout.chunk_count; ++c) {
    const int role = layout.device_of_chunk[c];
    std::int64_t& end = flat.role_elements[role];
    int block = -1;
    for (int n = layout.first_node[c]; n < layout.first_node[c + 1]; ++n) {
      const Node& node = graph.nodes[n];
      if (node.trained_count() == 0) {
        if (graph.frozen(n)) flat.frozen_elements[role] = lay_out_node(graph, flat, n, role, flat.frozen_elements[role]);
        flat.node_begin[n] = end;
        continue;
      }
      flat.starts_unit[n] = node.block < 0 || node.block != block;
      const int keeper = node.tied_to < 0 ? -1 : keeper_of(graph, layout, n, role);
      if (flat.starts_unit[n]) {
        end = rounded_up(end, unit_elements);
        flat.close_unit(end);
        flat.open_unit(role, keeper < 0 ? end : flat.gradient_elements[role], node.tied_to < 0);
      }
      block = node.block;
      if (keeper < 0)
        end = lay_out_node(graph, flat, n, role, end);
      else
        lay_out_gradient(graph, flat, n, role, keeper);
    }
    end = rounded_up(end, unit_elements);
    flat.close_unit(end);
  }
}

/// The flat buffers of all roles. Where leaves are tied, a first pass tells where the parameters of a role end.
constexpr void lay_out_parameters(const Graph& graph, const Layout& layout, FlatBuffers& flat) {
  lay_out_units(graph, layout, flat);
  for (int r = 0; r < layout.roles(); ++r) flat.gradient_elements[r] = flat.role_elements[r];
  if (graph.tie_count == 0) return;
  for (int r = 0; r < layout.roles(); ++r) flat.role_elements[r] = flat.frozen_elements[r] = 0;
  flat.units.count = 0;
  lay_out_units(graph, layout, flat);
  for (int n = 0; n < graph.node_count; ++n)
    if (graph.nodes[n].tied_to >= 0) flat.shared[n] = flat.shared[graph.nodes[n].tied_to] = true;
}

template <int Parameters, int Nodes, int Roles>
[[nodiscard]] constexpr FlatTables<Parameters, Nodes, Roles> lay_out_parameters(const Graph& graph, const Layout& layout) {
  using Out = FlatTables<Parameters, Nodes, Roles>;
  Out out;
  FlatBuffers flat{out.parameters,    out.node_begin,        out.starts_unit,    out.shared, List<FlatUnit>{out.units, Out::most_units},
                   out.role_elements, out.gradient_elements, out.frozen_elements};
  lay_out_parameters(graph, layout, flat);
  out.unit_count = flat.units.count;
  return out;
}

/// What the policies and the division of the batch say together. Gradients of several grains that follow the fixed tree stay whole: a slice
/// that is reduced in every backward would be added in another order than on one device.
[[nodiscard]] constexpr Storage storage_of(const Layout& layout, const BatchDivision& batch) {
  Storage s;
  s.axis = layout.storage_axis;
  s.parts = layout.slices();
  if (s.parts == 1) return s;
  s.parameters = layout.sharding.parameters;
  s.states = layout.sharding.states;
  s.keeps = layout.sharding.keeps;
  s.gradients = layout.sharding.gradients && !(batch.tree && batch.rank_grains() > 1);
  s.adds_slices = s.gradients && batch.total_micro_batches() > 1;
  return s;
}

/// Cuts the flat buffer of one role, from its end. A leaf that shares its parameters is a bucket by itself.
template <class Visit> struct BucketCutter {
  const Graph& graph;
  const FlatPlaces& flat;
  Visit& visit;
  FlatBucket next{};

  constexpr void close(std::int64_t begin) {
    next.elements = next.begin - begin;
    next.begin = begin;
    visit(next);
    next.payload = 0;
    next.highest_node = -1;
    next.slot = static_cast<std::int16_t>(1 - next.slot);
  }
  /// The next lower node with parameters; `ends`: a bucket that holds enough may end with it.
  constexpr void take(int n, std::int64_t enough, bool ends) {
    if (flat.shared[n] && next.payload > 0) close(flat.node_begin[next.lowest_node]);
    const std::int64_t owner_begin = flat.parameters[graph.nodes[n].first_parameter].owner_begin;
    if (owner_begin >= 0) return take_gradient(n, owner_begin);
    next.payload += graph.parameter_elements(n);
    next.lowest_node = n;
    if (next.highest_node < 0) next.highest_node = n;
    if (flat.shared[n]) {
      next.shared = true;
      close(flat.node_begin[n]);
      next.shared = false;
    } else if (next.begin - flat.node_begin[n] >= enough && ends) {
      close(flat.node_begin[n]);
    }
  }
  /// Of a leaf whose parameters another one keeps: what lies behind the parameters of the role.
  constexpr void take_gradient(int n, std::int64_t owner_begin) {
    const ParameterPlace& last = flat.parameters[graph.nodes[n].first_parameter + graph.nodes[n].parameter_count - 1];
    FlatBucket own = next;
    own.lowest_node = own.highest_node = n;
    own.payload = graph.parameter_elements(n);
    own.begin = flat.node_begin[n];
    own.elements = rounded_up(last.begin + last.elements - own.begin, unit_elements);
    own.shared = true;
    own.owner_begin = owner_begin;
    visit(own);
    next.slot = static_cast<std::int16_t>(1 - next.slot);
  }
};

/// Cuts each role's flat buffer, from its end, into buckets of at least `bucket_bytes`; visit(FlatBucket) in the order they become final.
/// Sliced buffers are cut between units only, and unit by unit if asked or where parameters or gradients pass through rings.
template <class Visit>
constexpr void each_bucket(const Graph& graph, const Layout& layout, const FlatPlaces& flat, std::int64_t bucket_bytes, const Storage& storage,
                           bool by_units, Visit visit) {
  const std::int64_t enough = by_units || storage.parameters || storage.gradients ? 0 : (bucket_bytes + 3) / 4;  // elements
  for (int role = 0; role < layout.roles(); ++role) {
    BucketCutter<Visit> cutter{graph, flat, visit};
    cutter.next.role = static_cast<std::int16_t>(role);
    cutter.next.begin = flat.role_elements[role];
    for (int c = layout.chunk_count - 1; c >= 0; --c) {
      if (layout.device_of_chunk[c] != role) continue;
      for (int n = layout.first_node[c + 1] - 1; n >= layout.first_node[c]; --n)
        if (graph.nodes[n].trained_count() > 0) cutter.take(n, enough, storage.parts == 1 || flat.starts_unit[n]);
    }
    if (cutter.next.payload > 0) cutter.close(0);
  }
}

/// What is cut and how: the same for the count of buckets and for the buckets.
/// 2 units of 4,096 bytes on one role are 2 buckets of at least 4,096 bytes, or 1 of at least 8,192.
struct BucketRequest {
  const Graph& graph;
  const Layout& layout;
  FlatPlaces flat;
  std::int64_t bucket_bytes = 0;
  Storage storage;
  bool clips = false;

  /// What is clipped and sliced is cut by units: a slice is then of the parts over which norms are summed.
  template <class Visit> constexpr void each(Visit visit) const {
    each_bucket(graph, layout, flat, bucket_bytes, storage, clips && storage.parts > 1, visit);
  }
  [[nodiscard]] constexpr int count() const {
    int n = 0;
    each([&](const FlatBucket&) { ++n; });
    return n;
  }
  /// `of_node` is written where units pass through rings.
  constexpr void write(List<FlatBucket>& list, std::int16_t* of_node) const {
    each([&](const FlatBucket& b) {
      list.append() = b;
      if (storage.parameters || storage.gradients)
        for (int n = b.lowest_node; n <= b.highest_node; ++n) of_node[n] = static_cast<std::int16_t>(list.count - 1);
    });
  }
};

}  // namespace heddle::plan_room
