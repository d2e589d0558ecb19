// SPDX-License-Identifier: MIT
#include "heddle/backend/cpu_mpi.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "equivalence/processes.hpp"

using namespace equivalence;

// Runs with four processes; a plan of fewer ranks takes the first.
namespace {

template <class... Parts> using Any = Plan<Mlp, CrossEntropy, Adam, Batch<32, KeepLast>, Bucket<1_KiB>, Parts...>;
template <class... Parts> using Of = Any<Grain<4>, Parts...>;
using Alone = Of<Single>;

template <class Make> [[nodiscard]] std::string refusal(Code code, Make make) {
  try {
    make();
  } catch (const Error& error) {
    CHECK((error.code() == code));
    return error.what();
  }
  return "nothing was refused";
}

using Two = Of<DataParallel<2>>;
using Four = Of<DataParallel<4>>;
using Rounds = Of<DataParallel<2>, Accumulate<4>>;
using Both = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
using Shares = Any<WeightedDataParallel<1, 2, 1>>;
using Outside = Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>>;

}  // namespace

TEST_CASE("one process is one device") { hold_as_one_device<Alone, Alone>(); }
TEST_CASE("replicas that are processes have the bits of one device, and rounds too") { hold_as_one_device<Alone, Two, Four, Rounds>(); }
TEST_CASE("stages times replicas that are processes have the bits of one device, in both nestings") { hold_as_one_device<Alone, Both, Outside>(); }
TEST_CASE("replicas that take unequal shares have the bits that they have as threads") { hold_as_threads<Shares>(); }

TEST_CASE("a process has an executor for its own rank only, and one of them prints") {
  const FirstRanks ranks{4};
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  for (int rank = 0; rank < 4; ++rank) CHECK(trainer.local(Rank{rank}) == (rank == ranks.rank()));
  CHECK(sum_over_all(trainer.first_process() ? 1 : 0) == 1);
  CHECK(trainer.executor(Rank{ranks.rank()}).arena().size() <= peak_memory<Four>());
}

TEST_CASE("a loss that is not finite is told by the process that finds it, and by the others as the end of its rank") {
  const FirstRanks ranks{4};
  auto rows = rows_of<Four>(32);
  rows.inputs[static_cast<std::size_t>(9 * rows.features)] = std::numeric_limits<float>::quiet_NaN();  // a row of rank 1
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const auto step = [&] { trainer.step(rows.batch(0, 32)); };
  const std::string found = "the loss of step 1 is NaN in rows 8 to 11";
  if (ranks.rank() == 1)
    CHECK(refusal({'R', 2}, step) == "[heddle.R02] " + found + ". Fix: lower the learning rate or repair the data.");
  else
    CHECK(refusal({'R', 1}, step).find(found) != std::string::npos);
  CHECK(refusal({'R', 4}, step).find("step 1 was interrupted") != std::string::npos);
}

TEST_CASE("another number of processes is refused in each of them with both numbers") {
  {
    const FirstRanks three{3};
    if (three.taking_part())
      CHECK(refusal({'R', 3}, [] {
              const Trainer<Two, CpuMpi> trainer{{}, Seed{1}};
            }) == "[heddle.R03] the plan has 2 devices, but MPI has started 3 processes, and each is one rank. Fix: start it with mpirun -np 2.");
  }
  const FirstRanks four{4};
  setenv("WORLD_SIZE", "2", 1);
  CHECK(refusal({'R', 3}, [] {
          const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
        }).find("WORLD_SIZE says 2 processes, but MPI has started 4") != std::string::npos);
  setenv("WORLD_SIZE", "4", 1);
  CHECK_NOTHROW((Trainer<Four, CpuMpi>{{}, Seed{1}}));
  unsetenv("WORLD_SIZE");
}

TEST_CASE("ranks that run different programs are told who is odd, all of them") {
  const FirstRanks four{4};
  const auto make = [&] {
    if (four.rank() == 2)
      const Trainer<Both, CpuMpi> trainer{{}, Seed{1}};
    else
      const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
  };
  CHECK(refusal({'R', 8}, make) ==
        "[heddle.R08] rank 2 runs another program than ranks 0, 1 and 3. Fix: start the same binary with the same plan in every process.");
  const auto other_world = [&] {
    if (four.rank() == 0)
      const Trainer<Two, CpuMpi> trainer{{}, Seed{1}};
    else
      const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
  };
  CHECK(refusal({'R', 8}, other_world).find("rank 0 runs another program than ranks 1, 2 and 3") != std::string::npos);
}
