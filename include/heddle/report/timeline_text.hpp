// SPDX-License-Identifier: MIT
// Room: report. A step in time for a terminal: a row for each device, a letter and the micro-batch for what it computes, '.' where it waits.
// Sees: plan/read/timeline, report/{fixed_point, table, timeline_check}.  Does not see: threads, who has timed the step.
// In: a Timeline.  Out: text of at most 100 columns.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include "heddle/core/utf8.hpp"
#include "heddle/plan/read/timeline.hpp"
#include "heddle/report/fixed_point.hpp"
#include "heddle/report/table.hpp"
#include "heddle/report/timeline_check.hpp"

namespace heddle::report_room {

/// How a timeline is written. {.communication = true, .most_devices = 4} gives each of the first 4 devices a second row, for what it moves.
struct TimelineText {
  bool communication = false;
  int most_devices = 16;  ///< the others are told in one line
  TimeUnit unit{};
};

/// Numbers of a device's chunks that compute, in order: 0, 2 of one whose chunks are 0 and 2.
[[nodiscard]] inline std::vector<int> chunks_of(const Timeline& t, int device) {
  std::vector<int> chunks;
  for (const Span& span : t.spans)
    if (span.device == device && span.lane == Lane::compute && span.chunk >= 0 && std::find(chunks.begin(), chunks.end(), span.chunk) == chunks.end())
      chunks.push_back(span.chunk);
  std::sort(chunks.begin(), chunks.end());
  return chunks;
}
/// Whether a span is of the second, fourth, ... chunk of its device, which is drawn another way.
[[nodiscard]] inline bool of_odd_chunk(const std::vector<int>& chunks, const Span& span) {
  return (std::lower_bound(chunks.begin(), chunks.end(), span.chunk) - chunks.begin()) % 2 == 1;
}

/// " (predicted): 33 forwards, idle 27.3 %"
[[nodiscard]] inline std::string facts_of(const Timeline& t, const TimeUnit& unit) {
  return (t.measured ? " (measured): " : " (predicted): ") + unit.words(t.end().value) + ", idle " + percent_words(t.idle_share());
}
/// "1F1B, 4 stages (predicted): 33 forwards, idle 27.3 %"
[[nodiscard]] inline std::string heading_of(const Timeline& t, const TimeUnit& unit) { return printable(t.title) + facts_of(t, unit); }

/// Share of the step in which each device does not compute.
[[nodiscard]] inline std::vector<double> idle_shares(const Timeline& t) {
  const double end = t.end().value;
  std::vector<double> shares;
  for (const Seconds& busy : t.busy()) shares.push_back(1 - busy.value / end);
  return shares;
}
/// Whether a device has several chunks.
[[nodiscard]] inline bool has_chunks(const Timeline& t) {
  std::vector<int> first(t.devices.size(), -1);
  for (const Span& span : t.spans) {
    if (span.lane != Lane::compute || span.chunk < 0) continue;
    int& chunk = first[static_cast<std::size_t>(span.device)];
    if (chunk >= 0 && chunk != span.chunk) return true;
    chunk = span.chunk;
  }
  return false;
}

/// Rows of one timeline on a given scale: 2 devices are 2 rows, or 4 with what they move.
class TimelineLines {
 public:
  TimelineLines(const Timeline& t, const TimelineText& how, double end, std::size_t names)
      : t_(t), how_(how), end_(end), idle_(idle_shares(t)), shown_(shown(t, how)), names_(names), wide_(most_columns - names - 2 - idle_columns) {}
  [[nodiscard]] static std::size_t shown(const Timeline& t, const TimelineText& how) {
    return std::min(t.devices.size(), static_cast<std::size_t>(std::max(1, how.most_devices)));
  }
  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t d = 0; d < shown_; ++d) {
      out +=
          left_of(printable(t_.devices[d])) + "  " + row(static_cast<int>(d), Lane::compute) + padded(percent_words(idle_[d]), idle_columns) + '\n';
      if (how_.communication) out += left_of("") + "  " + row(static_cast<int>(d), Lane::communication) + '\n';
    }
    if (shown_ < t_.devices.size()) out += folded();
    return out;
  }
  /// A mark at each tick and what it says, behind the unit.
  [[nodiscard]] std::string axis() const {
    const TimeUnit unit = how_.unit.fitting(end_);
    const Ticks ticks{end_ / unit.seconds, 8};
    std::string line(wide_, ' ');
    for (int i = 0; i < ticks.count; ++i) {
      const std::string mark = '|' + ticks.label(i);
      const auto at = static_cast<std::size_t>(ticks.at(i) * unit.seconds / end_ * static_cast<double>(wide_));
      if (at + mark.size() <= wide_) line.replace(at, mark.size(), mark);
    }
    return padded(shortened(printable(unit.name), names_), names_) + "  " + line + padded("idle", idle_columns) + '\n';
  }

 private:
  static constexpr std::size_t idle_columns = 9;

  [[nodiscard]] std::string left_of(const std::string& words) const {
    const std::string word = shortened(words, names_);
    return word + std::string(names_ - characters_of(word), ' ');
  }
  [[nodiscard]] std::string folded() const {
    const auto rest = idle_.begin() + static_cast<std::ptrdiff_t>(shown_);
    const double sum = std::accumulate(rest, idle_.end(), 0.0);
    return "... and " + std::to_string(idle_.end() - rest) + " more devices, idle " + percent_words(sum / static_cast<double>(idle_.end() - rest)) +
           " on average\n";
  }
  /// The span that has most of each column, or -1 where the device waits for more than half of it.
  [[nodiscard]] std::vector<int> columns(int device, Lane lane) const {
    std::vector<int> most(wide_, -1);
    std::vector<double> longest(wide_), covered(wide_);
    const double column = end_ / static_cast<double>(wide_);
    for (std::size_t i = 0; i < t_.spans.size(); ++i) {
      const Span& span = t_.spans[i];
      if (span.device != device || span.lane != lane) continue;
      const auto last = std::min(wide_, static_cast<std::size_t>(std::ceil(span.end.value / column)));
      for (auto c = static_cast<std::size_t>(span.begin.value / column); c < last; ++c) {
        const double at = static_cast<double>(c) * column;
        const double here = std::min(span.end.value, at + column) - std::max(span.begin.value, at);
        covered[c] += here;
        if (here > longest[c]) {
          longest[c] = here;
          most[c] = static_cast<int>(i);
        }
      }
    }
    for (std::size_t c = 0; c < wide_; ++c)
      if (covered[c] < column / 2) most[c] = -1;
    return most;
  }
  [[nodiscard]] std::string row(int device, Lane lane) const {
    const std::vector<int> most = columns(device, lane);
    const std::vector<int> chunks = chunks_of(t_, device);
    std::string line;
    for (std::size_t begin = 0; begin < wide_;) {
      std::size_t end = begin + 1;
      while (end < wide_ && most[end] == most[begin]) ++end;
      line += most[begin] < 0 ? std::string(end - begin, '.') : box(t_.spans[static_cast<std::size_t>(most[begin])], end - begin, chunks);
      begin = end;
    }
    return line;
  }
  /// "F3--": the letter, the micro-batch if there is room for all of its digits, and what fills the rest.
  [[nodiscard]] static std::string box(const Span& span, std::size_t columns, const std::vector<int>& chunks) {
    constexpr const char* letters = "FBBWSRCU";
    constexpr const char* fillers = "-==~>><-";
    const auto kind = static_cast<std::size_t>(span.kind);
    std::string word(1, letters[kind]);
    if (span.lane == Lane::compute && of_odd_chunk(chunks, span)) word[0] = static_cast<char>(word[0] - 'A' + 'a');
    if (span.micro_batch >= 0) word += std::to_string(span.micro_batch);
    if (word.size() > columns) word.resize(1);
    return word + std::string(columns - word.size(), fillers[kind]);
  }

  const Timeline& t_;
  const TimelineText& how_;
  double end_;
  std::vector<double> idle_;  // of each device
  std::size_t shown_, names_, wide_;
};

