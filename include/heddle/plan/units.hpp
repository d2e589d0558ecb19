// SPDX-License-Identifier: MIT
// Room: plan. Flat buffers: where each parameter lies, how units are padded, which ranges are reduced as one bucket.
// Sees: graph, policy answers, plan/program.  Does not see: processes, threads, kernels.
// In: Graph, Layout, bucket size.  Out: ParameterPlace, GradientBucket.
#pragma once

#include <cstdint>

#include "heddle/plan/program.hpp"

namespace heddle::inline plan_room {

inline constexpr std::int64_t line_bytes = 64;       ///< every tensor starts at a multiple of this
inline constexpr std::int64_t unit_bytes = 64 * 64;  ///< a unit is padded to 64 parts of 64 bytes, whatever the layout

[[nodiscard]] constexpr std::int64_t rounded_up(std::int64_t bytes, std::int64_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

template <int Parameters, int Nodes, int Roles> struct FlatBuffers {
  ParameterPlace parameters[Parameters > 0 ? Parameters : 1]{};
  std::int64_t node_begin[Nodes > 0 ? Nodes : 1]{};  ///< offset of the first parameter of a node in its role's buffer
  bool starts_unit[Nodes > 0 ? Nodes : 1]{};
  FlatUnit units[Parameters > 0 ? Parameters : 1]{};
  int unit_count = 0;
  std::int64_t role_bytes[Roles]{};

  constexpr void open_unit(int role, std::int64_t offset) {
    units[unit_count].role = static_cast<std::int16_t>(role);
    units[unit_count++].offset = offset;
  }
  constexpr void close_unit(std::int64_t end) {
    if (unit_count > 0 && units[unit_count - 1].elements == 0) units[unit_count - 1].elements = (end - units[unit_count - 1].offset) / 4;
  }
};

/// True if a cut goes through a block of the outermost Repeat: its parameters are then two units, and one where the block is whole.
[[nodiscard]] constexpr bool cuts_a_unit(const Graph& graph, const Layout& layout) {
  for (int c = 1; c < layout.chunk_count; ++c) {
    const int n = layout.first_node[c];
    if (graph.nodes[n].block >= 0 && graph.nodes[n].block == graph.nodes[n - 1].block) return true;
  }
  return false;
}

/// Lays parameters out in the order of nodes. A unit is a block of the outermost Repeat, or a leaf outside; it ends at a cut too.
template <int Parameters, int Nodes, int Roles>
[[nodiscard]] constexpr FlatBuffers<Parameters, Nodes, Roles> lay_out_parameters(const Graph& graph, const Layout& layout) {
  FlatBuffers<Parameters, Nodes, Roles> flat;
  for (int c = 0; c < layout.chunk_count; ++c) {
    const int role = layout.device_of_chunk[c];
    std::int64_t& end = flat.role_bytes[role];
    int block = -1;
    for (int n = layout.first_node[c]; n < layout.first_node[c + 1]; ++n) {
      const Node& node = graph.nodes[n];
      if (node.parameter_count == 0) {
        flat.node_begin[n] = end;
        continue;
      }
      flat.starts_unit[n] = node.block < 0 || node.block != block;
      if (flat.starts_unit[n]) {
        end = rounded_up(end, unit_bytes);
        flat.close_unit(end);
        flat.open_unit(role, end);
      }
      block = node.block;
      flat.node_begin[n] = end;
      for (int p = 0; p < node.parameter_count; ++p) {
        ParameterPlace& place = flat.parameters[node.first_parameter + p];
        place.node = n;
        place.index = static_cast<std::int16_t>(p);
        place.role = static_cast<std::int16_t>(role);
        place.offset = end;
        place.elements = graph.leaf(n).parameters[p].shape.elements();
        if (const Laid used = graph.signature(n).parameters[p]; used.sharded()) place.split = static_cast<std::int8_t>(used.dimension());
        end = rounded_up(end + 4 * place.elements, line_bytes);
      }
    }
    end = rounded_up(end, unit_bytes);
    flat.close_unit(end);
  }
  return flat;
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

/// Cuts each role's flat buffer, from its end, into buckets of at least `bucket` bytes; visit(GradientBucket) in the order they become final.
/// Sliced buffers are cut between units only, and unit by unit if asked or where parameters or gradients pass through rings.
template <class Flat, class Visit>
constexpr void each_bucket(const Graph& graph, const Layout& layout, const Flat& flat, std::int64_t bucket, const Storage& storage, bool by_units,
                           Visit visit) {
  if (by_units || storage.parameters || storage.gradients) bucket = 0;
  for (int role = 0; role < layout.roles(); ++role) {
    GradientBucket next;
    next.role = static_cast<std::int16_t>(role);
    next.offset = flat.role_bytes[role];
    const auto close = [&](std::int64_t begin) {
      next.elements = (next.offset - begin) / 4;
      next.offset = begin;
      visit(next);
      next.payload = 0;
      next.highest_node = -1;
      next.slot = static_cast<std::int16_t>(1 - next.slot);
    };
    for (int c = layout.chunk_count - 1; c >= 0; --c) {
      if (layout.device_of_chunk[c] != role) continue;
      for (int n = layout.first_node[c + 1] - 1; n >= layout.first_node[c]; --n) {
        if (graph.nodes[n].parameter_count == 0) continue;
        next.payload += graph.parameter_elements(n);
        next.lowest_node = n;
        if (next.highest_node < 0) next.highest_node = n;
        if (next.offset - flat.node_begin[n] < bucket || (storage.parts > 1 && !flat.starts_unit[n])) continue;
        close(flat.node_begin[n]);
      }
    }
    if (next.payload > 0) close(0);
  }
}

}  // namespace heddle::inline plan_room
