// SPDX-License-Identifier: MIT
// Room: compute. Degrees of a quotient of two polynomials, as one number that takes an element's place in a run that counts degrees.
// Sees: the standard library.  Does not see: elements, programs, threads.
// In: degrees of operands.  Out: Degrees.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::compute_room {

/// Upper bounds of the degrees of a numerator and of a denominator. A variable has {1, 0}, a number {0, 0}, 1/x {0, 1} and 1/x + 1/y {1, 2}.
///
/// A sum takes the product of both denominators: nothing says that they have a factor in common. So divide a sum, not each of its terms.
/// From 32,767 on a degree is unknown, and so are all that it goes into.
/// Tested  compute/field/degrees_test
struct Degrees {
  std::uint64_t numerator = 0;
  std::uint64_t denominator = 0;

  static constexpr std::uint64_t unknown = 32'767;
  static constexpr std::uint64_t of_unknown = std::uint64_t{1} << 31;  ///< as many as leave no bound modulo a number of 31 bits

  /// From one number: a numerator below 32,768 is itself.
  [[nodiscard]] static constexpr Degrees read(std::uint64_t number) { return Degrees{number % (unknown + 1), number / (unknown + 1)}.capped(); }
  [[nodiscard]] constexpr std::uint64_t number() const {
    const Degrees all = capped();
    return all.denominator * (unknown + 1) + all.numerator;
  }
  /// Of the difference of two quotients of these degrees, without its denominator: {1, 2} makes 3, as (x + y) z w - (z + w) x y has degree 3.
  [[nodiscard]] constexpr std::uint64_t of_difference() const {
    const Degrees all = capped();
    return all.numerator == unknown || all.denominator == unknown ? of_unknown : all.numerator + all.denominator;
  }
  [[nodiscard]] constexpr Degrees inverse() const { return {denominator, numerator}; }
  friend constexpr Degrees operator+(const Degrees& a, const Degrees& b) {
    return Degrees{std::max(a.numerator + b.denominator, b.numerator + a.denominator), a.denominator + b.denominator}.capped();
  }
  friend constexpr Degrees operator*(const Degrees& a, const Degrees& b) {
    return Degrees{a.numerator + b.numerator, a.denominator + b.denominator}.capped();
  }
  /// Of either of two: both bounds hold for each.
  [[nodiscard]] friend constexpr Degrees higher(const Degrees& a, const Degrees& b) {
    return {std::max(a.numerator, b.numerator), std::max(a.denominator, b.denominator)};
  }
  friend constexpr bool operator==(const Degrees&, const Degrees&) = default;

 private:
  [[nodiscard]] constexpr Degrees capped() const { return {std::min(numerator, unknown), std::min(denominator, unknown)}; }
};

/// The same of two numbers.
[[nodiscard]] constexpr std::uint64_t higher_degrees(std::uint64_t a, std::uint64_t b) { return higher(Degrees::read(a), Degrees::read(b)).number(); }

}  // namespace heddle::compute_room
