// SPDX-License-Identifier: MIT
// Room: report. The memory of a step over time as a picture: a curve of steps for each device.
// Sees: plan/read/timeline, report/{curve_svg, timeline_check}.  Does not see: threads, who has counted the bytes.
// In: a Timeline with memory.  Out: SVG 1.1.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/plan/read/timeline.hpp"
#include "heddle/report/curve_svg.hpp"
#include "heddle/report/fixed_point.hpp"
#include "heddle/report/timeline_check.hpp"

namespace heddle::report_room {

/// The bytes of each device from one moment to the next: 1,000 bytes from 0 s and 1,800 from 1 s on of a step of 7 s are 4 points.
///
/// Errors  V06 if nobody has counted the memory of the step
/// Tested  report/memory_svg_test
[[nodiscard]] inline std::vector<Curve> memory_curves(const Timeline& t, const TimeUnit& time, double bytes) {
  std::vector<Curve> curves;
  for (std::size_t d = 0; d < t.devices.size(); ++d) {
    Curve curve{t.devices[d], {}};
    for (const MemoryAt& m : t.memory) {
      if (m.device != static_cast<int>(d)) continue;
      if (!curve.points.empty()) curve.points.emplace_back(m.at.value / time.seconds, curve.points.back().second);
      curve.points.emplace_back(m.at.value / time.seconds, static_cast<double>(m.bytes.value) / bytes);
    }
    if (curve.points.empty()) continue;
    curve.points.emplace_back(t.end().value / time.seconds, curve.points.back().second);
    curves.push_back(curve);
  }
  if (curves.empty())
    throw Error(Code{'V', 6}, written({"nobody has counted the memory of the timeline '", t.title,
                                       "'. Fix: give a predicted one, or count it with memory_in_time."}));
  return curves;
}

/// Errors  V01, V02, V03, V06
/// Tested  report/memory_svg_test
[[nodiscard]] inline std::string memory_svg(const Timeline& t, const TimeUnit& unit = {}) {
  refuse_undrawable(t);
  const TimeUnit time = unit.fitting(t.end().value);
  double most = 0;
  for (const MemoryAt& m : t.memory) most = std::max(most, static_cast<double>(m.bytes.value));
  const bool large = most >= 1024.0 * 1024;
  return curve_svg(memory_curves(t, time, large ? 1024.0 * 1024 : 1024),
                   {.title = t.title + (t.measured ? " (measured)" : " (predicted)"), .x = "time in " + time.name, .y = large ? "MiB" : "KiB"});
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::memory_curves, report_room::memory_svg;
}  // namespace heddle::extending
