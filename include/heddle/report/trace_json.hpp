// SPDX-License-Identifier: MIT
// Room: report. A step in time for Perfetto and chrome://tracing: a process for each device, its computes and what it moves, flows, memory.
// Sees: plan/read/timeline, report/{json, timeline_check}.  Does not see: threads, who has timed the step.
// In: a Timeline.  Out: JSON of the Trace Event Format.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/plan/read/timeline.hpp"
#include "heddle/report/json.hpp"
#include "heddle/report/timeline_check.hpp"

namespace heddle::report_room {

/// Writes the events of a timeline: one of 2 devices and 8 spans, 4 of which are 2 messages, has 8 events X, 2 s and 2 f.
///
/// Tested  report/trace_json_test
class TraceWriter {
 public:
  explicit TraceWriter(const Timeline& t) : t_(t), row_(t.spans.size()), spans_(t.devices.size()) {
    for (std::size_t i = 0; i < t.spans.size(); ++i) spans_[static_cast<std::size_t>(t.spans[i].device)].push_back(i);
  }

  [[nodiscard]] std::string text() {
    for (int d = 0; d < static_cast<int>(t_.devices.size()); ++d) device(d);
    for (std::size_t i = 0; i < t_.spans.size(); ++i) span(t_.spans[i], row_[i]);
    flows();
    for (const MemoryAt& m : t_.memory) add(event("C", "memory", m.device, nanoseconds(m.at)).add("args", JsonObject{}.add("bytes", m.bytes.value)));
    const JsonObject about = JsonObject{}.add("title", t_.title).add("measured", t_.measured);
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + about.text() + ",\"traceEvents\":[\n" + events_ + "\n]}\n";
  }

 private:
  /// Whole ones, so that what ends where the next begins still does so in the trace.
  [[nodiscard]] static std::int64_t nanoseconds(Seconds time) { return static_cast<std::int64_t>(std::llround(time.value * 1e9)); }
  [[nodiscard]] static std::string microseconds(std::int64_t nanoseconds) {
    const std::string below = std::to_string(1000 + nanoseconds % 1000);
    return std::to_string(nanoseconds / 1000) + '.' + below.substr(1);
  }
  void add(const JsonObject& event) { events_ += (events_.empty() ? "" : ",\n") + event.text(); }
  [[nodiscard]] static JsonObject event(std::string_view phase, std::string_view name, int device, std::int64_t at) {
    return JsonObject{}.add("ph", phase).add("name", name).add("pid", device).member("ts", microseconds(at));
  }
  void name(std::string_view what, int device, int row, std::string_view words) {
    add(JsonObject{}.add("ph", "M").add("name", what).add("pid", device).add("tid", row).add("args", JsonObject{}.add("name", words)));
  }
  /// Spans that overlap have rows of their own: a reader nests those of one row.
  void device(int number) {
    name("process_name", number, 0, t_.devices[static_cast<std::size_t>(number)]);
    add(JsonObject{}
            .add("ph", "M")
            .add("name", "process_sort_index")
            .add("pid", number)
            .add("tid", 0)
            .add("args", JsonObject{}.add("sort_index", number)));
    int first = 0;
    for (const Lane lane : {Lane::compute, Lane::communication}) {
      std::vector<std::size_t> spans;
      for (const std::size_t i : spans_[static_cast<std::size_t>(number)])
        if (t_.spans[i].lane == lane) spans.push_back(i);
      std::sort(spans.begin(), spans.end(),
                [&](std::size_t a, std::size_t b) { return t_.spans[a].begin != t_.spans[b].begin ? t_.spans[a].begin < t_.spans[b].begin : a < b; });
      std::vector<Seconds> until;  // of each row
      for (const std::size_t i : spans) {
        std::size_t row = 0;
        while (row < until.size() && t_.spans[i].begin < until[row]) ++row;
        if (row == until.size()) until.emplace_back();
        until[row] = t_.spans[i].end;
        row_[i] = first + static_cast<int>(row);
      }
      const std::string words = lane == Lane::compute ? "compute" : "communication";
      for (std::size_t row = 0; row < until.size(); ++row)
        name("thread_name", number, first + static_cast<int>(row), row == 0 ? words : words + ' ' + std::to_string(row + 1));
      first += static_cast<int>(until.size());
    }
  }
  void span(const Span& s, int row) {
    JsonObject about;
    if (s.micro_batch >= 0) about.add("micro-batch", s.micro_batch);
    if (s.chunk >= 0) about.add("chunk", s.chunk);
    if (s.peer >= 0 && s.peer < static_cast<int>(t_.devices.size())) about.add("peer", t_.devices[static_cast<std::size_t>(s.peer)]);
    if (s.bytes.value > 0) about.add("bytes", s.bytes.value);
    if (s.instruction >= 0) about.add("instruction", s.instruction);
    if (s.entry >= 0) about.add("entry", s.entry);
    if (s.collective >= 0) about.add("collective", s.collective);
    std::string name{name_of(s.kind)};
    if (s.micro_batch >= 0) name += ' ' + std::to_string(s.micro_batch);
    const std::int64_t begin = nanoseconds(s.begin);
    add(event("X", name, s.device, begin).member("dur", microseconds(nanoseconds(s.end) - begin)).add("tid", row).add("args", about));
  }
  /// From the begin of each send into its receive.
  void flows() {
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < t_.spans.size(); ++i)
      if (t_.spans[i].flow >= 0) ends.push_back(i);
    std::sort(ends.begin(), ends.end(), [&](std::size_t a, std::size_t b) {
      const Span &x = t_.spans[a], &y = t_.spans[b];
      return x.flow != y.flow ? x.flow < y.flow : x.kind < y.kind;  // a send, then its receive
    });
    for (std::size_t i = 0; i + 1 < ends.size(); i += 2) {
      const Span &send = t_.spans[ends[i]], &receive = t_.spans[ends[i + 1]];
      const std::int64_t arrives = nanoseconds(std::clamp(send.begin, receive.begin, receive.end));
      add(event("s", "transfer", send.device, nanoseconds(send.begin)).add("tid", row_[ends[i]]).add("cat", "transfer").add("id", send.flow));
      add(event("f", "transfer", receive.device, arrives).add("tid", row_[ends[i + 1]]).add("cat", "transfer").add("id", send.flow).add("bp", "e"));
    }
  }

  const Timeline& t_;
  std::vector<int> row_;                         // of each span within its device
  std::vector<std::vector<std::size_t>> spans_;  // of each device
  std::string events_;
};

/// Errors  V01, V02, V03
/// Source  sources.md#trace-event
/// Tested  report/trace_json_test
[[nodiscard]] inline std::string trace_json(const Timeline& timeline) {
  refuse_undrawable(timeline);
  return TraceWriter{timeline}.text();
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::trace_json;
}  // namespace heddle::extending
