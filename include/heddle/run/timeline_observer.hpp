// SPDX-License-Identifier: MIT
// Room: run. Records some steps of a running program, line by line on every rank, and makes a Timeline of each.
// Sees: plan/program, plan/read/timeline, run/{observer, recorded_spans}, seams/error.  Does not see: threads, compute, transport.
// In: observations.  Out: TimelineObserver.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/timeline.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/recorded_spans.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Which steps are recorded, as trainers count them, from 1 on: {.first = 3, .count = 2} are steps 3 and 4. The first steps of a program are slower.
struct ObservedSteps {
  std::int64_t first = 1;
  int count = 1;
};

/// trainer.observe(&observer) before the steps, observer.timeline(3) after them. Room for these steps is made at the beginning, so a step allocates
/// nothing; other steps, evaluations and predictions are not recorded. Where an observer watches, each entry of a body runs by itself.
///
/// Errors  V05 by timeline() of a step that was not recorded whole, and of steps that are none
/// Tested  run/timeline_observer_test
class TimelineObserver : public Observer {
 public:
  explicit TimelineObserver(const Program& program, ObservedSteps steps = {}) : program_(program), steps_(steps) {
    constexpr std::int64_t last = std::int64_t{1} << 62;
    if (steps.first < 1 || steps.count < 1 || steps.first > last)
      throw Error(Code{'V', 5},
                  written({steps.count, " steps from step ", steps.first,
                           " on cannot be recorded. Fix: name at least one, and count them from 1 on, as in {.first = 3, .count = 1}."}));
    refuse_more_than_there_is_room_for();
    ranks_.resize(static_cast<std::size_t>(program.mesh.ranks()));
    for (int r = 0; r < program.mesh.ranks(); ++r) {
      const int role = program.mesh.coordinate(Rank{r}, Axis::stage);
      ranks_[static_cast<std::size_t>(r)].room = std::vector<Recorded>(records_of_step(program, role) * static_cast<std::size_t>(steps.count));
    }
  }

  void finished(const Observation& seen) override {
    if (seen.program != &program_ || seen.step < steps_.first || seen.step >= steps_.first + steps_.count) return;
    if (seen.entry >= 0 && !moves(program_.entries[seen.entry].what)) return;
    RankRecord& rank = ranks_[static_cast<std::size_t>(seen.rank.value)];
    if (rank.count == rank.room.size()) {
      ++rank.lost;
      return;
    }
    rank.room[rank.count++] = {seen.instruction, seen.entry, seen.step, seen.start, seen.end};
  }

  /// One of the steps, with a device for each rank that was seen: under MPI those of this process.
  [[nodiscard]] Timeline timeline(std::int64_t step) const {
    std::vector<RecordedRank> seen;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const RankRecord& rank = ranks_[r];
      if (rank.lost > 0)
        refuse(step, written({"rank ", r, " ran ", rank.lost, " lines more than there is room for, as a step that is made again does"}),
               "make an observer for each trainer, and another after a step that was refused.");
      RecordedRank of{Rank{static_cast<int>(r)}, {}};
      std::copy_if(rank.room.begin(), rank.room.begin() + static_cast<std::ptrdiff_t>(rank.count), std::back_inserter(of.lines),
                   [&](const Recorded& line) { return line.step == step; });
      if (!of.lines.empty()) seen.push_back(std::move(of));
    }
    if (seen.empty())
      refuse(step, written({"steps ", steps_.first, " to ", steps_.first + steps_.count - 1, " are asked for, and no line of this one has run"}),
             "observe a trainer of this plan, make the step, and name it among the observed ones.");
    for (const RecordedRank& rank : seen)
      if (const std::string why = missing(program_, rank); !why.empty()) refuse(step, why, "make the whole step under the observer.");
    return timeline_of(program_, seen);
  }

 private:
  /// V05 of a record of all steps that no memory holds.
  void refuse_more_than_there_is_room_for() const {
    std::size_t lines = 0;
    for (int r = 0; r < program_.mesh.ranks(); ++r) lines += records_of_step(program_, program_.mesh.coordinate(Rank{r}, Axis::stage));
    constexpr double most = 16e9;  // bytes
    const double bytes = static_cast<double>(lines) * sizeof(Recorded) * steps_.count;
    if (bytes > most)
      throw Error(Code{'V', 5}, written({steps_.count, " steps take ", static_cast<std::int64_t>(bytes / 1e9),
                                         " GB to record, more than 16. Fix: name fewer steps: a timeline shows one of them."}));
  }
  /// What one rank writes while others write theirs.
  /// A rank of 30 lines that has made 2 of 3 steps has a count of 60 and room for 90.
  struct alignas(64) RankRecord {
    std::vector<Recorded> room;
    std::size_t count = 0;
    std::int64_t lost = 0;
  };
  [[noreturn]] static void refuse(std::int64_t step, const std::string& words, const char* fix) {
    throw Error(Code{'V', 5}, written({"step ", step, " has no timeline: ", words, ". Fix: ", fix}));
  }
  const Program& program_;
  ObservedSteps steps_;
  std::vector<RankRecord> ranks_;
};

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::ObservedSteps, run_room::TimelineObserver;
}  // namespace heddle::extending
