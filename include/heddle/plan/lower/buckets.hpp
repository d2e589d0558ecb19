// SPDX-License-Identifier: MIT
// Room: plan. Buckets: which ranges of a flat buffer are gathered, reduced and stepped as one.
// Sees: graph, policy answers, plan/lower/units, plan/program.  Does not see: processes, threads, kernels.
// In: Graph, Layout, FlatPlaces, bucket size.  Out: FlatBucket.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// From how many elements on a bucket ends. Of units that are sliced 2 ways a bucket of `inside` ends in one only at a multiple of 32 elements, so
/// that slices are whole lines.
struct BucketLimits {
  static constexpr std::int64_t never = INT64_MAX;
  std::int64_t at_units = 0;                 ///< with the first leaf of a unit
  std::int64_t inside = never;               ///< with another leaf
  std::int64_t multiple_of = line_elements;  ///< where inside
};

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
  /// The next lower node with parameters.
  constexpr void take(int n, const BucketLimits& limits) {
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
    } else if (const std::int64_t begin = flat.node_begin[n];
               flat.opens[n] > 0 ? next.begin - begin >= limits.at_units : next.begin - begin >= limits.inside && begin % limits.multiple_of == 0) {
      close(begin);
    }
  }
  /// Of a leaf whose parameters another one keeps: what lies behind the parameters of the role.
  constexpr void take_gradient(int n, std::int64_t owner_begin) {
    const ParameterPlace* const places = flat.parameters + graph.nodes[n].first_parameter;
    FlatBucket own{.role = next.role, .slot = next.slot};
    own.lowest_node = own.highest_node = n;
    own.payload = graph.parameter_elements(n);
    own.begin = flat.node_begin[n];
    for (int k = 0; k < graph.nodes[n].parameter_count; ++k)
      if (const std::int64_t all = places[k].begin + places[k].elements - own.begin; all > own.elements) own.elements = all;
    own.elements = rounded_up(own.elements, unit_elements);
    own.shared = true;
    own.owner_begin = owner_begin - (places[0].begin - own.begin);
    visit(own);
    next.slot = static_cast<std::int16_t>(1 - next.slot);
  }
};

/// Where buckets of at least `bytes` end. Gathered parameters are released unit by unit, and norms are summed over slices of units, so that each is a
/// bucket then. Gradients that pass through a ring end with each unit, and inside one that is larger. A unit whose parameters lie by group ends with
/// its last leaf in each group, so it is not cut.
[[nodiscard]] constexpr BucketLimits bucket_limits(std::int64_t bytes, const Storage& storage, bool by_units, bool grouped) {
  BucketLimits limits;
  const std::int64_t enough = 1 + (bytes - 1) / float_bytes;
  if (!by_units && !storage.parameters && !storage.gradients) limits.at_units = enough;
  if (!by_units && !storage.parameters && !grouped) limits.inside = enough;
  limits.multiple_of = storage.parts * line_elements;
  return limits;
}

/// Cuts each role's flat buffer, from its end, into buckets of at least `bucket_bytes`; visit(FlatBucket) in the order they become final.
template <class Visit>
constexpr void each_bucket(const Graph& graph, const Layout& layout, const FlatPlaces& flat, std::int64_t bucket_bytes, const Storage& storage,
                           bool by_units, Visit visit) {
  const BucketLimits limits = bucket_limits(bucket_bytes, storage, by_units, flat.grouped);
  for (int role = 0; role < layout.roles(); ++role) {
    BucketCutter<Visit> cutter{graph, flat, visit};
    cutter.next.role = static_cast<std::int16_t>(role);
    cutter.next.begin = flat.role_elements[role];
    for (int c = layout.chunk_count - 1; c >= 0; --c) {
      if (layout.device_of_chunk[c] != role) continue;
      for (int n = layout.first_node[c + 1] - 1; n >= layout.first_node[c]; --n)
        if (graph.nodes[n].trained_count() > 0) cutter.take(n, limits);
    }
    if (cutter.next.payload > 0) cutter.close(0);
  }
}

/// Units of parameters that are not trained, where they are sliced: visit(FlatBucket) from the last of each role to its first.
template <class Visit> constexpr void each_frozen_unit(const Graph& graph, const Layout& layout, const FlatPlaces& flat, Visit visit) {
  for (int role = 0; role < layout.roles(); ++role) {
    FlatBucket next{.role = static_cast<std::int16_t>(role), .begin = flat.frozen_elements[role], .frozen = true};
    const auto close = [&] {
      if (next.payload == 0) return;
      next.elements = next.begin - flat.node_begin[next.lowest_node];
      next.begin = flat.node_begin[next.lowest_node];
      visit(next);
      next.payload = 0;
      next.highest_node = -1;
      next.slot = static_cast<std::int16_t>(1 - next.slot);
    };
    for (int c = layout.chunk_count - 1; c >= 0; --c) {
      if (layout.device_of_chunk[c] != role) continue;
      for (int n = layout.first_node[c + 1] - 1; n >= layout.first_node[c]; --n) {
        if (!graph.frozen(n)) continue;
        const int block = graph.nodes[n].block;
        const ParameterPlace& first = flat.parameters[graph.nodes[n].first_parameter];
        if (first.owner_begin >= 0) {  // a unit of its own, gathered of what another leaf keeps
          close();
          FlatBucket use = next;
          use.lowest_node = use.highest_node = n;
          use.payload = graph.parameter_elements(n);
          use.begin = first.begin;
          use.owner_begin = first.owner_begin;
          for (int k = 0; k < graph.nodes[n].parameter_count; ++k) use.elements = (&first)[k].begin + (&first)[k].elements - first.begin;
          use.elements = rounded_up(use.elements, unit_elements);
          visit(use);
          next.slot = static_cast<std::int16_t>(1 - next.slot);
          continue;
        }
        if (next.payload > 0 && (block < 0 || block != graph.nodes[next.lowest_node].block)) close();
        next.payload += graph.parameter_elements(n);
        next.lowest_node = n;
        if (next.highest_node < 0) next.highest_node = n;
      }
      close();
    }
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
  [[nodiscard]] constexpr int frozen_count() const {
    int n = 0;
    if (storage.parameters) each_frozen_unit(graph, layout, flat, [&](const FlatBucket&) { ++n; });
    return n;
  }
  /// `of_node` is written where units pass through rings.
  constexpr void write(List<FlatBucket>& list, std::int16_t* of_node) const {
    each([&](const FlatBucket& b) {
      list.append() = b;
      if (storage.parameters || storage.gradients)
        for (int n = b.lowest_node; n <= b.highest_node; ++n) of_node[n] = static_cast<std::int16_t>(list.count - 1);
    });
    if (!storage.parameters) return;
    each_frozen_unit(graph, layout, flat, [&](const FlatBucket& b) {
      list.append() = b;
      for (int n = b.lowest_node; n <= b.highest_node; ++n)
        if (graph.frozen(n)) of_node[n] = static_cast<std::int16_t>(list.count - 1);
    });
  }
};

}  // namespace heddle::plan_room
