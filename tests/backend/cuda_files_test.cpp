// SPDX-License-Identifier: MIT
// Plans with one process for each card, which a folder joins and the emulator stands for. Every case forks: the processes share nothing else.
#include "heddle/backend/cuda_files.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/forked_processes.hpp"
#include "backend/plans_on_cards.hpp"
#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"
#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace plans_on_cards;
using folder_ranks::begins;
using folder_ranks::Folder;
using folder_ranks::has;
using namespace std::chrono_literals;

namespace {

using Replicas = Of<DataParallel<4>>;
using Staged = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;

template <class ThePlan, class Backend> std::string hash_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Rows(16, s).batch());
  return std::to_string(trainer.parameter_hash());
}
/// It computes for longer than the others wait.
struct Sleeps : extending::Observer {
  bool slept = false;
  void started(const extending::Observation&) override {
    if (!std::exchange(slept, true)) std::this_thread::sleep_for(3s);
  }
};
/// Its process is gone in the middle of a step.
struct Dies : extending::Observer {
  int left = 5;
  void started(const extending::Observation&) override {
    if (--left == 0) _exit(9);
  }
};
/// body(rank) with a card for each of 4 processes; its words, and what the emulator found wrong behind them.
template <class Body> std::vector<std::string> on_cards(const Folder& folder, Body body, int cards = 4) {
  std::vector<std::string> words;
  for (const auto& ended : forked_processes::run(4, folder.text(), [&](int rank) {
         cuda_emulator::reset({.devices = cards, .deadline_s = 100, .processes = true});
         std::string said;
         try {
           said = body(rank);
         } catch (const std::exception& error) {
           said = error.what();
         }
         for (const std::string& violation : cuda_emulator::violations()) said += " VIOLATION " + violation;
         return said + cuda_emulator::alive();
       }))
    words.push_back(ended.words);
  return words;
}

}  // namespace

TEST_CASE(
    "four processes in a folder, a card each: the bits of one device on the host's threads, in every policy, and nothing is left in the folder") {
  std::string threads;
  {
    const Cards cards{{.devices = 4}};
    threads = hash_after<Replicas, CudaThreads>(4);
    CHECK(hash_after<Of<Single>, CudaThreads>(4) == threads);
  }
  const Folder folder{"files_bits"};
  for (const std::string& words : on_cards(folder, [](int) {
         const std::string replicas = hash_after<Replicas, CudaFiles>(4);
         const long before = cuda_emulator::counts().graph_launches;
         const std::string stages = hash_after<Staged, CudaFiles>(4);
         const std::string graphs = std::to_string(cuda_emulator::counts().graph_launches - before);
         return replicas + ' ' + stages + ' ' + hash_after<Of<Sharded<4>>, CudaFiles>(4) + " graphs " + graphs;
       }))
    CHECK(words == threads + ' ' + threads + ' ' + threads + " graphs 3");
  CHECK(folder.files() == 0);
}

TEST_CASE("losses, outputs and parameters are told to every process; a guarded step that is held lets training go on") {
  using Mixture = Of<Hybrid<TensorParallel<2>, DataParallel<2>>>;
  std::vector<float> losses, outputs;
  {
    Trainer<Mixture, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
    for (int s = 0; s < 3; ++s) losses.push_back(here.step(Rows(16, s).batch()).loss.value());
    outputs = here.predict(Rows(7).inputs);
  }
  const Folder folder{"files_told"};
  for (const std::string& words : on_cards(folder, [&](int) -> std::string {
         Trainer<Mixture, CudaFiles> there{{.learning_rate = 1e-2}, Seed{3}};
         for (int s = 0; s < 3; ++s)
           if (std::abs(there.step(Rows(16, s).batch()).loss.value() - losses[static_cast<std::size_t>(s)]) > 1e-5F) return "another loss";
         const std::vector<float> told = there.predict(Rows(7).inputs);
         for (std::size_t i = 0; i < outputs.size(); ++i)
           if (!(std::abs(told.at(i) - outputs[i]) < 1e-4F)) return "another output";
         if (there.parameter("2.weight").size() != 160) return "another parameter";
         Trainer<Of<DataParallel<4>, Guarded>, CudaFiles> safe{{.learning_rate = 1e-2}, Seed{3}};
         Rows wrong(16);
         wrong.inputs[13] = HUGE_VALF;
         const std::uint64_t before = safe.parameter_hash();
         const std::string held = said([&] { safe.step(wrong.batch()); });
         if (safe.interrupted() || safe.parameter_hash() != before || !has(held, "[heddle.R02] the loss of step 1 is")) return "not held";
         safe.step(Rows(16).batch());
         return safe.parameter_hash() == before ? "does not go on" : "";
       }))
    CHECK(words.empty());
}

TEST_CASE("verify compares with one device in each process") {
  const Folder folder{"files_verify"};
  for (const std::string& words : on_cards(folder, [](int) { return verify<Replicas, CudaFiles>(Rows(16).batch()).text; })) CHECK(words.empty());
}

