// SPDX-License-Identifier: MIT
// Room: plan. Flat buffers: where each parameter lies and how units are padded.
// Sees: graph, policy answers, plan/program.  Does not see: processes, threads, kernels.
// In: Graph, Layout, ParameterGroups.  Out: ParameterPlace, FlatUnit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/lower/unit_order.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Where everything lies that has parameters: a view over tables that have been written.
/// Linear<16, 16>, ReLU, Linear<16, 16> on one role are 2 units, of 1,024 elements each, in 2,048.
struct FlatPlaces {
  const ParameterPlace* parameters = nullptr;
  const std::int64_t* node_begin = nullptr;  ///< [elements], of the first parameter of a node in its role's buffer
  const std::int16_t* opens = nullptr;       ///< by node: 1 + the number of the unit that begins with it, else 0
  const bool* shared = nullptr;              ///< by node: several leaves use its parameters
  const FlatUnit* units = nullptr;
  const std::int64_t* role_elements = nullptr;
  const std::int64_t* gradient_elements = nullptr;  ///< with gradients of uses of tied parameters that another leaf of the role keeps, behind those
  const std::int64_t* frozen_elements = nullptr;    ///< by role: of parameters that are not trained, which lie apart
  const std::int64_t* thawed_elements = nullptr;    ///< with uses of these that another leaf of the role keeps, which lie behind them while gathered
  int unit_count = 0;
  bool grouped = false;  ///< parameters of a unit lie by group
};

/// The same tables while they are written; they belong to another owner and have their initial values.
struct FlatBuffers {
  ParameterPlace* parameters;
  std::int64_t* node_begin;
  std::int16_t* opens;
  bool* shared;
  List<FlatUnit> units;
  std::int64_t* role_elements;
  std::int64_t* gradient_elements;
  std::int64_t* frozen_elements;
  std::int64_t* thawed_elements;
  bool grouped = false;

