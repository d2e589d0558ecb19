// SPDX-License-Identifier: MIT
// Room: report. What a timeline must be before it is drawn or written: times that are numbers, devices that are there, spans of this plan.
// Sees: plan/read/timeline, plan/program, seams/error.  Does not see: pictures, threads.
// In: a Timeline.  Out: nothing, or one sentence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/timeline.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::report_room {

/// What a span is, as pictures and traces name it.
[[nodiscard]] constexpr std::string_view name_of(SpanKind kind) {
  switch (kind) {
    case SpanKind::forward: return "forward";
    case SpanKind::backward: return "backward";
    case SpanKind::backward_input: return "input part of a backward";
    case SpanKind::backward_weight: return "weight part of a backward";
    case SpanKind::send: return "send";
    case SpanKind::receive: return "receive";
    case SpanKind::collective: return "collective";
    case SpanKind::update: break;
  }
  return "update";
}

inline constexpr double longest_step = 1e9;  // [s]: beyond it a trace would have no digits left

/// What is wrong with a time, or nothing.
[[nodiscard]] inline std::string fault_of_time(Seconds at) {
  if (!is_finite(at.value)) return is_nan(at.value) ? "is NaN" : "is infinite";
  if (at.value < 0) return written({"is ", short_number(at.value), " s, before the step begins"});
  return at.value > longest_step ? written({"is ", short_number(at.value), " s, more than 31 years after the step began"}) : std::string{};
}
[[noreturn]] HEDDLE_COLD inline void refuse_part(const Timeline& t, const char* what, std::size_t number, const std::string& fault, const char* fix) {
  throw Error(Code{'V', 2}, written({what, number, " of the timeline '", t.title, "' ", fault, ". Fix: ", fix}));
}
/// V02: the device or a time of a span or of a number of bytes.
inline void refuse_place(const Timeline& t, const char* what, std::size_t number, int device, const char* verb, Seconds at) {
  if (device < 0 || device >= static_cast<int>(t.devices.size()))
    refuse_part(t, what, number, written({"is of device ", device, ", but there are ", t.devices.size()}), "name every device in Timeline::devices.");
  if (const std::string fault = fault_of_time(at); !fault.empty())
    refuse_part(t, what, number, written({verb, " at a time that ", fault}), "count seconds from the beginning of the step.");
}

/// V03: a flow has one send and one receive.
inline void refuse_loose_flows(const Timeline& t) {
  std::vector<std::pair<int, int>> sides;  // of each span with a flow: which, and 0 for a send, 1 for a receive, 2 for neither
  for (const Span& span : t.spans)
    if (span.flow >= 0) sides.emplace_back(span.flow, span.kind == SpanKind::send ? 0 : span.kind == SpanKind::receive ? 1 : 2);
  std::sort(sides.begin(), sides.end());
  for (std::size_t i = 0; i < sides.size();) {
    int count[3]{};
    std::size_t end = i;
    for (; end < sides.size() && sides[end].first == sides[i].first; ++end) ++count[sides[end].second];
    if (count[0] != 1 || count[1] != 1 || count[2] != 0)
      throw Error(Code{'V', 3},
                  written({"flow ", sides[i].first, " of the timeline '", t.title, "' joins ", count[0], " sends, ", count[1], " receives and ",
                           count[2], " other spans. Fix: give a send and its receive one number that nothing else has."}));
    i = end;
  }
}

