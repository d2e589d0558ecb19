// SPDX-License-Identifier: MIT
// Room: policy. Where policies write their answers: axes they claim, whether the batch is split, how leaves are, which chunk lives where.
// Sees: graph, mesh, core.  Does not see: memory, processes, instructions.
// In: answers of policies, innermost first.  Out: Layout.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/graph/sections.hpp"
#include "heddle/mesh/axis.hpp"
#include "heddle/mesh/mesh.hpp"

namespace heddle::policy_room {

/// The greatest: of 64 and 24 it is 8.
[[nodiscard]] constexpr int common_divisor(int a, int b) {
  while (b != 0) {
    const int rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/// What an order of micro-batches says about one chunk; the lowering turns it into a list by time.
struct OrderRules {
  Text<16> name{"sequential"};
  bool named = false;
  bool forwards_first = false;   ///< a backward waits for all forwards of its round (GPipe)
  bool in_sequence = true;       ///< each chunk visits micro-batches 0, 1, 2, ... in both directions
  bool in_turns = false;         ///< a device takes its computes in one fixed sequence (Turns), not by time
  bool splits_backward = false;  ///< the gradient of the input first, those of the parameters apart from it and later
};

/// The sequence of one device under an order in turns. Its next compute is the gradient of parameters if more than `delayed` of them wait,
/// else a forward if fewer than `in_flight` chunk passes are between forward and backward, else a backward.
/// A device with 4 chunk passes, of which 2 may be in flight and 0 delayed, runs F F B F B F B B.
struct Turns {
  int in_flight = 1;
  int delayed = 0;
};

/// Of which kinds of tensor a rank keeps only its slice along an axis.
struct Sharding {
  bool parameters = false;  ///< gathered before use
  bool gradients = false;   ///< reduced to the slice in every backward
  bool states = false;      ///< each rank steps its slice
  bool keeps = false;       ///< what is gathered stays until the end of the step, else of the pass
  friend constexpr bool operator==(const Sharding&, const Sharding&) = default;
};

/// The answers of all policies of a plan. DataParallel<4> answers with 4 ranks of axis data and 1 chunk.
struct Layout {
  static constexpr int most_chunks = 64;
  static constexpr int unit_parts = 64;                      ///< a unit is padded to this many parts: shard counts divide it
  static constexpr int most_leaves = 1024;                   ///< of a model whose layers are split
  static constexpr std::int64_t most_count = 2'147'483'647;  ///< of ranks, and of rows of a batch: an int counts them

  Mesh mesh;
  bool batch_split[axis_count]{};   ///< by axis: each rank takes other rows
  Axis storage_axis = Axis::shard;  ///< the axis along which units are sliced
  Sharding sharding;                ///< what is sliced along it

  static constexpr int most_shares = 16;
  int shares[most_shares]{};  ///< by coordinate on axis data: rows in proportion; share_count 0: even
  int share_count = 0;

  int chunk_count = 1;                   ///< chunks are consecutive nodes
  int first_node[most_chunks + 1]{};     ///< chunk c has nodes first_node[c] .. first_node[c + 1]
  int device_of_chunk[most_chunks]{};    ///< position on axis stage
  int in_flight[most_chunks]{};          ///< micro-batches between forward and backward, at most
  Turns turns[most_chunks]{};            ///< by position on axis stage, for an order in turns
  std::int8_t signature[most_leaves]{};  ///< by leaf: 0 whole on every rank of axis tensor, else the number of its signature, from 1
  Laid laid_between[most_leaves]{};      ///< by leaf: how its output lies on axis tensor between layers
  bool splits_sequences = false;         ///< asked for: values between split layers are to lie in parts along their sequences
  LossSplit loss;                        ///< how the loss takes an output that is not whole; no policy answers it
  OrderRules order;
  int micro_batches = 1;
  bool trains = true;     ///< false: forwards alone, so a balanced cut counts no backward
  bool balanced = false;  ///< the cut is a choice: any other that fits the memory of the plan will do
  Diagnosis fault;

  constexpr explicit Layout(const Graph& graph) {
    first_node[1] = graph.node_count;
    in_flight[0] = 1;
  }

  constexpr void refuse(const Diagnosis& diagnosis) {
    if (fault.ok()) fault = diagnosis;
  }
  /// Errors  M01 if the axis was claimed before, M02 if the size is below 1, M14 if there are more ranks than an int counts
  constexpr void claim(Axis a, int size) {
    for (int i = 0; i < mesh.count; ++i)
      if (mesh.axes[i] == a)
        return refuse(Diagnosis{Code{'M', 1}, ""} << "axis " << name_of(a) << " is claimed twice, with sizes " << mesh.sizes[i] << " and " << size
                                                  << ". Fix: keep one policy on axis " << name_of(a) << ", of size "
                                                  << std::int64_t{mesh.sizes[i]} * size << '.');
    if (size < 1) return refuse(Diagnosis{Code{'M', 2}, ""} << "axis " << name_of(a) << " has size " << size << ". Fix: use a size of at least 1.");
    if (const std::int64_t ranks = std::int64_t{mesh.ranks()} * size; ranks > most_count)
      return refuse(Diagnosis{Code{'M', 14}, ""} << "with axis " << name_of(a) << " of size " << size << " the plan has " << ranks
                                                 << " ranks, at most " << most_count << " are counted. Fix: use smaller sizes.");
    mesh.axes[mesh.count] = a;
    mesh.sizes[mesh.count++] = size;
  }
  /// Each rank of the axis takes its own rows, so every gradient is a term of a sum along it.
  constexpr void splits_batch(Axis a) { batch_split[static_cast<int>(a)] = true; }
  /// Rows in proportion to shares instead of even ones, by coordinate on axis data.
  /// Errors  M07 if there are too many shares or one is below 1
  constexpr void splits_unevenly(const int* by_coordinate, int count) {
    if (count > most_shares)
      return refuse(Diagnosis{Code{'M', 7}, ""} << count << " shares of the batch are named, but at most " << most_shares
                                                << " are kept. Fix: group equal devices under an even policy.");
    for (int i = 0; i < count; ++i) {
      if (by_coordinate[i] < 1)
        return refuse(Diagnosis{Code{'M', 7}, ""} << "replica " << i << " has share " << by_coordinate[i]
                                                  << " of the batch. Fix: give every replica a share of at least 1, or leave it out.");
    }
    int common = count > 0 ? by_coordinate[0] : 1;  // 6 and 2 are 3 and 1
    for (int i = 1; i < count; ++i) common = common_divisor(common, by_coordinate[i]);
    for (int i = 0; i < count; ++i) {
      shares[i] = by_coordinate[i] / common;
      if (shares[i] != shares[0]) share_count = count;
    }
  }
  /// Each rank of the axis keeps its slice of every unit.
  /// Errors  M05 if the slices would not be even
  constexpr void keeps_slices(Axis a, const Sharding& what) {
    const int n = mesh.size(a);
    if (!fault.ok()) return;
    if (unit_parts % n != 0) {
      int below = 1;
      while (2 * below <= n && 2 * below <= unit_parts) below *= 2;
      Diagnosis found{Code{'M', 5}, ""};
      found << "axis " << name_of(a) << " has size " << n << ", but units are cut into " << unit_parts << " even parts. Fix: use " << below;
      if (2 * below <= unit_parts) found << " or " << 2 * below;
      return refuse(found << ", with DataParallel for the other ranks.");
    }
    storage_axis = a;
    sharding = what;
  }
  /// Ranks that share one copy of what is sliced.
  [[nodiscard]] constexpr int slices() const { return sharding == Sharding{} ? 1 : mesh.size(storage_axis); }
  [[nodiscard]] constexpr int batch_ranks() const {
    int product = 1;
    for (int i = 0; i < mesh.count; ++i)
      if (batch_split[static_cast<int>(mesh.axes[i])]) product *= mesh.sizes[i];
    return product;
  }
  [[nodiscard]] constexpr int chunk_of(int node) const {
    int c = 0;
    while (c + 1 < chunk_count && node >= first_node[c + 1]) ++c;
    return c;
  }
  /// How the ranks of axis tensor share a leaf: in sections where its output lies so, if it may.
  [[nodiscard]] constexpr Signature signature_of(const Graph& graph, int leaf) const {
    if (signature[leaf] == 0) return {};
    const Leaf& split = graph.leaves[leaf].leaf;
    const Signature& stated = split.signatures[signature[leaf] - 1];
    return stated.any_sections && laid_between[leaf].in_sections() ? in_sections(split, stated, laid_between[leaf]) : stated;
  }
  [[nodiscard]] constexpr int roles() const { return mesh.size(Axis::stage); }
};

/// A policy answers for its own axis only.
template <class P>
concept Policy = requires(const Graph& graph, Layout& layout) {
  P::answer(graph, layout);
};

}  // namespace heddle::policy_room

namespace heddle::extending {
using policy_room::Layout;
}  // namespace heddle::extending