  [[nodiscard]] constexpr FlatPlaces view() const {
    return {parameters,        node_begin,      opens,           shared,      units.data, role_elements,
            gradient_elements, frozen_elements, thawed_elements, units.count, grouped};
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
  std::int16_t opens[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  bool shared[std::size_t{Nodes > 0 ? Nodes : 1}]{};
  FlatUnit units[std::size_t{most_units}]{};
  std::int64_t role_elements[std::size_t{Roles}]{};
  std::int64_t gradient_elements[std::size_t{Roles}]{};
  std::int64_t frozen_elements[std::size_t{Roles}]{};
  std::int64_t thawed_elements[std::size_t{Roles}]{};
  int unit_count = 0;
  bool grouped = false;

  [[nodiscard]] constexpr FlatPlaces view() const {
    return {parameters, node_begin, opens, shared, units, role_elements, gradient_elements, frozen_elements, thawed_elements, unit_count, grouped};
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

/// Places parameter k of node n; returns where the next one may begin.
constexpr std::int64_t lay_out_parameter(const Graph& graph, FlatBuffers& flat, int n, int k, int role, std::int64_t begin) {
  ParameterPlace& place = flat.parameters[graph.nodes[n].first_parameter + k];
  place.node = n;
  place.index = static_cast<std::int16_t>(k);
  place.role = static_cast<std::int16_t>(role);
  place.begin = begin;
  place.elements = graph.leaf(n).parameters[k].shape.elements();
  if (const Laid used = graph.signature(n).parameters[k]; used.sharded()) place.split = used;
  return rounded_up(begin + place.elements, line_elements);
}
/// Places the parameters of a node one after another from `begin` on; returns their end.
constexpr std::int64_t lay_out_node(const Graph& graph, FlatBuffers& flat, int n, int role, std::int64_t begin) {
  flat.node_begin[n] = begin;
  for (int k = 0; k < graph.nodes[n].parameter_count; ++k) begin = lay_out_parameter(graph, flat, n, k, role, begin);
  return begin;
}
/// The same of all nodes of a unit whose parameters are of several groups.
constexpr std::int64_t lay_out_unit(const Graph& graph, const ParameterGroups& groups, FlatBuffers& flat, const UnitNodes& unit, int role,
                                    std::int64_t begin) {
  for (int n = unit.first; n < unit.end; ++n) flat.node_begin[n] = begin;
  unit.each(graph, groups, [&](int n, int k) { begin = lay_out_parameter(graph, flat, n, k, role, begin); });
  return begin;
}

/// What is laid out, for whom: parameters of a unit lie by group.
struct FlatRequest {
  const Graph& graph;
  const Layout& layout;
  const ParameterGroups& groups;
  bool slices = false;  ///< parameters are sliced: those that are not trained lie in padded units too

  /// Places what begins a unit with node n, or goes on with it; returns the end.
  [[nodiscard]] constexpr std::int64_t lay_out(FlatBuffers& flat, int n, int chunk_end, int role, std::int64_t begin) const {
    if (!groups.any()) return lay_out_node(graph, flat, n, role, begin);
    if (flat.opens[n] == 0) return begin;  // lies where its unit began
    return lay_out_unit(graph, groups, flat, unit_from(graph, n, chunk_end, flat.opens[n] - 1, flat.shared[n]), role, begin);
  }
  /// Places the gradient of a node whose tied parameters `keeper` has, as a unit of its own behind all parameters of the role.
  constexpr void lay_out_gradient(FlatBuffers& flat, int n, int role, int keeper) const {
    std::int64_t& end = flat.gradient_elements[role];
    end = rounded_up(lay_out(flat, n, n + 1, role, end), unit_elements);
    flat.close_unit(end);
    for (int p = 0; p < graph.nodes[n].parameter_count; ++p)
      flat.parameters[graph.nodes[n].first_parameter + p].owner_begin = flat.parameters[graph.nodes[keeper].first_parameter + p].begin;
  }
  /// Lays units out in the order of the model. A unit is a block of the outermost Repeat or OneUnit, or a leaf outside; it ends at a cut too.
  /// Gradients without parameters lie behind those of parameters; parameters that are not trained lie apart and are in no norm.
  constexpr void lay_out_units(FlatBuffers& flat) const {
    for (int c = 0; c < layout.chunk_count; ++c) {
      const int role = layout.device_of_chunk[c];
      std::int64_t& end = flat.role_elements[role];
      int block = -1;
      int frozen_block = -1;
      for (int n = layout.first_node[c]; n < layout.first_node[c + 1]; ++n) {
        const Node& node = graph.nodes[n];
        if (node.trained_count() == 0) {
          if (graph.frozen(n)) lay_out_frozen(flat, n, role, node.block < 0 || node.block != frozen_block);
          if (graph.frozen(n)) frozen_block = node.block;
          continue;
        }
        const int keeper = node.tied_to < 0 ? -1 : keeper_of(graph, layout, n, role);
        if (node.block < 0 || node.block != block) {
          end = rounded_up(end, unit_elements);
          flat.close_unit(end);
          flat.open_unit(role, keeper < 0 ? end : flat.gradient_elements[role], node.tied_to < 0);
          flat.opens[n] = static_cast<std::int16_t>(flat.units.count);
        }
        block = node.block;
        if (keeper < 0)
          end = lay_out(flat, n, layout.first_node[c + 1], role, end);
        else
          lay_out_gradient(flat, n, role, keeper);
      }
      end = rounded_up(end, unit_elements);
      flat.close_unit(end);
      pad(flat.frozen_elements[role]);
    }
  }
  /// Of a node whose parameters another one of the role keeps: where they lie once they are gathered for it.
  constexpr void lay_out_frozen(FlatBuffers& flat, int n, int role, bool begins) const {
    const int keeper = graph.nodes[n].tied_to < 0 ? -1 : keeper_of(graph, layout, n, role);
    std::int64_t& end = (keeper < 0 ? flat.frozen_elements : flat.thawed_elements)[role];
    if (begins) pad(end);
    end = lay_out_node(graph, flat, n, role, end);
    if (keeper < 0) return;
    pad(end);
    for (int p = 0; p < graph.nodes[n].parameter_count; ++p)
      flat.parameters[graph.nodes[n].first_parameter + p].owner_begin = flat.parameters[graph.nodes[keeper].first_parameter + p].begin;
  }
  constexpr void pad(std::int64_t& end) const {
    if (slices) end = rounded_up(end, unit_elements);
  }
  /// The flat buffers of all roles. Where leaves are tied, a first pass tells where the parameters of a role end.
  constexpr void run(FlatBuffers& flat) const {
    flat.grouped = groups.any();
    for (int n = 0; n < graph.node_count; ++n)
      if (graph.nodes[n].tied_to >= 0 && !graph.frozen(n)) flat.shared[n] = flat.shared[graph.nodes[n].tied_to] = true;
    lay_out_units(flat);
    for (int r = 0; r < layout.roles(); ++r) {
      flat.gradient_elements[r] = flat.role_elements[r];
      flat.thawed_elements[r] = flat.frozen_elements[r];
    }
    if (graph.tie_count == 0) return;
    for (int r = 0; r < layout.roles(); ++r) flat.role_elements[r] = flat.frozen_elements[r] = 0;
    flat.units.count = 0;
    lay_out_units(flat);
  }
};

template <int Parameters, int Nodes, int Roles>
[[nodiscard]] constexpr FlatTables<Parameters, Nodes, Roles> lay_out_parameters(const Graph& graph, const Layout& layout,
                                                                                const ParameterGroups& groups = {}, bool slices = false) {
  using Out = FlatTables<Parameters, Nodes, Roles>;
  Out out;
  FlatBuffers flat{out.parameters,    out.node_begin,        out.opens,           out.shared,         List<FlatUnit>{out.units, Out::most_units},
                   out.role_elements, out.gradient_elements, out.frozen_elements, out.thawed_elements};
  FlatRequest{graph, layout, groups, slices}.run(flat);
  out.unit_count = flat.units.count;
  out.grouped = flat.grouped;
  return out;
}

/// A layer tracks values, which are read as they are and never rounded.
[[nodiscard]] constexpr bool tracks_values(const Graph& graph) {
  for (int l = 0; l < graph.leaf_count; ++l)
    if (graph.leaves[l].leaf.tracks()) return true;
  return false;
}

/// What the policies and the division of the batch say together. Gradients of several grains that follow the fixed tree stay whole: a slice
/// that is reduced in every backward would be added in another order than on one device.
[[nodiscard]] constexpr Storage storage_of(const Graph& graph, const Layout& layout, const BatchDivision& batch) {
  Storage s;
  s.axis = layout.storage_axis;
  s.parts = layout.slices();
  if (s.parts == 1) return s;
  s.parameters = layout.sharding.parameters;
  s.states = layout.sharding.states;
  s.keeps = layout.sharding.keeps;
  if (s.parameters && !tracks_values(graph)) s.gathered = graph.values;
  s.gradients = layout.sharding.gradients && !(batch.tree && batch.rank_grains() > 1);
  s.adds_slices = s.gradients && batch.total_micro_batches() > 1;
  return s;
}

}  // namespace heddle::plan_room
