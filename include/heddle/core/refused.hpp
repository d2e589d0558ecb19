// SPDX-License-Identifier: MIT
// Room: core. What a question about a refused plan answers: values that compare as true with everything, so that the refusal stays the only error.
// Sees: core/units.  Does not see: every other room.
// In: -.  Out: RefusedNumber, RefusedFact, RefusedBytes, RefusedFlops, RefusedWord; L12, the refusal of a question without its call; NotAsked.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/core/units.hpp"

namespace heddle::core_room {

/// Marks an answer about a refused plan. A comparison with it holds, whatever the other side is: static_assert(devices<MyPlan> == 4) adds no error.
/// A number that is counted up to it comes there after 256 steps, so that loops end where the compiler evaluates them.
struct RefusedAnswer {};

template <class T>
concept IsRefused = std::is_base_of_v<RefusedAnswer, T>;
template <class A, class B>
concept OneRefused = IsRefused<A> || IsRefused<B>;

/// In place of a number: 1 where a number is needed.
struct RefusedNumber : RefusedAnswer {
  // NOLINTNEXTLINE(google-explicit-constructor): it stands where an int would.
  constexpr operator int() const { return 1; }
};

/// In place of a fact: true, and its negation is true as well.
struct RefusedFact : RefusedAnswer {
  // NOLINTNEXTLINE(google-explicit-constructor): it stands where a bool would.
  constexpr operator bool() const { return true; }
  constexpr RefusedFact operator!() const { return {}; }
};

/// In place of bytes: none where bytes are needed.
struct RefusedBytes : RefusedAnswer, Bytes {
  RefusedNumber value;  // hides that of Bytes: it is compared as well
};

/// In place of operations: none where operations are needed.
struct RefusedFlops : RefusedAnswer, Flops {
  RefusedNumber value;
};

/// In place of a function, and of an array: every call and every place of it is the answer.
template <class Answer> struct RefusedWord {
  template <class... Asked> [[nodiscard]] constexpr Answer operator()(const Asked&...) const { return {}; }
  template <class At> [[nodiscard]] constexpr Answer operator[](const At&) const { return {}; }
};

template <class A> [[nodiscard]] constexpr bool is_still_counted([[maybe_unused]] const A& a) {
  if constexpr (std::is_integral_v<A>)
    return static_cast<std::int64_t>(a) < 256;
  else
    return true;
}

template <class A, class B>
requires OneRefused<A, B>
constexpr bool operator==(const A&, const B&) { return true; }
template <class A, class B>
requires OneRefused<A, B>
constexpr bool operator!=(const A& a, const B&) { return is_still_counted(a); }
template <class A, class B>
requires OneRefused<A, B>
constexpr bool operator<(const A& a, const B&) { return is_still_counted(a); }
template <class A, class B>
requires OneRefused<A, B>
constexpr bool operator<=(const A& a, const B&) { return is_still_counted(a); }
template <class A, class B>
requires OneRefused<A, B>
constexpr bool operator>(const A&, const B&) { return true; }
template <class A, class B>
requires OneRefused<A, B>
constexpr bool operator>=(const A&, const B&) { return true; }

/// What is computed with a refused answer is refused: bytes where bytes take part, else a number.
template <class A, class B>
using RefusedResult = std::conditional_t<std::is_base_of_v<Bytes, A> || std::is_base_of_v<Bytes, B>, RefusedBytes, RefusedNumber>;

template <class A, class B>
requires OneRefused<A, B>
constexpr RefusedResult<A, B> operator+(const A&, const B&) { return {}; }
template <class A, class B>
requires OneRefused<A, B>
constexpr RefusedResult<A, B> operator-(const A&, const B&) { return {}; }
template <class A, class B>
requires OneRefused<A, B>
constexpr RefusedResult<A, B> operator*(const A&, const B&) { return {}; }
template <class A, class B>
requires OneRefused<A, B>
constexpr RefusedResult<A, B> operator/(const A&, const B&) { return {}; }
template <class A, class B>
requires OneRefused<A, B>
constexpr RefusedResult<A, B> operator%(const A&, const B&) { return {}; }

// L12: peak_memory<MyPlan> < 2_MiB, without the call.
template <class> inline constexpr bool is_called = false;
template <class Other>
requires std::is_same_v<Other, Bytes>
constexpr bool operator==(Bytes (&)(), Other) {
  static_assert(is_called<Other>, "[heddle.L12] a function is compared with bytes, not what it gives. Fix: call it, as in peak_memory<MyPlan>().");
  return true;
}
template <class Other>
requires std::is_same_v<Other, Bytes>
constexpr RefusedNumber operator<=>(Bytes (&)(), Other) {
  static_assert(is_called<Other>, "[heddle.L12] a function is compared with bytes, not what it gives. Fix: call it, as in peak_memory<MyPlan>().");
  return {};
}

/// Base of a question that is an object: static_assert(same_bits<A, B>) without the call would test the address of a function, which is always true.
/// One for all questions, so that same_bits<A, B> && same_bits<B, C> is one error.
///
/// Errors  L12
/// Tested  fail/L12_same_bits_not_called
struct NotAsked {
  template <class Answer>
  requires std::is_same_v<Answer, bool>
  constexpr operator Answer() const {  // NOLINT(google-explicit-constructor): bool equal = same_bits<A, B>; is refused as well
    static_assert(is_called<Answer>,
                  "[heddle.L12] a question is not asked: the parentheses after it are forgotten. Fix: write them, as in same_bits<A, B>().");
    return true;
  }
};

// C04: peak_memory<MyPlan>() < 1000000, without a unit.
template <class A, class Number>
requires(std::is_same_v<A, Bytes>&& std::is_arithmetic_v<Number>) constexpr bool operator==(A, Number) {
  static_assert(is_called<Number>, "[heddle.C04] bytes are compared with a plain number. Fix: give the number a unit, as in 10_MiB or 1000_B.");
  return true;
}
template <class A, class Number>
requires(std::is_same_v<A, Bytes>&& std::is_arithmetic_v<Number>) constexpr RefusedNumber operator<=>(A, Number) {
  static_assert(is_called<Number>, "[heddle.C04] bytes are compared with a plain number. Fix: give the number a unit, as in 10_MiB or 1000_B.");
  return {};
}

}  // namespace heddle::core_room
