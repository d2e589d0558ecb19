// SPDX-License-Identifier: MIT
// Several worlds of three, four and eight processes under one mpirun, each with a plan of its own. In each of them one process is lost at a moment
// that the seed decides; the others say whom they miss. losses_check.py starts it and looks at what they say and whether they end.
#pragma once

#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "heddle/backend/cpu_mpi.hpp"

namespace processes::losses {

using namespace equivalence;

struct Deep : Sequential<Linear<24, 64>, ReLU, Linear<64, 64>, ReLU, Linear<64, 64>, ReLU, Linear<64, 16>> {};
struct Steps : Sequential<Input<4, 8>, Linear<8, 8>, Residual<Linear<8, 16>, GELU, Linear<16, 8>>, Flatten, Linear<32, 16>> {};
template <class... Parts> using Of = Plan<Deep, CrossEntropy, Adam, Batch<48>, Parts...>;
template <int Stages, class Order> using Stage = Pipeline<Balanced<Stages>, Order, Microbatches<4>>;

using Replicas3 = Of<DataParallel<3>, Bucket<1_KiB>>;
using Stages3 = Of<Stage<3, OneFOneB>, Clip<GlobalNorm>>;
using Turns3 = Of<Pipeline<Balanced<3>, Interleaved<2>, Microbatches<6>>>;
using Weighted3 = Of<WeightedDataParallel<2, 1, 1>>;
using Slices4 = Of<Sharded<4>, Accumulate<2>>;
using Parts4 = Of<TensorParallel<4>>;
using Sequences4 = Plan<Steps, CrossEntropy, Adam, Batch<48>, TensorParallel<4, SequenceParallel>>;
using Product4 = Of<Hybrid<Stage<2, ZeroBubbleH1>, DataParallel<2>>>;
using Sliced4 = Of<Hybrid<Sharded<2>, Stage<2, GPipe>>, Clip<GlobalNorm>>;
using Replicas8 = Of<DataParallel<8>, LossScaling>;
using Product8 = Of<Hybrid<Stage<2, OneFOneB>, TensorParallel<2>, DataParallel<2>>>;

struct Group {
  std::string plan;
  std::string how;
  int number = 0;
  int first = 0;  // process
};

/// What loses a process between two instructions: exit() and throw in any moment would be more than C++ allows.
struct Loser : Observer {
  std::string how;
  int countdown = 1 << 30;
  void started(const Observation&) override {
    if (--countdown != 0) return;
    if (how == "throw") throw std::runtime_error("the disk is on fire");
    if (how == "exit") std::exit(0);
    lose();
  }
  void lose() const {
    if (how == "stop") std::raise(SIGSTOP);
    if (how == "kill") std::raise(SIGKILL);
    if (how == "_exit") _exit(3);
  }
};
inline Loser loser;

inline double now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// At most 0.3 s of training, then the process is lost: in any instruction of the machine, or at a place where an observer is called.
inline void arm(std::mt19937& random) {
  const bool at_any_moment = loser.how != "throw" && loser.how != "exit" && random() % 2 == 0;
  if (!at_any_moment) {
    loser.countdown = 1 + static_cast<int>(random() % 2000);
    return;
  }
  std::signal(SIGALRM, [](int) { loser.lose(); });
  const itimerval timer{{0, 0}, {0, static_cast<suseconds_t>(1 + random() % 300000)}};
  setitimer(ITIMER_REAL, &timer, nullptr);
}

template <class ThePlan> int play(const Group& world, unsigned seed, std::chrono::seconds deadline) {
  int process = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &process);
  const int rank = process - world.first;
  MPI_Comm mine = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, world.number, process, &mine);
  MpiProcess::instance().use(mine);
  std::mt19937 random{seed + 1000U * static_cast<unsigned>(world.number)};
  const int victim = static_cast<int>(random() % devices<ThePlan>);
  loser.how = world.how;
  double last = now();
  std::printf("ready %d %d %d %d\n", world.number, rank, victim, static_cast<int>(getpid()));
  std::fflush(stdout);
  try {
    const auto rows = rows_of<ThePlan>(48);
    Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}, RunOptions{deadline}};
    trainer.on_step([](const StepResult&) {}, Every{3});
    trainer.step(rows.batch(0, 48));
    if (rank == victim) {
      trainer.observe(&loser);
      arm(random);
    }
    for (int step = 0;; ++step) {
      trainer.step(rows.batch(0, 48));
      if (step % 4 == 3) (void)trainer.evaluate(rows.batch(0, 48));
      if (step % 8 == 7) (void)trainer.parameter_hash(trainer.replicas() - 1);
      last = now();
    }
  } catch (const std::exception& error) {
    std::printf("said %d %d %.3f %.3f %s\n", world.number, rank, last, now(), error.what());
    std::fflush(stdout);
    throw;  // to run_main
  }
}

inline int play_any(const Group& world, unsigned seed, std::chrono::seconds deadline) {
  if (world.plan == "replicas3") return play<Replicas3>(world, seed, deadline);
  if (world.plan == "stages3") return play<Stages3>(world, seed, deadline);
  if (world.plan == "turns3") return play<Turns3>(world, seed, deadline);
  if (world.plan == "weighted3") return play<Weighted3>(world, seed, deadline);
  if (world.plan == "sequences4") return play<Sequences4>(world, seed, deadline);
  if (world.plan == "slices4") return play<Slices4>(world, seed, deadline);
  if (world.plan == "parts4") return play<Parts4>(world, seed, deadline);
  if (world.plan == "product4") return play<Product4>(world, seed, deadline);
  if (world.plan == "sliced4") return play<Sliced4>(world, seed, deadline);
  if (world.plan == "replicas8") return play<Replicas8>(world, seed, deadline);
  if (world.plan == "product8") return play<Product8>(world, seed, deadline);
  return 2;
}

/// losses SECONDS SEED PLAN:HOW...; a plan is named with its number of processes
inline int main_of_process(int argc, char** argv) {
  if (argc < 4) return 2;
  int process = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &process);
  Group world;
  for (world.number = 0; world.number < argc - 3; ++world.number) {
    const std::string words = argv[3 + world.number];
    world.plan = words.substr(0, words.find(':'));
    world.how = words.substr(words.find(':') + 1);
    const int size = world.plan.back() - '0';
    if (process < world.first + size)
      return run_main([&] { return play_any(world, static_cast<unsigned>(std::atoi(argv[2])), std::chrono::seconds{std::atoi(argv[1])}); });
    world.first += size;
  }
  return 2;
}

}  // namespace processes::losses
