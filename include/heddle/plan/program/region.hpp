// SPDX-License-Identifier: MIT
// Room: plan. Regions of an arena: what is kept for how long, in how many slices and copies, and how tensors are found in it.
// Sees: core.  Does not see: graph, policies, processes, threads.
// In: numbers of the lowering.  Out: Region, ArenaMap.
#pragma once

#include <cstdint>

#include "heddle/core/rooms.hpp"
#include "heddle/core/shape.hpp"

namespace heddle::plan_room {

/// What a region holds, in the order in which regions lie.
enum class RegionKind : std::uint8_t {
  parameters,  // whole, or the slices of all units
  frozen,      // parameters that are not trained: whole, or the slices of all units
  gathered,    // units while they are read: a ring of two, or all where they are kept
  thawed,      // the same of parameters that are not trained
  gradients,   // one copy for each level of the counter
  fresh,       // gradients of units before their reduction, a ring of two
  arrived,     // reduced slices of units that are still to be added, a ring of two
  ties,        // slices of gradients of tied parameters from other roles
  states,      // one copy for each state of the optimizer
  losses,      // one element a grain, then the sum
  norms,       // one element a unit of the model, then the flag of an overflow
  zeros,       // in place of parameters that another coordinate of axis tensor adds
  pools,       // of values
  scratch
};
inline constexpr int region_kinds = 14;

/// How a tensor is found in a region: by its place in the flat buffer of its role, by the slot of its bucket, or by an offset that a table has.
enum class Addressing : std::uint8_t { flat, ring, list };

/// One part of an arena. Two states of Adam for Linear<16, 16> are two copies of 4,096 bytes; a rank of two that slice them has copies of 2,048.
struct Region {
  ElementType type = ElementType::float32;
  Addressing addressing = Addressing::list;
  std::int16_t parts = 1;       // slices of a flat buffer: a rank has one of them
  std::int16_t copies = 0;      // levels, states, slots of a ring
  std::int64_t begin = 0;       // [bytes]
  std::int64_t slot_bytes = 0;  // of a copy

  [[nodiscard]] constexpr std::int64_t bytes() const { return copies * slot_bytes; }
  [[nodiscard]] constexpr std::int64_t end() const { return begin + copies * slot_bytes; }
  /// Of the flat buffer, all slices together.
  [[nodiscard]] constexpr std::int64_t elements() const { return slot_bytes / bytes_of(type) * parts; }
  /// Where in the arena an element of a copy lies, counted over all slices. [bytes]
  [[nodiscard]] constexpr std::int64_t in_copy(int copy, std::int64_t element) const {
    return begin + copy * slot_bytes + element / parts * bytes_of(type);
  }
  /// Where in the arena a bucket or parameter lies that begins at `element` of the flat buffer and whose bucket has that slot. [bytes]
  [[nodiscard]] constexpr std::int64_t at(std::int64_t element, int slot, int copy = 0) const {
    return addressing == Addressing::ring ? in_copy(slot, 0) : in_copy(copy, element);
  }
};

/// The arena of one role: regions one behind the other, each at a multiple of 64 bytes.
/// Linear<16, 16> with SGD has parameters from 0 and gradients from 4,096 on.
struct ArenaMap {
  Region regions[region_kinds]{};
  std::int64_t total = 0;  // [bytes]

  [[nodiscard]] constexpr Region& operator[](RegionKind kind) { return regions[static_cast<int>(kind)]; }
  [[nodiscard]] constexpr const Region& operator[](RegionKind kind) const { return regions[static_cast<int>(kind)]; }
  /// Parameters of the role, all slices of each unit together and with padding.
  [[nodiscard]] constexpr std::int64_t flat_elements() const { return (*this)[RegionKind::parameters].elements(); }
  /// Pools of values and scratch. [bytes]
  [[nodiscard]] constexpr std::int64_t value_bytes() const { return total - (*this)[RegionKind::pools].begin; }
  /// Bytes from the begin of one kind of region to the begin of another.
  [[nodiscard]] constexpr std::int64_t bytes(RegionKind from, RegionKind to) const { return (*this)[to].begin - (*this)[from].begin; }
};

}  // namespace heddle::plan_room
