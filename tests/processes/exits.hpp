// SPDX-License-Identifier: MIT
// Many small worlds under one mpirun. In each of them one process ends without a word, at another place of a step; the others say what they find.
// exits_check.py starts it until a process has ended in every collective and transfer of a step of every plan, or every process has.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "equivalence/equal.hpp"
#include "equivalence/lost_places.hpp"
#include "heddle/backend/cpu_mpi.hpp"

namespace processes::exits {

using namespace equivalence;

struct Even : Sequential<Linear<24, 16>, ReLU, Linear<16, 12>> {};
struct Steps : Sequential<Input<4, 6>, Linear<6, 6>, Residual<Linear<6, 8>, GELU, Linear<8, 6>>, Flatten, Linear<24, 10>> {};
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Grain<2>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<2>>;

using Slices = Of<Sharded<2>, Clip<GlobalNorm>>;
using Sequences = Plan<Steps, CrossEntropy, Adam, Batch<16>, TensorParallel<2, SequenceParallel>>;
using Interleaves = Plan<Blocks, CrossEntropy, Adam, Batch<16>, Grain<2>, Two<Interleaved<2>>>;
using Halves = Of<Two<ZeroBubbleH1>, Clip<GlobalNorm>>;
using Product = Plan<Even, CrossEntropy, Adam, Batch<16>, Hybrid<TensorParallel<2>, DataParallel<2>>, Clip<GlobalNorm>>;

struct Leaver : Thrower {
  void lose() const override { _exit(3); }
};

/// (rank that ends, place where it ends) of every case. The first of each `ranks` parts leaves every collective and transfer once. Where all ranks do
/// the same, place p of them is the same collective, and the ranks take turns to leave. In a pipeline of two each rank takes part in all transfers.
inline std::vector<std::pair<int, int>> cases_of(const std::vector<int>& counts, bool take_turns) {
  const int ranks = static_cast<int>(counts.size());
  const int most = *std::max_element(counts.begin(), counts.end());
  std::vector<std::pair<int, int>> cases;
  for (int part = 0; part < ranks; ++part)
    for (int place = 0; place < most; ++place) {
      const int rank = take_turns ? (part + place) % ranks : part;
      if (place < counts[static_cast<std::size_t>(rank)]) cases.emplace_back(rank, place);
    }
  return cases;
}

/// World number `world` of those that mpirun has started plays case `first + world`.
template <class ThePlan, bool TakeTurns = true> int play(int first, std::chrono::seconds deadline) {
  constexpr int ranks = devices<ThePlan>;
  int process = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &process);
  const int world = process / ranks;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world, process, &mine);
  MpiProcess::instance().use(mine);
  const auto rows = rows_of<ThePlan>(16);
  Places places{ranks, true};
  {
    Trainer<ThePlan, CpuMpi> untouched{settings<Adam>(), Seed{5}};
    untouched.observe(&places);
    untouched.step(rows.batch(0, 16));
  }
  const int rank = process % ranks;
  int count = static_cast<int>(places.by_rank[static_cast<std::size_t>(rank)].size());
  std::vector<int> counts(ranks);
  MPI_Allgather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, mine);
  const auto cases = cases_of(counts, TakeTurns);
  if (process == 0) std::printf("cases %d\n", static_cast<int>(cases.size()));
  std::fflush(stdout);
  const auto played = static_cast<std::size_t>(first + world);
  if (played >= cases.size()) _exit(0);  // more worlds than cases; MPI_Finalize would wait for those that end in the others
  Leaver leaver;
  leaver.rank = cases[played].first;
  if (leaver.rank == rank) leaver.at = places.by_rank[static_cast<std::size_t>(rank)][static_cast<std::size_t>(cases[played].second)];
  try {
    Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}, RunOptions{deadline}};
    trainer.observe(&leaver);
    for (int step = 0; step < 3; ++step) trainer.step(rows.batch(0, 16));
    std::printf("case %d process %d: trained without rank %d\n", first + world, rank, leaver.rank);
  } catch (const Error& error) {
    std::printf("case %d process %d: expects %d; %s\n", first + world, rank, leaver.rank, error.what());
  }
  std::fflush(stdout);
  return 1;
}

/// exits PLAN FIRST SECONDS
inline int main_of_process(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string plan = argv[1];
  const int first = std::atoi(argv[2]);
  const std::chrono::seconds deadline{std::atoi(argv[3])};
  if (plan == "slices") return play<Slices>(first, deadline);
  if (plan == "sequences") return play<Sequences>(first, deadline);
  if (plan == "interleaves") return play<Interleaves, false>(first, deadline);
  if (plan == "halves") return play<Halves, false>(first, deadline);
  if (plan == "product") return play<Product>(first, deadline);
  return 2;
}

}  // namespace processes::exits