/// What the letters mean: of the kinds that are there, in the order of SpanKind.
[[nodiscard]] inline std::string letters_of(const std::vector<Timeline>& all, const TimelineText& how) {
  constexpr const char* words[] = {
      "F forward", "B backward", "B input part of a backward", "W weight part of a backward", "S> send", "R> receive", "C< collective", "U update"};
  bool there[std::size(words)]{};
  bool turns = false;
  for (const Timeline& t : all)
    for (const Span& span : t.spans) there[static_cast<std::size_t>(span.kind)] |= how.communication || span.lane == Lane::compute;
  for (const Timeline& t : all) turns |= has_chunks(t);
  std::string out;
  for (std::size_t k = 0; k < std::size(words); ++k)
    if (there[k]) out += std::string{words[k]} + ", ";
  return out + (turns ? "small letters every second chunk of a device, " : "") + ". idle; a number is that of the micro-batch";
}

/// Timelines one below the other on one scale, as a predicted step and the measured one.
///
/// Errors  V01, V02, V03
/// Tested  report/timeline_text_test
[[nodiscard]] inline std::string timeline_text(const std::vector<Timeline>& all, const TimelineText& how = {}) {
  refuse_undrawable(all);
  double end = 0;
  std::size_t names = std::clamp<std::size_t>(characters_of(printable(how.unit.name)), 4, 20);
  for (const Timeline& t : all) {
    end = std::max(end, t.end().value);
    for (std::size_t d = 0; d < TimelineLines::shown(t, how); ++d)
      names = std::max(names, std::min<std::size_t>(20, characters_of(printable(t.devices[d]))));
  }
  std::string out;
  for (const Timeline& t : all) {
    const TimelineLines rows{t, how, end, names};
    out += wrapped("", heading_of(t, how.unit), 0) + rows.text() + rows.axis();
  }
  return out + wrapped("", letters_of(all, how), 0);
}
[[nodiscard]] inline std::string timeline_text(const Timeline& one, const TimelineText& how = {}) { return timeline_text(std::vector{one}, how); }

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::timeline_text, report_room::TimelineText, report_room::TimeUnit;
}  // namespace heddle::extending
