// SPDX-License-Identifier: MIT
// Room: run. Sums of squares in a fixed order: lines of 16, then a tree over equal parts, so slices of a unit sum to the bits of the whole.
// Sees: core/finite.  Does not see: programs, ranks.
// In: elements, a number of parts.  Out: a sum.
#pragma once

#include <bit>
#include <cstdint>

#include "heddle/core/finite.hpp"

namespace heddle::run_room {

/// One sum for each element of a line. Two lines of ones make 16 sums of 2.
struct SquareLanes {
  static constexpr int count = 16;
  float sums[count]{};
};

/// Of whole lines; of more than 64 as two halves, so that a sum of many squares never stands still: 2^22 lines round 64 + 16 times.
[[nodiscard]] inline SquareLanes square_lanes(const float* values, std::int64_t lines) {
  constexpr std::int64_t most_in_a_run = 64;
  SquareLanes of;
  if (lines > most_in_a_run) {
    const SquareLanes left = square_lanes(values, lines / 2);
    const SquareLanes right = square_lanes(values + lines / 2 * SquareLanes::count, lines - lines / 2);
    for (int l = 0; l < SquareLanes::count; ++l) of.sums[l] = left.sums[l] + right.sums[l];
    return of;
  }
  for (std::int64_t i = 0; i < lines * SquareLanes::count; i += SquareLanes::count)
    for (int l = 0; l < SquareLanes::count; ++l) of.sums[l] += values[i + l] * values[i + l];
  return of;
}

/// Of one part: 16 lanes, then the lanes as a tree. `elements` is a multiple of 16.
[[nodiscard]] inline float square_sum_of_part(const float* values, std::int64_t elements) {
  SquareLanes of = square_lanes(values, elements / SquareLanes::count);
  for (int width = SquareLanes::count / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) of.sums[l] = of.sums[2 * l] + of.sums[2 * l + 1];
  return of.sums[0];
}

/// Of `parts` equal parts, at most 64 and a power of two: neighbours first. A slice of a unit sums a subtree of what the whole unit does.
/// `before(values, elements)` is called with each part before its squares are taken, while they are at hand. `of_part` and `plus` are those of an
/// Arithmetic.
///
/// Tested  run/square_sum_test
template <class Float, class Before, class OfPart, class Plus>
[[nodiscard]] float square_sum(Float* values, std::int64_t elements, int parts, Before before, OfPart of_part, Plus plus) {
  float sums[64];
  const std::int64_t part = elements / parts;
  for (int p = 0; p < parts; ++p) {
    before(values + p * part, part);
    sums[p] = of_part(values + p * part, part);
  }
  for (int width = parts / 2; width > 0; width /= 2)
    for (int p = 0; p < width; ++p) sums[p] = plus(sums[2 * p], sums[2 * p + 1]);
  return sums[0];
}
template <class Float, class Before> [[nodiscard]] float square_sum(Float* values, std::int64_t elements, int parts, Before before) {
  return square_sum(values, elements, parts, before, square_sum_of_part, [](float a, float b) { return a + b; });
}
[[nodiscard]] inline float square_sum(const float* values, std::int64_t elements, int parts) {
  return square_sum(values, elements, parts, [](const float*, std::int64_t) {});
}

/// Multiplies each; true if all are finite after that.
///
/// Tested  run/square_sum_test
[[nodiscard]] inline bool multiply_finite(float* values, std::int64_t elements, float factor) {
  constexpr std::uint32_t infinity = 0x7f800000U;  // these bits are all set in Inf and NaN
  constexpr std::int64_t block = 1024;
  std::uint32_t wrong = 0;
  for (std::int64_t first = 0; first < elements; first += block) {
    const std::int64_t last = first + block < elements ? first + block : elements;
    for (std::int64_t i = first; i < last; ++i) values[i] *= factor;
    if constexpr (finite_math_only) asm volatile("" : : : "memory");  // else a product is taken for finite, and so are its bits
    for (std::int64_t i = first; i < last; ++i) wrong |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(values[i]) & infinity) == infinity);
  }
  return wrong == 0;
}

}  // namespace heddle::run_room
