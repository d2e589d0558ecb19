// SPDX-License-Identifier: MIT
#include <chrono>
#include <optional>
#include <stdexcept>

#include "equivalence/equal.hpp"
#include "heddle/backend/cpu_mpi.hpp"
#include "transport/mpi_ranks.hpp"

using namespace equivalence;
using heddle::tests::FirstRanks;

// A rank that is a process throws at one place of one step, at every instruction and around every collective in turn. Every survivor is told
// who it was and where it noticed, and none hangs.
namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Grain<2>, Bucket<1_KiB>, Parts...>;

struct Place {
  int instruction;
  int entry;
};

/// The places of a step on this rank.
struct Places : Observer {
  std::vector<Place> all;
  void started(const Observation& seen) override {
    const Do what = seen.entry < 0 ? Do::reduce_start : seen.program->entries[seen.entry].what;
    if (what == Do::reduce_start || what == Do::reduce_wait || what == Do::gather_start || what == Do::gather_wait)
      all.push_back({seen.instruction, seen.entry});
  }
};

struct Thrower : Observer {
  Place at{};
  void started(const Observation& seen) override {
    if (seen.instruction == at.instruction && seen.entry == at.entry) throw std::runtime_error("the disk is on fire");
  }
};

// Long beside any step. No test measures it: what does not hang never reaches it.
constexpr RunOptions patience{std::chrono::minutes{1}};

/// Steps until one throws; three are enough for every rank to need every other.
template <class ThePlan> [[nodiscard]] std::optional<RankLost> step_until_lost(Trainer<ThePlan, CpuMpi>& trainer, const RowsOf<ThePlan>& rows) {
  try {
    for (int step = 0; step < 3; ++step) trainer.step(rows.batch(0, 16));
  } catch (const RankLost& error) {
    return error;
  }
  return std::nullopt;
}

template <class ThePlan> void throw_everywhere() {
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const auto rows = rows_of<ThePlan>(16);
  for (int thrower = 0; thrower < devices<ThePlan>; ++thrower) {
    Places places;
    {
      Trainer<ThePlan, CpuMpi> untouched{settings<Adam>(), Seed{5}, patience};
      untouched.observe(&places);
      untouched.step(rows.batch(0, 16));
    }
    int count = static_cast<int>(places.all.size());
    MPI_Bcast(&count, 1, MPI_INT, thrower, ranks.get());
    for (int i = 0; i < count; ++i) {
      CAPTURE(thrower);
      CAPTURE(i);
      const bool throws = ranks.rank() == thrower;
      Thrower observer;
      Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}, patience};
      if (throws) {
        observer.at = places.all[static_cast<std::size_t>(i)];
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

}  // namespace

TEST_CASE("two replicas: a process that throws at any place is named by the other") { throw_everywhere<Of<DataParallel<2>>>(); }

TEST_CASE("four replicas: a process that throws at any place is named by all others") { throw_everywhere<Of<DataParallel<4>>>(); }

TEST_CASE("two slices: a process that throws at any place is named by the other") { throw_everywhere<Of<Sharded<2>>>(); }

TEST_CASE("two stages under 1F1B: a process that throws at any place is named by the other") {
  throw_everywhere<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>();
}

TEST_CASE("two stages times two replicas: a process that throws at any place is named by all others") {
  throw_everywhere<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>>();
}
