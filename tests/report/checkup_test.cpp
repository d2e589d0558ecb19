// SPDX-License-Identifier: MIT
#include "heddle/report/checkup.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/plans.hpp"
#include "run/fake_machine.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Staged = Plan<Mnist, CrossEntropy, Adam, Batch<30, KeepLast>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;

/// Pairings as doctor sees them; nothing is run.
struct Threads {
  using Ranks = RanksAsThreads;
};
struct OnGpus {
  static constexpr bool on_gpus = true;
  using Ranks = RanksAsProcesses;
};

bool says(const std::string& page, const std::string& words) {
  CAPTURE(page);
  CAPTURE(words);
  return page.find(words) != std::string::npos;
}

}  // namespace

TEST_CASE("the page says machine, launcher, placement, findings and verdict") {
  FakeMachine machine;
  machine.plain(8, "2-3", 2048, 1024 * 1024).gpu(0, "NVIDIA H200", "GPU-0").gpu(1, "NVIDIA H200", "GPU-1").variable("CUDA_VISIBLE_DEVICES", "1");
  const std::string page = describe(doctor<Staged, Threads>(machine.surroundings()));
  CHECK(says(page, "cores      2 of 8 may be used\n"));
  CHECK(says(page, "memory     2.0 MiB, 1024.0 MiB available\n"));
  CHECK(says(page, "GPUs       2, visible 1: NVIDIA H200; CUDA_VISIBLE_DEVICES=1\n"));
  CHECK(says(page, "processes  one, no launcher: ranks are threads\n"));
  CHECK(says(page, "batch 30: 4 ranks, 4 on this machine, which need "));
  CHECK(says(page, "load       2.00 ranks a core\n"));
  CHECK(says(page, "rank       runs on   stage    data      layers   rows of a batch"));
  CHECK(says(page, "\n   0        core 2       0       0           0              0-15 "));
  CHECK(says(page, "\n   3        core 3       1       1         1-2             16-29 "));
  CHECK(says(page, "note         [heddle.R23] 4 ranks share 2 cores"));
  CHECK(says(page, "note         [heddle.A03] stages are out of balance"));
  CHECK(page.ends_with("This plan can run here with Threads.\n"));
  CHECK(describe(doctor<Staged>(machine.surroundings()))
            .ends_with(
                "Nothing was found that keeps this plan from running. Name its backend to know, as in extending::doctor<MyPlan, CpuThreads>().\n"));
}

TEST_CASE("what cannot work is the verdict") {
  FakeMachine machine;
  machine.plain(4, "0-3", 1 << 20, 1 << 20).variable("WORLD_SIZE", "3").variable("RANK", "1").variable("PMI_SIZE", "2");
  const std::string page = describe(doctor<Staged, OnGpus>(machine.surroundings()));
  CHECK(says(page, "processes  3, this is 1, by torchrun (WORLD_SIZE); PMI_SIZE says otherwise and is not used\n"));
  CHECK(says(page, "cannot work  [heddle.R03] WORLD_SIZE says 3 processes, but the plan has 4 ranks."));
  CHECK(says(page, "cannot work  [heddle.R22]"));
  CHECK(says(page, "\n   0        no GPU "));
  CHECK_FALSE(says(page, "ranks a core"));
  CHECK(page.ends_with("This plan cannot run here.\n"));
  machine.nvidia_smi = std::nullopt;
  CHECK(says(describe(doctor<Staged, OnGpus>(machine.surroundings())), "GPUs       0, visible 0; nvidia-smi -L had not ended after 20 s\n"));
}

TEST_CASE("what the machine and its environment are called commands no terminal") {
  FakeMachine machine;
  machine.plain(4, "0-3", 1 << 20, 1 << 20)
      .gpu(0, "GPU \x1b[2J", "GPU-0")
      .variable("CUDA_VISIBLE_DEVICES",
                "0,\xc2\x9b"
                "2J")
      .variable("WORLD_SIZE", "\x1b]0;x\a");
  const std::string page = describe(doctor<Staged>(machine.surroundings(), {.on_gpus = true}));
  CHECK(says(page, "; CUDA_VISIBLE_DEVICES=0,?2J\n"));
  for (const char c : page) CHECK((c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F)));
}

TEST_CASE("limits of the control group are on the page") {
  FakeMachine machine;
  machine.plain(4, "0-3", 1 << 20, 1 << 20).file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  machine.file("sys/fs/cgroup/memory.max", "1073741824\n").file("sys/fs/cgroup/memory.current", "1048576\n");
  const std::string page = describe(doctor<Staged>(machine.surroundings()));
  CHECK(says(page, "may be used, processor time of 1.50 by the control group\n"));
  CHECK(says(page, "; limit of the control group 1024.0 MiB, used 1.0 MiB\n"));
}

TEST_CASE("flops of a rank are those of its stage on its rows; a rank without rows has none") {
  const auto page_of = []<class P>(std::type_identity<P>) {
    FakeMachine machine;
    machine.plain(8, "0-7", 1 << 20, 1 << 20);
    return describe(doctor<P>(machine.surroundings()));
  };
  const auto cells = [](const std::string& rows, std::int64_t kiloflops) { return padded(rows, 18) + padded(std::to_string(kiloflops), 19); };
  constexpr std::int64_t flops = graph_of<Mnist>.flops(0) + graph_of<Mnist>.flops(1) + graph_of<Mnist>.flops(2);
  const std::string wide = page_of(std::type_identity<Plan<Mnist, CrossEntropy, Adam, Batch<9, KeepLast>, DataParallel<8>>>{});
  CHECK(says(wide, cells("0-1", 2 * flops / 1000)));
  CHECK(says(wide, cells("8-8", flops / 1000)));
  CHECK(says(wide, cells("none", 0)));
  const std::string short_of_one = page_of(std::type_identity<Plan<Mnist, CrossEntropy, Adam, Batch<63, KeepLast>, DataParallel<4>>>{});
  CHECK(says(short_of_one, cells("32-47", 16 * flops / 1000)));
  CHECK(says(short_of_one, cells("48-62", 15 * flops / 1000)));
  const std::string rounds = page_of(std::type_identity<Plan<Mnist, CrossEntropy, Adam, Batch<13, PadLast>, DataParallel<2>, Accumulate<4>>>{});
  CHECK(says(rounds, cells("0-7", 8 * flops / 1000)));
  CHECK(says(rounds, cells("8-12", 5 * flops / 1000)));
  const std::string unequal = page_of(std::type_identity<Plan<Mnist, CrossEntropy, Adam, Batch<16>, WeightedDataParallel<3, 1>>>{});
  CHECK(says(unequal, cells("0-11", 12 * flops / 1000)));
  CHECK(says(unequal, cells("12-15", 4 * flops / 1000)));
}

TEST_CASE("of many ranks the first 32 are shown") {
  using Many = Plan<Mnist, CrossEntropy, Adam, Batch<160>, DataParallel<40>>;
  FakeMachine machine;
  machine.plain(64, "0-63", 1 << 20, 1 << 20);
  const std::string page = describe(doctor<Many>(machine.surroundings()));
  CHECK(says(page, "\n  31       core 31 "));
  CHECK_FALSE(says(page, "\n  32 "));
  CHECK(says(page, "... and 8 more on this machine\n"));
}
