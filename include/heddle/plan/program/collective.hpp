// SPDX-License-Identifier: MIT
// Room: plan. Collectives of a Program as data: what ranks sum or gather along an axis, for what, how much, from where to where.
// Sees: mesh, plan/program/region.  Does not see: graph, policies, processes, threads.
// In: numbers of the lowering.  Out: Collective, Address.
#pragma once

#include <cstdint>

#include "heddle/core/ring_volume.hpp"
#include "heddle/mesh/mesh.hpp"
#include "heddle/plan/program/region.hpp"

namespace heddle::plan_room {

/// What is done: a sum that every rank gets, a sum of which every rank gets a slice, slices that every rank gets whole.
enum class CollectiveKind : std::uint8_t { all_reduce, reduce_scatter, all_gather };
inline constexpr int collective_kinds = 3;

/// What it is done for.
enum class Purpose : std::uint8_t {
  gradient,        // of a bucket
  parameters,      // of a bucket
  value,           // between or within layers that are split, or its gradient
  parameter_term,  // the gradient of one parameter that the ranks of axis tensor hold whole, and of which each has a term
  loss,
  norm,  // what ranks tell each other before a step (plan/program/before_step.hpp)
  phase  // what the ranks that split the batch tell each other between two phases of a layer
};

/// Where one end of a collective lies in the arena of a rank: in a copy of a region or, in a pool, in the slot of the micro-batch.
/// Slices of 512 elements of gradients that are whole have stride 512 along axis shard: that of coordinate 1 begins 512 elements behind `begin`.
struct Address {
  RegionKind region = RegionKind::scratch;
  Axis along = Axis::data;  // the coordinate that chooses the part
  std::int16_t pool = -1;   // of region `pools` alone
  std::int16_t copy = 0;    // level of gradients, slot of a ring
  std::int64_t begin = 0;   // [elements], of the flat buffer, or from the begin of the copy or slot
  std::int64_t stride = 0;  // [elements], from one coordinate to the next; 0: the same on all ranks
  friend constexpr bool operator==(const Address&, const Address&) = default;
};

/// One collective, which a START and a WAIT name. DataParallel<2> sums the gradient of Linear<16, 16> in an all-reduce of 1,024 elements, of which
/// 272 are payload.
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  Purpose purpose = Purpose::gradient;
  Axis axis = Axis::data;
  SumOrder order = SumOrder::any;
  ElementType type = ElementType::float32;  // of what lies at both ends
  bool accumulates = false;                 // later micro-batches get it at `arrived`, and an entry adds it to the target
  std::int16_t slices = 1;                  // the payload is that of so many slices, of which the ranks of this group have one
  Address source{};                         // what a rank gives; of an all-reduce the target
  Address target{};                         // what it gets
  Address arrived{};
  std::int64_t elements = 0;  // of the whole, before it is scattered or after it is gathered, with the padding of grains and flat buffers
  std::int64_t payload = 0;   // without the padding
  friend constexpr bool operator==(const Collective&, const Collective&) = default;

  [[nodiscard]] constexpr bool sums() const { return kind != CollectiveKind::all_gather; }
  /// A sum travels as float32, whatever its terms are kept as; what is only moved travels as it lies.
  [[nodiscard]] constexpr ElementType wire() const { return sums() ? ElementType::float32 : type; }
  /// A rank widens its terms before they travel, and rounds the sum.
  [[nodiscard]] constexpr bool widens() const { return wire() != type; }
  /// What a transport is told to move of the whole: 64 elements of bfloat16 that are gathered are 32.
  [[nodiscard]] constexpr std::int64_t floats() const { return elements * bytes_of(wire()) / float_bytes; }
  /// An entry of its own, which starts it and waits for it: at most one of these is under way on a rank. Others have START and WAIT.
  [[nodiscard]] constexpr bool at_once() const {
    return purpose == Purpose::value || purpose == Purpose::parameter_term || purpose == Purpose::phase;
  }
  /// Passes round a ring.
  [[nodiscard]] constexpr int halves() const { return kind == CollectiveKind::all_reduce ? 2 : 1; }
};

}  // namespace heddle::plan_room
