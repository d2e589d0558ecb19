// SPDX-License-Identifier: MIT
// Room: cost. Whether a Machine can be, and whether a plan fits on it.
// Sees: plan/program, cost/machine, cost/machine_figures.  Does not see: processes, threads, kernels.
// In: a Machine, a Program.  Out: ok, or M16, M17 with the figure.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/rule.hpp"
#include "heddle/cost/machine.hpp"
#include "heddle/cost/machine_figures.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::cost_room {

/// A figure with three digits, as a sentence writes it: -0.5, 1.25e-9, 3e8.
///
/// Tested  cost/machine_check_test
[[nodiscard]] constexpr Text<16> figure_of(double x) {
  Text<16> text;
  if (x != x) return text << "no number";
  if (x < 0) text << "-", x = -x;
  if (x > 1.7e308) return text << "infinite";
  int exponent = 0;
  for (; x >= 1000; x /= 10) ++exponent;
  for (; x > 0 && x < 100; x *= 10) --exponent;
  auto digits = static_cast<std::int64_t>(x);
  if (x - static_cast<double>(digits) >= 0.5) ++digits;
  if (digits == 1000) digits = 100, ++exponent;
  if (digits == 0) return text << "0";
  int count = 3;
  for (; digits % 10 == 0; ++exponent, --count) digits /= 10;
  if (exponent >= 0 && count + exponent <= 4) {
    for (; exponent > 0; --exponent) digits *= 10;
    return text << digits;
  }
  const int point = count + exponent;  // digits before the point if nothing is scaled
  if (exponent < 0 && point > -2 && point <= 0) {
    text << "0.";
    for (int i = point; i < 0; ++i) text << "0";
    return text << digits;
  }
  std::int64_t below = 1;
  for (int i = 1; i < (point > 0 && exponent < 0 ? count - point + 1 : count); ++i) below *= 10;
  text << digits / below;
  if (below > 1) text << ".";
  for (std::int64_t rest = digits % below; below > 1; rest %= below) below /= 10, text << rest / below;
  return point > 0 && exponent < 0 ? text : text << "e" << point - 1;
}

/// One figure of a machine by its name: a number from 0, or from above 0, to `most`. Seconds end at 1e9, some thirty years: sums of them stay
/// numbers.
constexpr void check_figure(Diagnosis& found, std::string_view name, double value, bool may_be_zero, double most = 1e9) {
  constexpr double least = 1e-9;  // of shares and speeds
  if (!found.ok() || (value <= most && (may_be_zero ? value >= 0 : value >= least))) return;
  found = Diagnosis{Code{'M', 16}, "a Machine has "} << name << ' ' << figure_of(value).view() << ". Fix: give it a number from "
                                                     << (may_be_zero ? "0" : "1e-9") << " to " << figure_of(most).view()
                                                     << (may_be_zero ? "; 0 takes no time." : ".");
}
/// M16 of what stands behind the end of a list, where nobody reads it.
constexpr void check_behind(Diagnosis& found, std::string_view what) {
  if (found.ok())
    found = Diagnosis{Code{'M', 16}, "a Machine has "} << what << " behind an empty entry, which ends the list. Fix: leave no entry empty before it.";
}

constexpr void check_levels(Diagnosis& found, const Machine& m) {
  int below = 1;
  bool ended = false;
  for (const Level& level : m.levels) {
    check_figure(found, "a level with alpha", level.alpha, true);
    check_figure(found, "a level with beta", level.beta, true);
    if (ended && level != Level{}) check_behind(found, "a level");
    ended = ended || level == Level{};
    if (!found.ok() || level == Level{}) continue;
    if (level.ranks > 0 && below > 0 && level.ranks % below == 0 && (level.ranks > below || below == 1)) {
      below = level.ranks;
      continue;
    }
    found = Diagnosis{Code{'M', 16}, "a Machine has a level of "} << level.ranks << " ranks behind one of " << below
                                                                  << ". Fix: list levels from the smallest on, each of a multiple of the one before.";
  }
}

