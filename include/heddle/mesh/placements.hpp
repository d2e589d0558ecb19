// SPDX-License-Identifier: MIT
// Room: mesh. How one value of user code lies along every axis: the types a user writes, and the one value they become.
// Sees: core, mesh/axis, mesh/placement.  Does not see: values, ranks, processes.
// In: Partial<axis::data>, Shard<axis::shard>, ...  Out: Placements, a template argument.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/core/text.hpp"
#include "heddle/mesh/axis.hpp"
#include "heddle/mesh/placement.hpp"

namespace heddle::mesh_room {

inline constexpr Axis every_axis[] = {Axis::data, Axis::shard, Axis::tensor, Axis::stage, Axis::context, Axis::expert};
static_assert(sizeof every_axis / sizeof every_axis[0] == axis_count);

/// What is known of a value that is whole along an axis: a mean and a sum have another divisor and do not mix.
enum class Taken : std::uint8_t { unknown, sum, mean };

enum class PlacementFault : std::uint8_t {
  none,
  axis_named_twice,
  dimension_out_of_range,
  no_placement,
  refused  ///< the result of an operation that was an error: what comes after is silent
};

/// Placement along each axis; axes that nobody names are replicated. The order of the names does not matter.
/// One number, eight bits an axis and eight for a fault: g++ 12 takes template arguments with arrays for equal that differ only in where
/// their entries stand.
struct Placements {
  std::uint64_t bits = 0;
  static constexpr int most_dimension = 15;

  friend constexpr bool operator==(const Placements&, const Placements&) = default;

  [[nodiscard]] constexpr Placement at(Axis a) const { return static_cast<Placement>(field(a, 0, 3)); }
  [[nodiscard]] constexpr Taken taken(Axis a) const { return static_cast<Taken>(field(a, 2, 3)); }
  /// That a Shard splits.
  [[nodiscard]] constexpr int dimension(Axis a) const { return static_cast<int>(field(a, 4, most_dimension)); }
  [[nodiscard]] constexpr PlacementFault fault() const { return static_cast<PlacementFault>(bits >> 56); }
  [[nodiscard]] constexpr Axis fault_axis() const { return static_cast<Axis>(bits >> 48 & 0xFF); }

  /// The same but for one axis.
  [[nodiscard]] constexpr Placements with(Axis a, Placement placement, Taken how = Taken::unknown, int dimension = 0) const {
    const auto entry =
        static_cast<std::uint64_t>(placement) | static_cast<std::uint64_t>(how) << 2 | static_cast<std::uint64_t>(dimension & most_dimension) << 4;
    return {(bits & ~(std::uint64_t{0xFF} << 8 * static_cast<int>(a))) | entry << 8 * static_cast<int>(a)};
  }
  [[nodiscard]] constexpr Placements marked(Axis a, Taken how) const { return with(a, at(a), how, dimension(a)); }
  /// with() for what a user names: an axis twice, or a dimension that cannot be, is remembered.
  constexpr void put(Axis a, Placement placement, Taken how = Taken::unknown, int dimension = 0) {
    const bool twice = field(a, 0, 0xFF) != 0;
    *this = with(a, placement, how, dimension);
    if (twice) fail(PlacementFault::axis_named_twice, a);
    if (dimension < 0 || dimension > most_dimension) fail(PlacementFault::dimension_out_of_range, a);
  }
  constexpr void fail(PlacementFault fault, Axis a) {
    bits = (bits & ((std::uint64_t{1} << 48) - 1)) | static_cast<std::uint64_t>(fault) << 56 | static_cast<std::uint64_t>(a) << 48;
  }
  [[nodiscard]] constexpr bool any(Placement placement) const {
    for (const Axis a : every_axis)
      if (at(a) == placement) return true;
    return false;
  }
  [[nodiscard]] constexpr bool any(Taken how) const {
    for (const Axis a : every_axis)
      if (taken(a) == how) return true;
    return false;
  }

 private:
  [[nodiscard]] constexpr std::uint64_t field(Axis a, int shift, std::uint64_t mask) const {
    return bits >> (8 * static_cast<int>(a) + shift) & mask;
  }
};

/// The same value on every rank of the axes that no other placement names.
struct Replicate {
  static constexpr void place(Placements&) {}
};
/// Each rank of the axes holds a term of a sum that is not yet taken.
template <Axis... Axes> struct Partial {
  static constexpr void place(Placements& p) { (p.put(Axes, Placement::partial), ...); }
};
/// Each rank of the axis holds its part; the parts in the order of the ranks, along one dimension.
template <Axis Over, int Dimension = 0> struct Shard {
  static constexpr void place(Placements& p) { p.put(Over, Placement::shard, Taken::unknown, Dimension); }
};
/// The same on every rank of the axes, and known to be a sum over them.
template <Axis... Axes> struct Sum {
  static constexpr void place(Placements& p) { (p.put(Axes, Placement::replicate, Taken::sum), ...); }
};
/// The same on every rank of the axes, and known to be a mean over all rows that they hold.
template <Axis... Axes> struct Mean {
  static constexpr void place(Placements& p) { (p.put(Axes, Placement::replicate, Taken::mean), ...); }
};

inline constexpr Placements after_a_refusal = [] {
  Placements p;
  p.fail(PlacementFault::refused, Axis::data);
  return p;
}();
[[nodiscard]] constexpr bool was_refused(const Placements& p) { return p.fault() == PlacementFault::refused; }

template <class P>
concept IsPlacement = requires(Placements& p) {
  P::place(p);
};

template <class P> constexpr void place(Placements& placements) {
  if constexpr (IsPlacement<P>)
    P::place(placements);
  else
    placements.fail(PlacementFault::no_placement, Axis::data);
}
template <class... P> [[nodiscard]] constexpr Placements placements_of() {
  Placements placements;
  (place<P>(placements), ...);
  return placements;
}

/// "data", "data and shard": the axes with a placement.
[[nodiscard]] constexpr Text<80> axes_with(const Placements& p, Placement placement, std::string_view between = " and ") {
  Text<80> names;
  for (const Axis a : every_axis) {
    if (p.at(a) != placement) continue;
    if (!names.empty()) names << between;
    names << name_of(a);
  }
  return names;
}

/// As a user writes it: "Partial<data>, Shard<shard, 0>"; "Replicate" if the value is whole and nothing else is known.
[[nodiscard]] constexpr Text<160> spelled(const Placements& p) {
  Text<160> words;
  for (const Axis a : every_axis) {
    if (p.at(a) == Placement::replicate && p.taken(a) == Taken::unknown) continue;
    if (!words.empty()) words << ", ";
    words << (p.taken(a) == Taken::sum ? "Sum" : p.taken(a) == Taken::mean ? "Mean" : name_of(p.at(a))) << '<' << name_of(a);
    if (p.at(a) == Placement::shard) words << ", " << p.dimension(a);
    words << '>';
  }
  if (words.empty()) words << "Replicate";
  return words;
}

}  // namespace heddle::mesh_room

namespace heddle::extending {
using mesh_room::Mean, mesh_room::Partial, mesh_room::Replicate, mesh_room::Shard, mesh_room::Sum;
}  // namespace heddle::extending