TEST_CASE("R37: two ranks on one card are named in all processes, and so is one that finds no card") {
  const Folder folder{"files_shared"};
  for (const std::string& words : on_cards(
           folder, [](int) { return hash_after<Replicas, CudaFiles>(1); }, 1))
    CHECK(begins(words, "[heddle.R37] ranks 0 and 1 are both on card 0000:10:00.0 of machine "));
  for (const std::string& words : on_cards(
           folder, [](int) { return hash_after<Replicas, CudaFiles>(1); }, 3))
    CHECK(words ==
          "[heddle.R37] rank 3 is process 3 of its machine, counted from 0, and sees 3 cards. Fix: start as many processes on each machine as it "
          "has cards, or look at CUDA_VISIBLE_DEVICES.");
  CHECK(folder.files() == 0);
}

TEST_CASE("R08, T10: other plans, and batches of other sizes, are told to all before anything is queued") {
  const Folder folder{"files_apart"};
  for (const std::string& words :
       on_cards(folder, [](int rank) { return rank == 2 ? hash_after<Staged, CudaFiles>(1) : hash_after<Replicas, CudaFiles>(1); }))
    CHECK(begins(words, "[heddle.R08] rank 2 runs another program than ranks 0, 1 and 3."));
  for (const std::string& words : on_cards(folder, [](int rank) {
         Trainer<Replicas, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}};
         trainer.step(Rows(16).batch());
         const long before = cuda_emulator::counts().kernels;
         const std::string words = said([&] { trainer.step(Rows(rank == 2 ? 12 : 16).batch()); });
         return words + (cuda_emulator::counts().kernels == before ? " nothing queued" : " queued");
       })) {
    CHECK(begins(words, "[heddle.T10] rank 0 makes step 2 with 16 rows, rank 2 with 12. Fix: give every process the whole batch."));
    CHECK(has(words, " nothing queued"));
  }
}

TEST_CASE("R03: a rank that never comes is named within the deadline, also where an earlier run was lost in the folder") {
  const Folder folder{"files_missing"};
  for (int run = 0; run < 2; ++run) {
    const std::vector<std::string> all = on_cards(folder, [](int rank) -> std::string {
      if (rank == 2) return "never comes";
      Trainer<Replicas, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 700ms}};
      return "came";
    });
    for (const int rank : {0, 1, 3})
      CHECK(
          begins(all[static_cast<std::size_t>(rank)], "[heddle.R03] rank 2 of 4 did not come to the folder '" + folder.text() + "' within 700 ms."));
  }
  CHECK(folder.files() > 0);  // and all come into this folder now
  const std::vector<std::string> all = on_cards(folder, [](int) { return hash_after<Replicas, CudaFiles>(2); });
  for (const std::string& words : all) CHECK(words == all[0]);
  CHECK_FALSE(has(all[0], "heddle"));
}

TEST_CASE("R01: a process that throws in a step is told to the others, which wait for their cards") {
  const Folder folder{"files_throws"};
  const std::vector<std::string> all = on_cards(folder, [](int rank) {
    Trainer<Replicas, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}};
    for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
    if (rank == 1) cuda_emulator::fail_call(3);
    const std::string words = said([&] { trainer.step(Rows(16, 3).batch()); });
    return words + (trainer.interrupted() ? " interrupted" : "");
  });
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CHECK(begins(all[rank], rank == 1 ? "[heddle.R36]" : "[heddle.R01] rank 1 was lost"));
    CHECK(has(all[rank], " interrupted"));
  }
}

TEST_CASE("R01: while NCCL makes a connection the rank that has not come to it is named by all, in the first step and at a first use behind it") {
  using Free = Plan<Net, CrossEntropy, AdamW, Batch<16>, Accumulate<2>, DataParallel<4>>;  // gradients are summed by NCCL, a loss along the tree
  for (const int late : {1, 3}) {
    const Folder folder{"files_connects"};
    const std::vector<std::string> all = on_cards(folder, [&](int rank) {
      Trainer<Free, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 2s}};
      Sleeps sleeps;
      trainer.on_step([](const StepResult&) {}, Every{3});
      return said([&] {
        for (int s = 1; s <= 3; ++s) {
          if (rank == 3 && s == late) trainer.observe(&sleeps);
          trainer.step(Rows(16, s).batch());
        }
      });
    });
    for (const std::string& words : all) CHECK(begins(words, "[heddle.R01] rank 3 was lost at "));
    CAPTURE(late);
    CAPTURE(all[0]);
    CAPTURE(all[1]);
    for (const std::size_t rank : {0U, 1U, 2U}) CHECK(has(all[rank], "NCCL's connections of rank "));
    for (const std::string& words : all) CHECK(has(words, "it started nothing within the deadline of 2000 ms"));
  }
}