constexpr void check_efficiency(Diagnosis& found, const Efficiency& curve) {
  for (const EfficiencyPoint& point : curve.points) {
    check_figure(found, "an efficiency of", point.share, false);
    check_figure(found, "an efficiency at flops", point.flops, true, 1e30);
  }
  for (int i = curve.count(); i < Efficiency::most_points; ++i)
    if (curve.points[i] != EfficiencyPoint{}) check_behind(found, "an efficiency");
  for (int i = 1; i < curve.count(); ++i)
    if (found.ok() && curve.points[i].flops <= curve.points[i - 1].flops)
      found = Diagnosis{Code{'M', 16}, "a Machine has an efficiency at "} << figure_of(curve.points[i].flops).view() << " flops behind one at "
                                                                          << figure_of(curve.points[i - 1].flops).view()
                                                                          << ". Fix: list the points from the fewest flops on.";
}

constexpr void check_layers(Diagnosis& found, const Machine& m) {
  bool ended = false;
  for (const LayerRate& rate : m.layers) {
    check_figure(found, "a layer with forward", rate.forward, true);
    check_figure(found, "a layer with backward", rate.backward, true);
    if (found.ok() && !ended && rate.kind[0] != '\0' && m.rate_of(rate.name()) != &rate)
      found = Diagnosis{Code{'M', 16}, "a Machine has two rates of "} << rate.name() << ". Fix: leave one.";
    ended = ended || rate.kind[0] == '\0';
    if (ended && rate != LayerRate{}) check_behind(found, "a rate of layers");
  }
}

/// Whether figures of a machine can be.
///
/// Errors  M16 a figure that is negative, infinite or no number; a speed, a share or a level that is 0; levels out of order
/// Tested  cost/machine_check_test
[[nodiscard]] constexpr Diagnosis check(const Machine& m) {
  Diagnosis found;
  each_figure(m, [&](std::string_view name, const auto& figure) {
    if constexpr (std::is_same_v<decltype(figure), const double&>) check_figure(found, name, figure, true);
  });
  check_figure(found, "memory_aside", m.memory_aside, true, 1);
  check_figure(found, "devices", m.devices, true, 2147483647);
  check_figure(found, "memory", static_cast<double>(m.memory.value), true, 1e18);
  check_efficiency(found, m.efficiency);
  check_efficiency(found, m.narrow);
  check_efficiency(found, m.attention);
  check_efficiency(found, m.cached);
  check_levels(found, m);
  check_layers(found, m);
  for (const RankSpeed& s : m.speeds) {
    if (found.ok() && s != RankSpeed{} && (s.first < 0 || s.last < s.first))
      found = Diagnosis{Code{'M', 16}, "a Machine has a speed for ranks "}
              << s.first << " to " << s.last << ". Fix: name ranks from 0 on, in at most " << Machine::most_speeds << " entries.";
    check_figure(found, "a speed of", s.speed, false);
  }
  return found;
}

/// Whether a plan fits on a machine that says how many devices it has and what each can hold.
///
/// Errors  M16, M17 a plan of more devices, or of more memory on one of them
/// Tested  cost/machine_check_test
[[nodiscard]] constexpr Diagnosis check(const Machine& m, const Program& p) {
  Diagnosis found = check(m);
  if (!found.ok()) return found;
  if (m.devices > 0 && p.mesh.ranks() > m.devices)
    return Diagnosis{Code{'M', 17}, "a plan has "} << p.mesh.ranks() << " devices, the Machine " << m.devices
                                                   << ". Fix: use a plan of fewer devices, or a larger Machine.";
  for (int r = 0; r < p.roles && m.memory.value > 0; ++r)
    if (p.arenas[r].total > m.memory.value)
      return Diagnosis{Code{'M', 17}, "a plan needs "} << p.arenas[r].total << " bytes on a device of stage " << r << ", those of the Machine have "
                                                       << m.memory.value << ". Fix: use more stages or slices, Recompute, or smaller micro-batches.";
  return found;
}

}  // namespace heddle::cost_room
