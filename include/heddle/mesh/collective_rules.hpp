// SPDX-License-Identifier: MIT
// Room: mesh. What each collective of user code takes: the rules P13, P16 and P18 as functions of values.
// Sees: core, mesh/distributed.  Does not see: ranks, processes, transports.
// In: the collective, its axes, the type of its operand.  Out: ok, or a Diagnosis that names the axes.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/core/type_name.hpp"
#include "heddle/mesh/distributed.hpp"

namespace heddle::mesh_room {

/// The floats of a value: one, or those that data() and size() name.
template <class T>
concept FloatBuffer = requires(T& t) {
  { t.data() } -> std::same_as<float*>;
  { t.size() } -> std::convertible_to<std::int64_t>;
};
template <class T>
concept Resizable = FloatBuffer<T> && requires(T& t) {
  t.resize(t.size());
};
template <class T> inline constexpr bool is_movable = std::same_as<T, float> || FloatBuffer<T>;

/// The rows of a mean that says them: MeanOf<rows>. By the type, since a member of that name may be anything.
template <class T> inline constexpr bool is_mean_of_rows = false;

/// What a collective does along an axis. A mean of a fixed number of rows is no term of a sum.
enum class CalledCollective : std::uint8_t { all_reduce, reduce_scatter, all_gather, broadcast, assume_reduced };
[[nodiscard]] constexpr std::string_view name_of(CalledCollective c) {
  constexpr std::string_view names[] = {"all_reduce", "reduce_scatter", "all_gather", "broadcast", "assume_reduced"};
  return names[static_cast<int>(c)];
}

[[nodiscard]] constexpr Diagnosis may_reduce(CalledCollective what, Axis a, const Placements& p) {
  if (p.at(a) == Placement::partial) return {};
  Diagnosis found{Code{'P', 13}, name_of(what)};
  found << " over " << name_of(a) << " takes a sum that is not yet taken, but the value is " << spelled(p).view() << ": ";
  if (p.at(a) == Placement::shard) return found << "its ranks hold parts, not terms. Fix: call all_gather<axis::" << name_of(a) << ">.";
  return found << "it is whole along " << name_of(a) << " and would be counted once a rank. Fix: leave the call out"
               << (p.any(Placement::partial) ? Text<160>{", or name "} << axes_with(p, Placement::partial).view() : Text<160>{}).view() << '.';
}
[[nodiscard]] constexpr Diagnosis joins_the_first_dimension(CalledCollective what, Axis a, const Placements& p) {
  for (const Axis i : every_axis) {
    if (p.at(i) != Placement::shard) continue;
    if (i != a && p.dimension(i) == 0)
      return Diagnosis{Code{'P', 13}, name_of(what)} << " over " << name_of(a) << " works on dimension 0, which is split over " << name_of(i)
                                                     << " as well. Fix: call all_gather<axis::" << name_of(i) << "> first.";
    if (i == a && p.dimension(i) != 0)
      return Diagnosis{Code{'P', 13}, name_of(what)} << " over " << name_of(a)
                                                     << " joins parts along dimension 0, but the value is split along dimension " << p.dimension(i)
                                                     << ". Fix: transpose it, so that dimension 0 is the one that is split.";
  }
  return {};
}
[[nodiscard]] constexpr Diagnosis may_gather(Axis a, const Placements& p) {
  if (p.at(a) == Placement::shard) return joins_the_first_dimension(CalledCollective::all_gather, a, p);
  Diagnosis found{Code{'P', 13}, "all_gather over "};
  found << name_of(a) << " joins parts, but the value is " << spelled(p).view() << ": ";
  if (p.at(a) == Placement::partial)
    return found << "each rank of " << name_of(a) << " holds a term of a sum. Fix: call all_reduce<axis::" << name_of(a) << ">.";
  return found << "every rank of " << name_of(a) << " has all of it. Fix: leave the call out.";
}
[[nodiscard]] constexpr Diagnosis may_broadcast(Axis a, const Placements& p) {
  if (p.at(a) == Placement::replicate) return {};
  const bool term = p.at(a) == Placement::partial;
  return Diagnosis{Code{'P', 13}, "broadcast over "} << name_of(a) << " would replace what the other ranks hold, but theirs are "
                                                     << (term ? "terms of a sum" : "other parts") << ". Fix: call "
                                                     << (term ? "all_reduce" : "all_gather") << "<axis::" << name_of(a) << ">.";
}

/// The rule of one call: the first axis that does not fit.
template <CalledCollective What, Axis... Axes> [[nodiscard]] constexpr Diagnosis may_call(Placements p) {
  Diagnosis found;
  const auto along = [&](Axis a) {
    if (!found.ok()) return;
    if (What == CalledCollective::all_gather)
      found = may_gather(a, p);
    else if (What == CalledCollective::broadcast)
      found = may_broadcast(a, p);
    else
      found = may_reduce(What, a, p);
    if (found.ok() && What == CalledCollective::reduce_scatter) found = joins_the_first_dimension(What, a, p);
    p = p.with(a, What == CalledCollective::reduce_scatter ? Placement::shard : Placement::replicate);
  };
  (along(Axes), ...);
  return found;
}

template <CalledCollective What, class X, Axis... Axes> [[nodiscard]] constexpr Diagnosis call_is_sound() {
  using Held = std::remove_cvref_t<decltype(held_by(std::declval<const X&>()))>;
  const auto call = [] { return Diagnosis{Code{'P', 18}, name_of(What)}; };
  if constexpr (was_refused(placements_in<X>()))
    return Diagnosis{};
  else if constexpr (sizeof...(Axes) == 0)
    return call() << " names no axis. Fix: write " << name_of(What) << "<axis::data>, with the axes along which it works.";
  else if constexpr (!is_distributed<X> && What != CalledCollective::broadcast)
    return call() << " is given " << type_name<X>().view() << ", which does not say how it lies over the ranks. Fix: wrap it, as in "
                  << "Distributed<float, Partial<axis::data>>{x}.";
  else if constexpr (is_mean_of_rows<Held> && What != CalledCollective::broadcast && What != CalledCollective::assume_reduced)
    return Diagnosis{Code{'P', 16}, name_of(What)} << " is given means of " << Held::mean_rows
                                                   << " rows each: their sum is no mean. Fix: call mean_over.";
  else if constexpr (!is_movable<Held> && What != CalledCollective::assume_reduced)
    return call() << " cannot move " << type_name<Held>().view() << ": only float moves. Fix: use float, or a type with data() and size() of float.";
  else if constexpr (!Resizable<Held> && (What == CalledCollective::reduce_scatter || What == CalledCollective::all_gather))
    return call() << " gives another number of elements, but " << type_name<Held>().view()
                  << " has a fixed one. Fix: use a type with resize(), as std::vector<float>.";
  else
    return may_call<What, Axes...>(placements_in<X>());
}
/// Holds what is wrong with a call of a collective: P13 where all_reduce is called on a value that is Replicate, or nothing.
template <CalledCollective What, class X, Axis... Axes> struct Calling { static constexpr Diagnosis found = call_is_sound<What, X, Axes...>(); };

/// Holds what is wrong with assume_reduced: P18 if it is given no reason, else what is wrong with the call.
template <bool HasReason, class X, Axis... Axes> struct Assuming {
  static constexpr Diagnosis found =
      HasReason ? call_is_sound<CalledCollective::assume_reduced, X, Axes...>()
                : Diagnosis{Code{'P', 18}, "assume_reduced has no reason. Fix: say in a literal why the sum is taken already."};
};

/// Holds P18 of a barrier that names no axis, or nothing.
template <Axis... Axes> struct Waiting {
  static constexpr Diagnosis found =
      sizeof...(Axes) > 0 ? Diagnosis{}
                          : Diagnosis{Code{'P', 18}, "barrier names no axis. Fix: write barrier<axis::data>, with the axes whose ranks wait."};
};

/// Where the result lies; after a refusal as the operand.
template <CalledCollective What, class X, Axis... Axes> [[nodiscard]] constexpr Placements placements_after() {
  Placements p = placements_in<X>();
  if constexpr (Calling<What, X, Axes...>::found.ok() && !was_refused(placements_in<X>()))
    ((p = p.with(Axes, What == CalledCollective::reduce_scatter ? Placement::shard : Placement::replicate)), ...);
  return p;
}

}  // namespace heddle::mesh_room