TEST_CASE("R01: a process that is gone in a step without a word is named by the others after the deadline") {
  const Folder folder{"files_killed"};
  const std::vector<std::string> all = on_cards(folder, [](int rank) {
    Trainer<Replicas, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 3s}};
    for (int s = 0; s < 3; ++s) {
      if (rank == 1 && s == 2) _exit(9);
      trainer.step(Rows(16, s).batch());
    }
    return std::string{"goes on"};
  });
  CHECK(all[1].empty());
  for (const std::size_t rank : {0U, 2U, 3U}) {
    CHECK(begins(all[rank], "[heddle.R01] rank 1 was lost at "));
    CHECK(has(all[rank], "it started nothing within the deadline of 3000 ms"));
  }
}

TEST_CASE("R01: of a process that dies inside a step NCCL tells the others at different times; they ask each other, and all name it") {
  const Folder folder{"files_dies"};
  const std::vector<std::string> all = on_cards(folder, [](int rank) {
    Trainer<Replicas, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 6s}};
    for (int s = 0; s < 2; ++s) trainer.step(Rows(16, s).batch());
    Dies dies;
    if (rank == 3) trainer.observe(&dies);
    const auto begun = std::chrono::steady_clock::now();
    std::thread machine{[rank] {
      std::this_thread::sleep_for(300ms + rank * 100ms);
      cuda_emulator::fail_communicators();
    }};
    const std::string words = said([&] { trainer.step(Rows(16, 2).batch()); });
    const bool in_time = std::chrono::steady_clock::now() - begun < 5s;
    machine.join();
    return words + (in_time ? " before the deadline" : " late");
  });
  CHECK(all[3].empty());
  for (const std::size_t rank : {0U, 1U, 2U}) {
    CAPTURE(all[rank]);
    CHECK(begins(all[rank],
                 "[heddle.R01] rank 3 was lost at the queue of rank " + std::to_string(rank) + ", sequence 3: a connection is broken, and "));
    CHECK(has(all[rank], "it answered nothing within half of the deadline of 6000 ms"));
    CHECK(has(all[rank], " before the deadline"));
  }
}

TEST_CASE("R36: where NCCL loses a connection and all processes answer each other, what NCCL says is told, and no rank is named as silent") {
  const Folder folder{"files_broken"};
  const std::vector<std::string> all = on_cards(folder, [](int rank) {
    Trainer<Replicas, CudaFiles> trainer{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 3s}};
    for (int s = 0; s < 2; ++s) trainer.step(Rows(16, s).batch());
    if (rank != 1) cuda_emulator::fail_communicators();  // whose queue ends: it waits at the next call
    return said([&] {
      for (int s = 2; s < 4; ++s) trainer.step(Rows(16, s).batch());
    });
  });
  const std::string nccl = "[heddle.R36] an operation that was queued failed: remote process exited or there was a network error.";
  int first = 0;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    CAPTURE(all[rank]);
    CHECK(has(all[rank], nccl));
    CHECK_FALSE(has(all[rank], "answered nothing"));
    first += begins(all[rank], nccl) ? 1 : 0;
    CHECK((rank != 1 || begins(all[rank], "[heddle.R01] rank ")));
  }
  CHECK(first >= 1);
}

TEST_CASE("two runs at once in one folder: those that a launcher has named never see each other") {
  const Folder folder{"files_two"};
  std::vector<forked_processes::Ended> all = forked_processes::run(4, folder.text(), [&](int process) {
    setenv("WORLD_SIZE", "2", 1);
    setenv("RANK", std::to_string(process % 2).c_str(), 1);
    setenv("TORCHELASTIC_RUN_ID", process < 2 ? "first" : "second/run", 1);
    cuda_emulator::reset({.devices = 2, .deadline_s = 100, .processes = true});
    return hash_after<Of<DataParallel<2>>, CudaFiles>(process < 2 ? 2 : 3);
  });
  CHECK(all[0].words == all[1].words);
  CHECK(all[2].words == all[3].words);
  CHECK(all[0].words != all[2].words);
  CHECK_FALSE(has(all[0].words + all[2].words, "heddle"));
}

TEST_CASE("R38: two runs at once in one folder that have no name of their own are told, and so is a process without a folder") {
  const Folder folder{"files_unnamed"};
  const std::vector<forked_processes::Ended> all = forked_processes::run(2, folder.text(), [&](int process) {
    setenv("RANK", "1", 1);  // rank 1 of each of two runs, whose rank 0 is late
    std::this_thread::sleep_for(process * 200ms);
    cuda_emulator::reset({.devices = 2, .processes = true});
    Trainer<Of<DataParallel<2>>, CudaFiles>{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 900ms}};
    return std::string{"met"};
  });
  CHECK(all[0].words == "[heddle.R38] another process is rank 1 in the folder '" + folder.text() +
                            "' too. Fix: give each run a folder of its own, and each process of it a rank of its own.");
  const std::vector<forked_processes::Ended> without =
      forked_processes::run(2, "", [](int) { return hash_after<Of<DataParallel<2>>, CudaFiles>(1); });
  for (const auto& one : without)
    CHECK(one.words ==
          "[heddle.R38] processes of CudaFiles meet in a folder, but none is named: HEDDLE_MEETING is not set. Fix: set HEDDLE_MEETING to a "
          "folder that all machines share, the same in every process.");
}
