// SPDX-License-Identifier: MIT
// Room: core. Quantities have types: Bytes, Flops, Seconds, Rank, Seed.
// Sees: the standard library.  Does not see: every other room.
// In: numbers with a suffix (2_MiB).  Out: types that do not mix by accident.
#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <type_traits>

#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

/// A number of bytes. Errors: none; arithmetic is that of std::int64_t. 2_MiB is Bytes{2097152}.
struct Bytes {
  std::int64_t value = 0;
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t bytes) : value(bytes) {}
  // Written out: nvcc 13 uses a defaulted one before it is defined.
  friend constexpr auto operator<=>(Bytes a, Bytes b) { return a.value <=> b.value; }
  friend constexpr bool operator==(Bytes a, Bytes b) { return a.value == b.value; }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.value + b.value}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.value - b.value}; }
  friend constexpr Bytes operator*(std::int64_t n, Bytes a) { return Bytes{n * a.value}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes{n * a.value}; }
  friend constexpr Bytes operator/(Bytes a, std::int64_t n) { return Bytes{a.value / n}; }
  constexpr Bytes& operator+=(Bytes b) {
    value += b.value;
    return *this;
  }
};

/// "159040 bytes": std::cout << peak_memory<MyPlan>(). There is none where <ostream> is not included.
template <class Character, class Traits>
requires requires(std::basic_ostream<Character, Traits>& stream) { stream.width(); }
std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& stream, Bytes bytes) {
  return stream << bytes.value << " bytes";
}

/// Floating-point operations; a fused multiply-add counts two. A product of 2 x 3 and 3 x 4 elements is 24 multiply-adds, so 48.
struct Flops {
  std::int64_t value = 0;
  friend constexpr auto operator<=>(const Flops&, const Flops&) = default;
  friend constexpr Flops operator+(Flops a, Flops b) { return Flops{a.value + b.value}; }
  friend constexpr Flops operator*(std::int64_t n, Flops a) { return Flops{n * a.value}; }
};

/// A time span. Seconds{0.002} is 2 milliseconds.
struct Seconds {
  double value = 0;
  friend constexpr auto operator<=>(const Seconds&, const Seconds&) = default;
};

/// A process or logical device of the whole mesh, counted from 0.
struct Rank {
  int value = 0;
  friend constexpr auto operator<=>(const Rank&, const Rank&) = default;
};

template <class T>
concept Number = std::is_arithmetic_v<T>;
template <class T>
concept WholeNumber = Number<T> && std::is_integral_v<T>;
template <class> inline constexpr bool is_given_a_seed = false;

/// What the counter-based generator is keyed with: Seed{42}.
///
/// Errors  O03 where a plain number stands for it
/// Tested  core/units_test, fail/O03_number_as_a_seed
struct Seed {
  std::uint64_t value = 0;

  constexpr Seed() = default;
  template <WholeNumber T> constexpr explicit Seed(T number) : value(static_cast<std::uint64_t>(number)) {}
  /// Where nobody writes Seed: the one above is chosen before it wherever somebody does.
  template <Number T> constexpr Seed(T) {  // NOLINT(google-explicit-constructor): it refuses
    static_assert(is_given_a_seed<T>, "[heddle.O03] a plain number is given where a Seed is taken. Fix: write Seed{42}.");
  }
};

}  // namespace heddle::core_room

namespace heddle {

inline namespace literals {
constexpr core_room::Bytes operator""_B(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n)}; }
constexpr core_room::Bytes operator""_KiB(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n) * 1024}; }
constexpr core_room::Bytes operator""_MiB(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n) * 1024 * 1024}; }
constexpr core_room::Bytes operator""_GiB(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n) * 1024 * 1024 * 1024}; }
constexpr core_room::Bytes operator""_KB(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n) * 1000}; }
constexpr core_room::Bytes operator""_MB(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n) * 1000 * 1000}; }
constexpr core_room::Bytes operator""_GB(unsigned long long n) { return core_room::Bytes{static_cast<std::int64_t>(n) * 1000 * 1000 * 1000}; }
}  // namespace literals

}  // namespace heddle

namespace heddle {
using core_room::Bytes, core_room::Rank, core_room::Seed;
}  // namespace heddle
