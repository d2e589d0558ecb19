// SPDX-License-Identifier: MIT
// A rank that is a process throws at one place of one step, at every place in turn. Every survivor is told who it was and where it noticed, and none
// hangs.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "equivalence/lost_places.hpp"
#include "heddle/backend/cpu_mpi.hpp"
#include "transport/mpi_ranks.hpp"

namespace equivalence {

using heddle::tests::FirstRanks;

// Long beside any step. No test measures it: what does not hang never reaches it.
inline constexpr RunOptions patience{std::chrono::minutes{1}};

/// Steps until one throws; three are enough for every rank to need every other.
template <class ThePlan> [[nodiscard]] std::optional<RankLost> step_until_lost(Trainer<ThePlan, CpuMpi>& trainer, const RowsOf<ThePlan>& rows) {
  try {
    for (int step = 0; step < 3; ++step) trainer.step(rows.batch(0, 16));
  } catch (const RankLost& error) {
    return error;
  }
  return std::nullopt;
}

/// Every process throws at every place of a step in turn, or at every place where it communicates.
template <class ThePlan> void throw_everywhere(bool only_communication = false) {
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const auto rows = rows_of<ThePlan>(16);
  for (int thrower = 0; thrower < devices<ThePlan>; ++thrower) {
    Places places{devices<ThePlan>, only_communication};
    {
      Trainer<ThePlan, CpuMpi> untouched{settings<Adam>(), Seed{5}, patience};
      untouched.observe(&places);
      untouched.step(rows.batch(0, 16));
    }
    const std::vector<Place>& mine = places.by_rank[static_cast<std::size_t>(ranks.rank())];
    int count = static_cast<int>(mine.size());
    MPI_Bcast(&count, 1, MPI_INT, thrower, ranks.get());
    CHECK(count > 0);
    for (int i = 0; i < count; ++i) {
      CAPTURE(thrower);
      CAPTURE(i);
      const bool throws = ranks.rank() == thrower;
      Thrower observer;
      Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}, patience};
      if (throws) {
        observer.rank = thrower;
        observer.at = mine[static_cast<std::size_t>(i)];
        trainer.observe(&observer);
      }
      const std::optional<RankLost> lost = step_until_lost<ThePlan>(trainer, rows);
      REQUIRE(lost.has_value());
      CHECK(lost->rank() == Rank{thrower});
      CHECK(std::string{lost->what()}.find("the disk is on fire. Fix: ") != std::string::npos);
      CHECK(std::string{lost->what()}.find(throws ? "was lost at instruction " : "rank " + std::to_string(thrower) + " was lost at ") !=
            std::string::npos);
      // What was lost is not found again: parameters may differ between the processes.
      CHECK_THROWS_WITH_AS(trainer.step(rows.batch(0, 16)), doctest::Contains("[heddle.R04]"), Error);
    }
  }
}

}  // namespace equivalence
