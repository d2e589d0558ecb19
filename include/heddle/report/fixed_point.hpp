// SPDX-License-Identifier: MIT
// Room: report. Numbers of pictures: decimals with a point whatever the locale is, times in the unit that suits them, ticks of an axis.
// Sees: core.  Does not see: every other room.
// In: finite numbers.  Out: text of digits, a point and a sign; TimeUnit, Ticks.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/units.hpp"

namespace heddle::report_room {

/// fixed_point(12.345, 1) is "12.3". printf would write a comma where the program has set such a locale, and no reader of SVG or JSON takes one. What
/// is too large for its digits ends as the largest number that has them.
///
/// Tested  report/fixed_point_test
[[nodiscard]] inline std::string fixed_point(double value, int digits) {
  constexpr double most = 9e18;
  double scale = 1;
  for (int i = 0; i < digits; ++i) scale *= 10;
  const auto units = static_cast<std::uint64_t>(std::min(most, std::floor(std::abs(value) * scale + 0.5)));
  std::string text = std::to_string(units);
  if (digits > 0) {
    const auto behind = static_cast<std::size_t>(digits);
    if (text.size() <= behind) text.insert(0, behind + 1 - text.size(), '0');
    text.insert(text.size() - behind, 1, '.');
  }
  return value < 0 && units > 0 ? '-' + text : text;
}

/// The same without zeros at the end: trimmed_point(2.50, 2) is "2.5", trimmed_point(2, 2) is "2".
[[nodiscard]] inline std::string trimmed_point(double value, int digits) {
  std::string text = fixed_point(value, digits);
  if (digits == 0) return text;
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

[[nodiscard]] inline std::string percent_words(double share) { return fixed_point(100 * share, 1) + " %"; }

/// What times are counted in. TimeUnit{"forwards", 0.004} writes 0.012 s as "3 forwards"; one without a name takes s, ms, us or ns.
struct TimeUnit {
  std::string name;
  double seconds = 1;

  /// The unit itself, or the prefix that leaves 1 to 999 before the point of so many seconds.
  [[nodiscard]] TimeUnit fitting(double longest) const {
    if (!name.empty()) return *this;
    if (longest >= 1 || longest <= 0) return {"s", 1};
    if (longest >= 1e-3) return {"ms", 1e-3};
    return longest >= 1e-6 ? TimeUnit{"us", 1e-6} : TimeUnit{"ns", 1e-9};
  }
  /// Three digits that count, as "12.3 ms" or "33 forwards".
  [[nodiscard]] std::string words(double span) const {
    const TimeUnit unit = fitting(span);
    const double number = span / unit.seconds;
    return trimmed_point(number, number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2) + ' ' + unit.name;
  }
};

/// Places of an axis, whole multiples of a step of 1, 2 or 5 times a power of ten: of 0 to 33 with at most 6 ticks every 10, so 0, 10, 20 and 30.
struct Ticks {
  double step = 1;
  double first = 0;  ///< [steps]
  int count = 1;
  int digits = 0;  ///< behind the point

  Ticks() = default;
  Ticks(double end, int most) : Ticks(0, end, most) {}
  Ticks(double begin, double end, int most) {
    if (!(end > begin)) return;
    const double least = (end - begin) / std::max(1, most - 1);
    step = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {2.0, 2.5, 2.0})  // 1, 2, 5, 10 times a power of ten
      if (step < least * (1 - 1e-9)) step *= factor;
    first = std::ceil(begin / step - 1e-9);
    count = static_cast<int>(std::floor(end / step + 1e-9) - first) + 1;
    digits = std::clamp(static_cast<int>(-std::floor(std::log10(step) + 1e-9)), 0, 9);
  }
  [[nodiscard]] double at(int tick) const { return step * (first + tick); }
  [[nodiscard]] std::string label(int tick) const { return fixed_point(at(tick), digits); }
};

}  // namespace heddle::report_room
