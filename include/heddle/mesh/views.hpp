// SPDX-License-Identifier: MIT
// Room: mesh. Which types hold no numbers of their own but look at those of others: pointers, references, spans, structs that contain them.
// Sees: the standard library.  Does not see: placements, ranks, processes.
// In: a type.  Out: looks_at_others<T>, as far as a type tells it.
#pragma once

#include <string_view>  // with std::ranges::enable_view
#include <type_traits>

#include "heddle/core/rooms.hpp"

namespace heddle::mesh_room {

template <class R> inline constexpr bool is_changeable = std::is_lvalue_reference_v<R> && !std::is_const_v<std::remove_reference_t<R>>;
template <class P> inline constexpr bool points_to_changeable = std::is_pointer_v<P> && !std::is_const_v<std::remove_pointer_t<P>>;

/// A constant object that hands out what may be changed looks at numbers that it does not hold: std::span, std::shared_ptr, an iterator.
template <class T>
concept HandsOutOthers = requires(const T& t) {
  requires points_to_changeable<decltype(t.data())>;
}
|| requires(const T& t) { requires is_changeable<decltype(t.get())> || points_to_changeable<decltype(t.get())>; }
|| requires(const T& t) { requires is_changeable<decltype(*t)>; }
|| requires(const T& t) { requires is_changeable<decltype(t[0])>; };
/// Eigen's maps, references and expressions: what they would be with numbers of their own is another type.
template <class T>
concept IsExpression = requires {
  requires !std::is_same_v<typename T::PlainObject, T>;
};

template <class T> [[nodiscard]] constexpr bool contains_a_view();
template <class T> [[nodiscard]] constexpr bool is_a_view() {
  if constexpr (std::is_reference_v<T> || std::is_pointer_v<T> || std::is_array_v<T> || std::is_function_v<T>)
    return true;
  else if constexpr (std::is_class_v<T>)
    return std::ranges::enable_view<T> || HandsOutOthers<T> || IsExpression<T> || contains_a_view<T>();
  else
    return false;
}

// What a member of an aggregate may be made from tells what it is.
/// Converts to a value of any type: an aggregate whose member takes it may own that member.
struct AnyValue {
  template <class V> operator V() const;  // NOLINT(google-explicit-constructor): it stands for a value of any type
};
/// Converts to a reference to any type, and to no value: only a member that is a reference takes it.
struct AnyReference {
  template <class V> operator V&() const;  // NOLINT(google-explicit-constructor)
};
/// Converts to views alone: only a member such as std::string_view takes it.
struct AnyView {
  template <class V>
  requires(is_a_view<V>()) operator V() const;  // NOLINT(google-explicit-constructor)
};
/// Converts to nothing: only a member that is made from anything, such as std::any, takes it.
struct NoValue {};

template <class T, class Probe, class... Before>
concept TakesAfter = requires {
  T{Before{}..., Probe{}};
};
/// The member after those is a view, or a reference. One that takes anything, as std::any, says nothing.
template <class T, class... Before> [[nodiscard]] constexpr bool has_a_view_after() {
  if constexpr (TakesAfter<T, NoValue, Before...>)
    return false;
  else
    return TakesAfter<T, AnyView, Before...> || (TakesAfter<T, AnyReference, Before...> && !TakesAfter<T, AnyValue, Before...>);
}
/// One of the first eight members of an aggregate, or of its own members, is a view.
template <class T> [[nodiscard]] constexpr bool contains_a_view() {
  if constexpr (std::is_aggregate_v<T> && !std::is_empty_v<T>) {
    using A = AnyValue;
    return has_a_view_after<T>() || has_a_view_after<T, A>() || has_a_view_after<T, A, A>() || has_a_view_after<T, A, A, A>() ||
           has_a_view_after<T, A, A, A, A>() || has_a_view_after<T, A, A, A, A, A>() || has_a_view_after<T, A, A, A, A, A, A>() ||
           has_a_view_after<T, A, A, A, A, A, A, A>();
  } else {
    return false;
  }
}

/// T holds no numbers of its own, as far as its type tells. A class that hides a pointer is not known by its type.
/// Tested  mesh/views_test, fail/P21_span_in_distributed
template <class T> inline constexpr bool looks_at_others = is_a_view<T>();

}  // namespace heddle::mesh_room
