// SPDX-License-Identifier: MIT
// Room: report. A step in time as a picture: devices are rows, forward blue, backward green, communication orange below, hatched where a
// device waits.
// Sees: plan/read/timeline, report/{svg, timeline_text, timeline_check}.  Does not see: threads, who has timed the step.
// In: one Timeline, or several for one scale.  Out: SVG 1.1 for light and dark pages, without scripts or other files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/plan/read/timeline.hpp"
#include "heddle/report/fixed_point.hpp"
#include "heddle/report/svg.hpp"
#include "heddle/report/timeline_check.hpp"
#include "heddle/report/timeline_text.hpp"

namespace heddle::report_room {

/// How a timeline is drawn. {.width = 960, .communication = false, .unit = {"forwards", 0.004}} has ticks at 0, 5, 10 times 4 ms.
struct TimelineSvg {
  double width = 960;  ///< [px], at least 400
  bool communication = true;
  int most_devices = 64;  ///< the others are told in one line
  TimeUnit unit{};
};

/// What a browser tells of a span: "forward of micro-batch 3 on chunk 0: 1.2 ms from 0.3 ms on".
[[nodiscard]] inline std::string words_of(const Timeline& t, const Span& span, const TimeUnit& unit) {
  std::string words{name_of(span.kind)};
  if (span.micro_batch >= 0) words += " of micro-batch " + std::to_string(span.micro_batch);
  if (span.chunk >= 0) words += " on chunk " + std::to_string(span.chunk);
  if (span.peer >= 0 && span.peer < static_cast<int>(t.devices.size()))
    words += (span.kind == SpanKind::receive ? " from " : " to ") + t.devices[static_cast<std::size_t>(span.peer)];
  if (span.bytes.value > 0) words += ", " + grouped_digits(span.bytes.value) + " bytes";
  return words + ": " + unit.words(span.seconds()) + " from " + unit.words(span.begin.value) + " on";
}

/// Draws timelines below each other: 2 of 4 devices are 8 rows on one scale.
///
/// Tested  report/timeline_svg_test
class TimelinePicture {
 public:
  TimelinePicture(const std::vector<Timeline>& all, const TimelineSvg& how) : all_(all), how_(how), width_(std::max(400.0, how.width)) {
    double names = 40;
    for (const Timeline& t : all) {
      end_ = std::max(end_, t.end().value);
      for (std::size_t d = 0; d < shown(t); ++d) names = std::max(names, std::min(width_ / 5, width_of(printable(t.devices[d]), 12)));
      for (const Span& span : t.spans) moves_ |= how.communication && span.lane == Lane::communication;
    }
    left_ = margin + names + 8;
    right_ = width_ - margin - width_of("100.0 %", 12) - 6;
    unit_ = how.unit.fitting(end_);
    ticks_ = Ticks{end_ / unit_.seconds, std::max(2, static_cast<int>((right_ - left_) / 90))};
    for (const Timeline& t : all)
      for (const Span& span : t.spans)
        if (const std::string number = std::to_string(span.micro_batch); drawn(span) && fits(number, span) && !fits(letter(span) + number, span))
          letters_ = false;
  }
  [[nodiscard]] std::string document() {
    std::string title;
    for (const Timeline& t : all_) {
      title += (title.empty() ? "" : "; ") + heading_of(t, how_.unit);
      panel(t);
    }
    axis();
    legend();
    return svg_document(width_, y_ + margin - 6, title, behind_.text() + grid_.text() + front_.text());
  }

 private:
  static constexpr double margin = 16, row = 24, strip = 5, gap = 5, bold = 16;

  [[nodiscard]] std::size_t shown(const Timeline& t) const {
    return std::min(t.devices.size(), static_cast<std::size_t>(std::max(1, how_.most_devices)));
  }
  [[nodiscard]] double x_of(Seconds at) const { return left_ + at.value / end_ * (right_ - left_); }
  [[nodiscard]] bool drawn(const Span& span) const { return span.lane == Lane::compute && span.micro_batch >= 0; }
  [[nodiscard]] bool fits(const std::string& word, const Span& span) const { return width_of(word, 11) + 3 <= x_of(span.end) - x_of(span.begin); }
  [[nodiscard]] static std::string letter(const Span& span) { return std::string(1, "FBBWSRCU"[static_cast<std::size_t>(span.kind)]); }

