// SPDX-License-Identifier: MIT
// Room: plan. Timeline: a step in time, as a simulation predicts it or an observer has measured it.
// Sees: plan/program, core.  Does not see: machines, threads, pictures.
// In: spans of whoever timed a step.  Out: Span, Timeline.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// A device computes and moves at once, so it has two rows.
enum class Lane : std::uint8_t { compute, communication };

/// What a device does for a while; the parts of a backward are apart only under an order that splits it.
enum class SpanKind : std::uint8_t { forward, backward, backward_input, backward_weight, send, receive, collective, update };

/// Some seconds of one device. The forward of micro-batch 2 on chunk 1 that takes from 0.3 to 0.4 s has these as `begin` and `end`, and no peer.
struct Span {
  int device = 0;
  Lane lane = Lane::compute;
  SpanKind kind = SpanKind::forward;
  Seconds begin, end;             ///< from the beginning of the step
  int chunk = -1;                 ///< of computes
  int micro_batch = -1;           ///< of computes and transfers
  int peer = -1;                  ///< the device at the other end of a send or receive
  int flow = -1;                  ///< the same number for a send and its receive, and no other; -1: neither
  std::int32_t instruction = -1;  ///< in Program::instructions
  std::int32_t entry = -1;        ///< in Program::entries, or -1 for the whole instruction
  std::int32_t collective = -1;   ///< in Program::collectives
  Bytes bytes;                    ///< that the device sends meanwhile

  [[nodiscard]] constexpr double seconds() const { return end.value - begin.value; }
};

/// Bytes that a device needs from a moment on: {1, 0.3 s, 4,096 bytes} is of device 1.
struct MemoryAt {
  int device = 0;
  Seconds at;
  Bytes bytes;
};

/// One step of all devices that differ: ranks, or one of each role where all ranks of a role do the same at the same time.
///
/// Tested  plan/read/timeline_test
struct Timeline {
  std::string title;
  bool measured = false;             ///< by an observer; else predicted
  std::vector<std::string> devices;  ///< their names, "rank 3" or "stage 1"
  std::vector<Span> spans;           ///< in any order
  std::vector<MemoryAt> memory;      ///< in the order of time for each device; empty where nobody counted it

  [[nodiscard]] Seconds end() const {
    Seconds last{0};
    for (const Span& span : spans) last.value = std::max(last.value, span.end.value);
    return last;
  }
  /// Seconds in which a device computes: overlapping spans count once.
  [[nodiscard]] Seconds busy(int device) const {
    std::vector<std::pair<double, double>> parts;
    for (const Span& span : spans)
      if (span.device == device && span.lane == Lane::compute) parts.emplace_back(span.begin.value, span.end.value);
    std::sort(parts.begin(), parts.end());
    double sum = 0, until = 0;
    for (const auto& [begin, last] : parts) {
      sum += std::max(0.0, last - std::max(begin, until));
      until = std::max(until, last);
    }
    return Seconds{sum};
  }
  /// Share of the time of all devices in which they do not compute: 2 devices that are busy for 3 of 4 seconds each wait for 0.25.
  [[nodiscard]] double idle_share() const {
    const double whole = end().value * static_cast<double>(devices.size());
    double sum = 0;
    for (std::size_t d = 0; d < devices.size(); ++d) sum += busy(static_cast<int>(d)).value;
    return whole > 0 ? 1 - sum / whole : 0;
  }
};

}  // namespace heddle::plan_room

namespace heddle::extending {
using plan_room::Lane, plan_room::MemoryAt, plan_room::Span, plan_room::SpanKind, plan_room::Timeline;
}  // namespace heddle::extending
