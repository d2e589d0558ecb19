// SPDX-License-Identifier: MIT
// Room: plan. Tied weights in a Program: who uses one parameter, and what its owners send each other.
// Sees: graph, policy answers, plan/program, plan/lower/units.  Does not see: names of policies, processes, threads.
// In: Graph, Layout, buckets.  Out: uses, transfers of gradient slices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/buckets.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Calls visit(owner, node, role) for every use of tied parameters; those of one owner one after another, in the order of the model.
template <class Visit> constexpr void each_use(const Graph& graph, const Layout& layout, const bool* shared, Visit visit) {
  for (int owner = 0; owner < graph.node_count && graph.tie_count > 0; ++owner) {
    if (!shared[owner] || graph.nodes[owner].tied_to >= 0) continue;
    for (int n = owner; n < graph.node_count; ++n)
      if (shared[n] && graph.owner(n) == owner) visit(owner, n, layout.device_of_chunk[layout.chunk_of(n)]);
  }
}

/// Every use is sent to every other role that uses the same parameters: visit(use, first use on that role). Uses of one owner lie one after another.
template <class Visit> constexpr void each_tied_transfer(const TiedUse* uses, int count, Visit visit) {
  for (int begin = 0, end = 0; begin < count; begin = end) {
    bool met[Layout::most_chunks]{};  // by role
    int first[Layout::most_chunks]{};
    int roles = 0;
    for (end = begin; end < count && uses[end].owner == uses[begin].owner; ++end) {
      if (met[uses[end].role]) continue;
      met[uses[end].role] = true;
      first[roles++] = end;
    }
    for (int u = begin; u < end; ++u)
      for (int r = 0; r < roles; ++r)
        if (uses[first[r]].role != uses[u].role) visit(u, first[r]);
  }
}

/// Owns the uses of tied parameters that are a constant. A head tied to a table is 2 uses; on two devices each sends the other its gradient: 2
/// transfers.
template <int Uses, int Roles> struct TieTable {
  TiedUse uses[std::size_t{Uses > 0 ? Uses : 1}]{};
  int transfer_count = 0;
  std::int64_t room_bytes[std::size_t{Roles}]{};  ///< of slices that arrive
};

[[nodiscard]] constexpr int count_uses(const Graph& graph, const Layout& layout, const bool* shared) {
  int n = 0;
  each_use(graph, layout, shared, [&](int, int, int) { ++n; });
  return n;
}

/// Who uses which parameters, and how much arrives where: slices, as they are stepped. Returns how many slices are sent.
constexpr int find_ties(const BucketRequest& in, const FlatBucket* buckets, int bucket_count, List<TiedUse>& uses, std::int64_t* room_bytes) {
  each_use(in.graph, in.layout, in.flat.shared, [&](int owner, int node, int role) {
    int bucket = 0;
    while (bucket + 1 < bucket_count && (!buckets[bucket].shared || buckets[bucket].lowest_node != node)) ++bucket;
    uses.append() = TiedUse{static_cast<std::int16_t>(owner), static_cast<std::int16_t>(node), static_cast<std::int16_t>(role),
                            static_cast<std::int16_t>(bucket)};
  });
  int transfers = 0;
  each_tied_transfer(uses.data, uses.count, [&](int use, int to) {
    ++transfers;
    room_bytes[uses.data[to].role] += float_bytes * buckets[uses.data[use].bucket].elements / in.storage.state_parts();
  });
  return transfers;
}

/// Transfers of the bodies, and behind them those of tied gradients.
template <int Count> struct TransferTable { Transfer list[std::size_t{Count > 0 ? Count : 1}]{}; };

/// `room`: bytes that have arrived, by role; zero at first.
constexpr void append_tied_transfers(const TiedUse* uses, int use_count, const FlatBucket* buckets, const Layout& layout, const Storage& storage,
                                     std::int64_t* room, List<Transfer>& to) {
  each_tied_transfer(uses, use_count, [&](int use, int there) {
    const FlatBucket& bucket = buckets[uses[use].bucket];
    Transfer t;
    t.value = static_cast<std::int16_t>(uses[use].node + 1);
    t.from_chunk = static_cast<std::int16_t>(layout.chunk_of(uses[use].node));
    t.to_chunk = static_cast<std::int16_t>(layout.chunk_of(uses[there].node));
    t.from_role = uses[use].role;
    t.to_role = uses[there].role;
    t.gradient = true;
    t.elements = bucket.elements / storage.state_parts();
    t.payload = bucket.payload;  // of all slices
    t.use = static_cast<std::int16_t>(use);
    t.target.offset = room[t.to_role];
    room[t.to_role] += float_bytes * t.elements;
    to.append() = t;
  });
}

}  // namespace heddle::plan_room