/// Errors  V01 nothing to draw; V02 a time that is none, or a device that is not there; V03 a flow without one send and one receive
/// Tested  report/timeline_check_test
inline void refuse_undrawable(const Timeline& t) {
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const Span& span = t.spans[i];
    refuse_place(t, "span ", i, span.device, "begins", span.begin);
    refuse_place(t, "span ", i, span.device, "ends", span.end);
    if (span.end < span.begin)
      refuse_part(t, "span ", i, "ends at " + short_number(span.end.value) + " s, before it begins at " + short_number(span.begin.value) + " s",
                  "let it end when it begins, or later.");
  }
  if (t.spans.empty() || !(t.end().value > 0))
    throw Error(Code{'V', 1}, written({"the timeline '", t.title, "' has ", t.devices.size(), t.devices.size() == 1 ? " device" : " devices", " and ",
                                       t.spans.size(), " spans, ", t.spans.empty() ? "so" : "none of which takes any time, so",
                                       " there is nothing to draw. Fix: give one of a step that was simulated or observed."}));
  refuse_loose_flows(t);
  for (std::size_t i = 0; i < t.memory.size(); ++i) {
    refuse_place(t, "memory ", i, t.memory[i].device, "is counted", t.memory[i].at);
    if (t.memory[i].bytes.value < 0) refuse_part(t, "memory ", i, written({"is ", t.memory[i].bytes.value, " bytes"}), "count from 0 on.");
  }
}
/// The same of several that are drawn together; V01 if there is none.
inline void refuse_undrawable(const std::vector<Timeline>& all) {
  if (all.empty())
    throw Error(Code{'V', 1}, "no timeline is given, so there is nothing to draw. Fix: give one of a step that was simulated or observed.");
  for (const Timeline& t : all) refuse_undrawable(t);
}

[[nodiscard]] constexpr bool does(const Instruction& line, SpanKind kind) {
  switch (line.op) {
    case ListOp::forward: return kind == SpanKind::forward || kind == SpanKind::collective;
    case ListOp::backward: return kind == SpanKind::backward || kind == SpanKind::collective;
    case ListOp::backward_input: return kind == SpanKind::backward_input || kind == SpanKind::collective;
    case ListOp::backward_weight: return kind == SpanKind::backward_weight || kind == SpanKind::collective;
    case ListOp::send_start:
    case ListOp::send_wait: return kind == SpanKind::send;
    case ListOp::receive_start:
    case ListOp::receive_wait: return kind == SpanKind::receive;
    case ListOp::reduce_start:
    case ListOp::reduce_wait:
    case ListOp::gather_start:
    case ListOp::gather_wait: return kind == SpanKind::collective;
    case ListOp::report:
    case ListOp::step:
    case ListOp::norm:
    case ListOp::clip:
    case ListOp::unscale:
    case ListOp::skip:
    case ListOp::guard:
    case ListOp::tie: break;
  }
  return kind == SpanKind::update;
}

/// Errors  V04 a timeline of another plan: its devices are neither the ranks nor the roles, or a span is of a line that does something else
/// Tested  report/timeline_check_test
inline void refuse_other_plan(const Timeline& t, const Program& p) {
  const auto devices = static_cast<int>(t.devices.size());
  const auto refuse = [&](const std::string& words) {
    throw Error(Code{'V', 4}, written({"the timeline '", t.title, "' is not of this plan of ", p.graph->model.view(), ": ", words,
                                       ". Fix: draw it with its own plan."}));
  };
  if (devices != p.mesh.ranks() && devices != p.roles)
    refuse(written({"it has ", devices, " devices, the plan ", p.mesh.ranks(), " in ", p.roles, p.roles == 1 ? " role" : " roles"}));
  const int lines = p.lists[p.roles - 1].end;
  for (std::size_t i = 0; i < t.spans.size(); ++i) {
    const Span& span = t.spans[i];
    if (span.instruction < 0) continue;
    const int role = devices == p.roles ? span.device : p.mesh.coordinate(Rank{span.device}, Axis::stage);
    const bool there = span.instruction < lines && span.instruction >= p.lists[role].begin && span.instruction < p.lists[role].end;
    if (!there || !does(p.instructions[span.instruction], span.kind))
      refuse(written({"span ", i, " says '", name_of(span.kind), "' of line ", span.instruction, ", which is not what stands there"}));
    const Instruction& line = p.instructions[span.instruction];
    if (computes(line.op) && span.kind != SpanKind::collective && (span.chunk != line.chunk || span.micro_batch != line.micro_batch))
      refuse(written({"span ", i, " is of chunk ", span.chunk, " and micro-batch ", span.micro_batch, ", line ", span.instruction, " of chunk ",
                      line.chunk, " and micro-batch ", line.micro_batch}));
  }
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::refuse_other_plan;
}  // namespace heddle::extending
