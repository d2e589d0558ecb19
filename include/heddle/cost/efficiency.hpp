// SPDX-License-Identifier: MIT
// Room: cost. The share of its peak that a device reaches, by the work of one call of a kernel.
// Sees: core.  Does not see: machines, plans, processes.
// In: points that were measured or published.  Out: Efficiency.
#pragma once

#include <bit>
#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::cost_room {

/// A call of so many floating-point operations reaches that share of the peak: {1e9, 0.4} is 40 % for a product of a billion operations.
struct EfficiencyPoint {
  double flops = 0;
  double share = 1;
  friend constexpr bool operator==(const EfficiencyPoint&, const EfficiencyPoint&) = default;
};

/// The logarithm to base 2, exact at powers of two and straight between them: 2.5 for 6, where log2(6) is 2.58. Of 0 and below it is that of 1.
///
/// Tested  cost/efficiency_test
[[nodiscard]] constexpr double straight_log2(double x) {
  if (!(x > 1)) return 0;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  constexpr std::uint64_t mantissa = (std::uint64_t{1} << 52) - 1;
  return static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023) + static_cast<double>(bits & mantissa) / 4503599627370496.0;
}

/// A curve through points in the order of their operations; between two of them the share is straight over the logarithm of the operations, beyond
/// the first and the last it stays. Without points it is 1. {{{1024, 0.25}, {4096, 0.75}}} has 0.5 at 2,048 operations.
///
/// Tested  cost/efficiency_test
struct Efficiency {
  static constexpr int most_points = 12;
  EfficiencyPoint points[most_points]{};  ///< a point of 0 operations behind the first ends the list
  friend constexpr bool operator==(const Efficiency&, const Efficiency&) = default;

  /// A first point {0, 0.49} alone is 0.49 everywhere.
  [[nodiscard]] constexpr int count() const {
    int n = points[0].flops > 0 || points[0].share != 1 ? 1 : 0;
    while (n > 0 && n < most_points && points[n].flops > 0) ++n;
    return n;
  }
  [[nodiscard]] constexpr double share(double flops) const {
    const int n = count();
    if (n == 0) return 1;
    if (flops <= points[0].flops) return points[0].share;
    for (int i = 1; i < n; ++i) {
      if (flops > points[i].flops) continue;
      const double low = straight_log2(points[i - 1].flops), high = straight_log2(points[i].flops);
      const double along = high > low ? (straight_log2(flops) - low) / (high - low) : 1;
      return points[i - 1].share + along * (points[i].share - points[i - 1].share);
    }
    return points[n - 1].share;
  }
};

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Efficiency, cost_room::EfficiencyPoint;
}  // namespace heddle::extending