  void panel(const Timeline& t) {
    y_ += y_ == 0 ? margin + 12 : 30;
    const std::string facts = facts_of(t, how_.unit);  // a title that is too long is cut before them
    const double room = width_ - 2 * margin - width_of(facts, bold);
    front_.words("h", margin, y_, fitted_words(fitted_words(t.title, bold, room) + facts, bold, width_ - 2 * margin));
    y_ += 10;
    const double top = y_ - 4;
    const std::vector<double> idle = idle_shares(t);
    for (std::size_t d = 0; d < shown(t); ++d) device(t, static_cast<int>(d), idle[d]);
    for (int i = 0; i < ticks_.count; ++i) grid_.line("grid", x_of_tick(i), top, x_of_tick(i), y_);
    if (shown(t) < t.devices.size()) {
      y_ += 10;
      front_.words("n dim", left_, y_, "and " + std::to_string(t.devices.size() - shown(t)) + " more devices, which are not drawn");
      y_ += gap;
    }
  }
  void device(const Timeline& t, int number, double idle) {
    const std::string name = fitted_words(t.devices[static_cast<std::size_t>(number)], 12, left_ - margin - 7);
    const double high = row + (moves_ ? 2 * strip + 2 : 0);
    front_.words("n", left_ - 8, y_ + row / 2 + 4, name, "end");
    front_.words("n dim", width_ - margin, y_ + row / 2 + 4, percent_words(idle), "end");
    behind_.add("<rect fill=\"url(#bubble)\" x=\"" + pixels(left_) + "\" y=\"" + pixels(y_) + "\" width=\"" + pixels(x_of(t.end()) - left_) +
                "\" height=\"" + pixels(row) + "\"/>\n");
    const std::vector<int> chunks = chunks_of(t, number);
    for (const Lane lane : {Lane::compute, Lane::communication})
      if (lane == Lane::compute || moves_)
        for (const Run& run : runs(t, number, lane)) box(t, run, chunks);
    y_ += high + gap;
  }

