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
  std::int64_t role_bytes[Roles]{};
};

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
      if (node.block < 0 || node.block != block) end = rounded_up(end, unit_bytes);
      block = node.block;
      flat.node_begin[n] = end;
      for (int p = 0; p < node.parameter_count; ++p) {
        ParameterPlace& place = flat.parameters[node.first_parameter + p];
        place.node = n;
        place.index = static_cast<std::int16_t>(p);
        place.role = static_cast<std::int16_t>(role);
        place.offset = end;
        place.elements = graph.leaf(n).parameters[p].shape.elements();
        end = rounded_up(end + 4 * place.elements, line_bytes);
      }
    }
    end = rounded_up(end, unit_bytes);
  }
  return flat;
}

/// Cuts each role's flat buffer, from its end, into buckets of at least `bucket` bytes; visit(GradientBucket) in the order they become final.
template <class Flat, class Visit>
constexpr void each_bucket(const Graph& graph, const Layout& layout, const Flat& flat, std::int64_t bucket, Visit visit) {
  for (int role = 0; role < layout.roles(); ++role) {
    std::int64_t end = flat.role_bytes[role];
    std::int64_t payload = 0;
    int lowest = -1;
    for (int c = layout.chunk_count - 1; c >= 0; --c) {
      if (layout.device_of_chunk[c] != role) continue;
      for (int n = layout.first_node[c + 1] - 1; n >= layout.first_node[c]; --n) {
        if (graph.nodes[n].parameter_count == 0) continue;
        payload += graph.parameter_elements(n);
        lowest = n;
        if (end - flat.node_begin[n] < bucket) continue;
        visit(GradientBucket{static_cast<std::int16_t>(role), n, flat.node_begin[n], (end - flat.node_begin[n]) / 4, payload});
        end = flat.node_begin[n];
        payload = 0;
      }
    }
    if (payload > 0) visit(GradientBucket{static_cast<std::int16_t>(role), lowest, 0, end / 4, payload});
  }
}

}  // namespace heddle::inline plan_room