  /// Spans that are drawn as one: 1 of its own, or many that no eye tells apart.
  struct Run {
    const Span* first = nullptr;
    Seconds end;
    int count = 1;
  };
  [[nodiscard]] std::vector<Run> runs(const Timeline& t, int device, Lane lane) const {
    std::vector<const Span*> spans;
    for (const Span& span : t.spans)
      if (span.device == device && span.lane == lane) spans.push_back(&span);
    std::sort(spans.begin(), spans.end(), [](const Span* a, const Span* b) { return a->begin != b->begin ? a->begin < b->begin : a < b; });
    std::vector<Run> runs;
    const double least = 0.4 * end_ / (right_ - left_);  // of a pixel
    for (const Span* span : spans) {
      if (!runs.empty() && runs.back().first->kind == span->kind && span->seconds() < least && span->begin.value < runs.back().end.value + least &&
          (runs.back().count > 1 || runs.back().first->seconds() < least)) {
        runs.back().end = std::max(runs.back().end, span->end);
        ++runs.back().count;
      } else {
        runs.push_back({span, span->end, 1});
      }
    }
    return runs;
  }
  void box(const Timeline& t, const Run& run, const std::vector<int>& chunks) {
    constexpr std::string_view styles[] = {"forward", "backward", "backward", "weight", "send", "receive", "collective", "update"};
    const Span& span = *run.first;
    const double x = x_of(span.begin), wide = std::max(0.5, x_of(run.end) - x);
    std::string style{styles[static_cast<std::size_t>(span.kind)]};
    const std::string title = run.count == 1 ? words_of(t, span, how_.unit) : std::to_string(run.count) + " times " + std::string{name_of(span.kind)};
    if (span.lane == Lane::communication) {
      const bool below = span.kind == SpanKind::receive;
      front_.box(style, x, y_ + row + 1 + (below ? strip + 1 : 0), wide, span.kind == SpanKind::collective ? 2 * strip + 1 : strip, title);
      return;
    }
    const bool odd = of_odd_chunk(chunks, span) && span.kind != SpanKind::update;
    const double seam = wide > 3 ? 1 : 0;  // between neighbours
    front_.box(style + (odd ? "2" : ""), x, y_, wide - seam, row, title);
    mark(span.kind, x, y_, wide - seam, row);
    const std::string number = std::to_string(span.micro_batch);
    const std::string word = letters_ ? letter(span) + number : number;
    if (run.count == 1 && span.micro_batch >= 0 && fits(word, span))
      front_.words(span.kind == SpanKind::backward_weight && !odd ? "s out" : "s in", x + (wide - seam) / 2, y_ + row / 2 + 4, word, "middle");
  }
  /// What tells a backward without its colour: a dark stripe, or slanted lines for its weight part.
  void mark(SpanKind kind, double x, double y, double wide, double high) {
    if (kind == SpanKind::backward || kind == SpanKind::backward_input) front_.box("stripe", x, y + high - 3, wide, 3);
    if (kind == SpanKind::backward_weight)
      front_.add("<rect fill=\"url(#slant)\" x=\"" + pixels(x) + "\" y=\"" + pixels(y + high - 6) + "\" width=\"" + pixels(wide) +
                 "\" height=\"6\" pointer-events=\"none\"/>\n");
  }
  [[nodiscard]] double x_of_tick(int tick) const { return x_of(Seconds{ticks_.at(tick) * unit_.seconds}); }
  void axis() {
    for (int i = 0; i < ticks_.count; ++i)
      if (x_of_tick(i) + width_of(ticks_.label(i), 11) / 2 < width_ - margin - width_of("idle", 11) - 4)
        front_.words("s dim", x_of_tick(i), y_ + 14, ticks_.label(i), "middle");
    front_.words("s dim", width_ - margin, y_ + 14, "idle", "end");
    front_.words("s dim", (left_ + right_) / 2, y_ + 29, fitted_words("time in " + unit_.name, 11, right_ - left_), "middle");
    y_ += 29;
  }
  /// The kinds that are there, each as it is drawn.
  void legend() {
    constexpr std::string_view styles[] = {"forward", "backward", "backward", "weight", "send", "receive", "collective", "update"};
    bool there[std::size(styles)]{};
    bool odd = false;
    for (const Timeline& t : all_) {
      for (const Span& span : t.spans) there[static_cast<std::size_t>(span.kind)] |= moves_ || span.lane == Lane::compute;
      odd |= has_chunks(t);
    }
    double x = left_;
    y_ += 12;
    const auto entry = [&](const std::string& words, auto draw) {
      if (x + 22 + width_of(words, 11) > width_ - margin) x = left_, y_ += 18;
      draw(x, y_);
      front_.words("s", x + 20, y_ + 10, words);
      x += 22 + width_of(words, 11) + 10;
    };
    for (std::size_t k = 0; k < std::size(styles); ++k)
      if (const auto kind = static_cast<SpanKind>(k); there[k])
        entry(std::string{name_of(kind)}, [&](double at, double y) {
          front_.box(styles[k], at, y, 16, 12);
          mark(kind, at, y, 16, 12);
        });
    if (odd)
      entry("paler: every second chunk of a device", [&](double at, double y) {
        front_.box("forward2", at, y, 8, 12);
        front_.box("backward2", at + 8, y, 8, 12);
      });
    entry("waits", [&](double at, double y) {
      front_.add("<rect fill=\"url(#bubble)\" x=\"" + pixels(at) + "\" y=\"" + pixels(y) + "\" width=\"16\" height=\"12\"/>\n");
    });
    y_ += 12;
  }

  const std::vector<Timeline>& all_;
  const TimelineSvg& how_;
  double width_;
  double end_ = 0;
  double left_ = 0, right_ = 0;
  double y_ = 0;  // of what is drawn next
  TimeUnit unit_;
  Ticks ticks_;
  bool moves_ = false;
  bool letters_ = true;
  Svg behind_, grid_, front_;
};

/// Timelines one below the other on one scale, as a predicted step and the measured one.
///
/// Errors  V01, V02, V03
/// Tested  report/timeline_svg_test
[[nodiscard]] inline std::string timeline_svg(const std::vector<Timeline>& all, const TimelineSvg& how = {}) {
  refuse_undrawable(all);
  return TimelinePicture{all, how}.document();
}
[[nodiscard]] inline std::string timeline_svg(const Timeline& one, const TimelineSvg& how = {}) { return timeline_svg(std::vector{one}, how); }

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::timeline_svg, report_room::TimelineSvg;
}  // namespace heddle::extending
