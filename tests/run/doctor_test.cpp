// SPDX-License-Identifier: MIT
#include "heddle/run/doctor.hpp"

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"
#include "plan/plans.hpp"
#include "run/fake_machine.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Even : Repeat<4, Linear<64, 64>> {};
template <class Policy> using EvenPlan = Plan<Even, CrossEntropy, Adam, Batch<64>, Policy>;
using Alone = EvenPlan<Single>;
using Four = EvenPlan<DataParallel<4>>;
using Staged = EvenPlan<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;

/// A pairing on GPUs, as a user may have one; nothing is run.
struct OnGpus {
  static constexpr bool on_gpus = true;
  using Ranks = RanksAsThreads;
};
/// One that takes a GPU for each device.
struct OnCards : OnGpus {
  static constexpr bool card_for_each = true;
};
struct Processes {
  using Ranks = RanksAsProcesses;
};

std::string sentence(const Checkup& checkup, int number) {
  for (const Finding& f : checkup.findings)
    if (f.what.code == Code{'R', number}) return std::string{f.what.sentence().view()};
  return {};
}

/// Four cores and memory enough for everything.
class Sound : public FakeMachine {
 public:
  Sound() { plain(4, "0-3", 1 << 20, 1 << 20); }
};

}  // namespace

TEST_CASE("a plan that fills the machine has no findings") {
  const Checkup found = doctor<Four>(Sound{}.surroundings());
  CHECK(found.findings.empty());
  CHECK(found.can_work());
  CHECK(found.local_ranks() == 4);
  CHECK(found.needed_memory() == 4 * peak_memory<Four>());
  CHECK(found.policy == "DataParallel<4>");
}

TEST_CASE("the policy is named as it is written, and cut once if it is long") {
  struct Front : Sequential<Linear<64, 64>> {};
  struct Back : Sequential<Linear<64, 64>> {};
  struct Parts : Sequential<Front, Back> {};
  using Named = Plan<Parts, CrossEntropy, Adam, Batch<64>, Pipeline<Stage<Front>, Stage<Back, On<1>>, OneFOneB, Microbatches<4>>>;
  const std::string policy = doctor<Named>(Sound{}.surroundings()).policy;
  CHECK(policy.find("void") == std::string::npos);
  CHECK(policy.find("...") == std::string::npos);
  CHECK(policy.find("Microbatches<4>") != std::string::npos);
  using Part = Linear<64, 64>;
  struct Many : Repeat<16, Part> {};
  using Long = Pipeline<Stage<Part>, Stage<Part>, Stage<Part>, Stage<Part>, Stage<Part>, Stage<Part>, Stage<Part>, Stage<Part>,
                        Stage<Repeat<8, Part>>, OneFOneB, Microbatches<16>>;
  const std::string cut = doctor<Plan<Many, CrossEntropy, Adam, Batch<64>, Long>>(Sound{}.surroundings()).policy;
  CHECK(cut.ends_with("..."));
  CHECK_FALSE(cut.ends_with("...."));
}

TEST_CASE("memory is the sum over the ranks of this machine, each with its own stage and what the backend adds") {
  const Checkup found = doctor<Staged>(Sound{}.surroundings(), {.external = 1_KiB});
  CHECK(found.needed_memory() == 2 * (peak_memory<Staged>(device<0>) + peak_memory<Staged>(device<1>)) + 4_KiB);
}

TEST_CASE("R21: more memory is needed than is there") {
  FakeMachine small;
  small.plain(4, "0-3", 1000, 500);
  const Checkup found = doctor<Four>(small.surroundings());
  CHECK_FALSE(found.can_work());
  CHECK(found.has(Code{'R', 21}));
  CHECK(sentence(found, 21).find("the 4 ranks on this machine need ") != std::string::npos);
  CHECK(sentence(found, 21).find(" bytes, but 512,000 bytes are free. Fix: use a smaller batch") != std::string::npos);
  Sound limited;
  limited.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/memory.max", "600000\n").file("sys/fs/cgroup/memory.current", "100000\n");
  CHECK(sentence(doctor<Four>(limited.surroundings()), 21).find("500,000 bytes are free under the limit of the control group") != std::string::npos);
  const std::int64_t needed = found.needed_memory().value;
  for (const std::int64_t lacking : {0, 1}) {
    limited.file("sys/fs/cgroup/memory.max", std::to_string(100'000 + needed - lacking) + "\n");
    CHECK(doctor<Four>(limited.surroundings()).has(Code{'R', 21}) == (lacking == 1));
  }
  CHECK(doctor<Four>(FakeMachine{}.surroundings()).can_work());  // unknown is no finding
}

TEST_CASE("R03: another number of processes than the plan has ranks") {
  Sound machine;
  machine.variable("WORLD_SIZE", "2").variable("RANK", "0");
  const Checkup found = doctor<Four>(machine.surroundings());
  CHECK_FALSE(found.can_work());
  CHECK(sentence(found, 3) ==
        "[heddle.R03] WORLD_SIZE says 2 processes, but the plan has 4 ranks. Fix: start 4 processes, or name a plan of 2 devices.");
  machine.variable("WORLD_SIZE", "1");
  CHECK(doctor<Four>(machine.surroundings()).can_work());  // one process: its ranks are threads
}

TEST_CASE("R03: what torchrun sets is refused by threads and by processes, so doctor does not say that it can work") {
  Sound machine;
  machine.variable("WORLD_SIZE", "4").variable("RANK", "0");
  const Checkup threads = doctor<Four, CpuThreads>(machine.surroundings());
  CHECK_FALSE(threads.can_work());
  CHECK(sentence(threads, 3) ==
        "[heddle.R03] WORLD_SIZE says 4 processes, but CpuThreads runs the 4 ranks of the plan as threads of one. Fix: start one process, or unset "
        "WORLD_SIZE.");
  const std::string refused =
      "[heddle.R03] WORLD_SIZE says 4 processes, but MPI has started 1. Fix: start them with mpirun -np 4, or unset WORLD_SIZE.";
  CHECK(sentence(doctor<Four, Processes>(machine.surroundings()), 3) == refused);
  CHECK(sentence(doctor<Four>(machine.surroundings()), 3) == refused);  // no backend that there is could
  machine.variable("OMPI_COMM_WORLD_SIZE", "4").variable("OMPI_COMM_WORLD_RANK", "0");
  CHECK(doctor<Four, Processes>(machine.surroundings()).can_work());
  CHECK(doctor<Four>(machine.surroundings()).can_work());
  CHECK_FALSE(doctor<Four, CpuThreads>(machine.surroundings()).can_work());
}

TEST_CASE("R03: processes are those that MPI starts; without mpirun there is one") {
  const Checkup found = doctor<Four, Processes>(Sound{}.surroundings());
  CHECK(sentence(found, 3) ==
        "[heddle.R03] the plan has 4 devices, but MPI has started 1 process, and each is one rank. Fix: start as many processes as devices: ./heddle "
        "run -np 4 PROGRAM, or mpirun -np 4 PROGRAM.");
  CHECK(doctor<Alone, Processes>(Sound{}.surroundings()).can_work());
  Sound slurm;
  slurm.variable("SLURM_STEP_NUM_TASKS", "4").variable("SLURM_PROCID", "2");
  CHECK(doctor<Four, Processes>(slurm.surroundings()).can_work());
}

TEST_CASE("R26: threads under mpirun train once in each process") {
  Sound machine;
  machine.variable("OMPI_COMM_WORLD_SIZE", "3").variable("OMPI_COMM_WORLD_RANK", "0").variable("OMPI_COMM_WORLD_LOCAL_SIZE", "3");
  const Checkup found = doctor<Four, CpuThreads>(machine.surroundings());
  CHECK(found.can_work());
  CHECK(found.local_ranks() == 4);
  CHECK(sentence(found, 26) ==
        "[heddle.R26] OMPI_COMM_WORLD_SIZE says 3 processes, but CpuThreads runs the 4 ranks of the plan in each, so the same training runs 3 times. "
        "Fix: start one process, or use CpuMpi.");
  CHECK_FALSE(doctor<Four, CpuThreads>(Sound{}.surroundings()).has(Code{'R', 26}));
}

TEST_CASE("R25: a plan is not said to run on GPUs while no backend computes there") {
  Sound machine;
  for (int g = 0; g < 4; ++g) machine.gpu(g, "A", "GPU-" + std::to_string(g));
  const Checkup threads = doctor<Four, CpuThreads>(machine.surroundings(), {.on_gpus = true});
  CHECK_FALSE(threads.can_work());
  CHECK(sentence(threads, 25) ==
        "[heddle.R25] the plan is to run on GPUs, but CpuThreads computes on cores. Fix: name CudaThreads, CudaMpi, CudaFiles or CudaOneCard, or run "
        "it on cores, "
        "with CpuThreads or CpuMpi.");
  CHECK_FALSE(doctor<Four>(machine.surroundings(), {.on_gpus = true}).can_work());
  CHECK(doctor<Four, OnGpus>(machine.surroundings()).findings.empty());
}

TEST_CASE("R37: a backend that takes a GPU for each device does not share them, where another would") {
  Sound machine;
  for (int g = 0; g < 3; ++g) machine.gpu(g, "A", "GPU-" + std::to_string(g));
  const Checkup found = doctor<Four, OnCards>(machine.surroundings());
  CHECK_FALSE(found.can_work());
  CHECK(
      sentence(found, 37) ==
      "[heddle.R37] the plan has 4 devices, and this process sees 3 cards. Fix: take a plan of as many devices, CudaOneCard, which puts all of them "
      "on one card, or look at CUDA_VISIBLE_DEVICES.");
  CHECK((doctor<Four, OnGpus>(machine.surroundings()).can_work() && doctor<Four, OnGpus>(machine.surroundings()).has(Code{'R', 23})));
  machine.gpu(3, "A", "GPU-3");
  CHECK(doctor<Four, OnCards>(machine.surroundings()).findings.empty());
}

TEST_CASE("a backend adds its memory to every arena") {
  CHECK(doctor<Four, CpuThreads>(Sound{}.surroundings()).needed_memory() == 4 * (peak_memory<Four>() + external_memory<Four, CpuThreads>()));
}

TEST_CASE("R20: a launcher that makes no sense cannot work") {
  Sound machine;
  machine.variable("WORLD_SIZE", "four");
  const Checkup found = doctor<Four>(machine.surroundings());
  CHECK_FALSE(found.can_work());
  CHECK(found.has(Code{'R', 20}));
  CHECK_FALSE(found.has(Code{'R', 3}));  // one fault, one sentence
}

TEST_CASE("over two machines only the ranks of this one count") {
  Sound machine;
  machine.variable("WORLD_SIZE", "4").variable("RANK", "3").variable("LOCAL_RANK", "1").variable("LOCAL_WORLD_SIZE", "2");
  const Checkup found = doctor<Staged>(machine.surroundings());
  CHECK(found.local_ranks() == 2);
  CHECK(found.first_local_rank() == Rank{2});
  CHECK(found.needed_memory() == peak_memory<Staged>(device<2>) + peak_memory<Staged>(device<3>));
  CHECK(sentence(found, 24) ==
        "[heddle.R24] 2 of 4 cores stand idle: the plan has 2 ranks on this machine, each on one core. Fix: use a plan of more "
        "devices.");
}

TEST_CASE("R23: ranks that share cores, by affinity or by quota") {
  Sound quota;
  quota.file("proc/self/cgroup", "0::/\n").file("sys/fs/cgroup/cpu.max", "150000 100000\n");
  const Checkup found = doctor<Four>(quota.surroundings());
  CHECK(found.can_work());
  CHECK(sentence(found, 23) ==
        "[heddle.R23] 4 ranks share 1.5 cores, so they take turns. Fix: use a plan of fewer devices on this machine, or allow "
        "more cores.");
  FakeMachine one;
  one.plain(4, "2", 1 << 20, 1 << 20);
  CHECK(sentence(doctor<Four>(one.surroundings()), 23).find("4 ranks share 1 core, so") != std::string::npos);
  CHECK_FALSE(doctor<Four>(Sound{}.surroundings()).has(Code{'R', 23}));
}

TEST_CASE("R24: cores that stand idle") {
  CHECK(sentence(doctor<Alone>(Sound{}.surroundings()), 24).find("3 of 4 cores stand idle: the plan has 1 rank on this machine") !=
        std::string::npos);
  CHECK_FALSE(doctor<Four>(Sound{}.surroundings()).has(Code{'R', 24}));
}

TEST_CASE("R22: GPUs are asked for and none is visible") {
  const Checkup none = doctor<Four, OnGpus>(Sound{}.surroundings());
  CHECK_FALSE(none.can_work());
  CHECK(sentence(none, 22) ==
        "[heddle.R22] the plan is to run on GPUs, but none is visible: the driver shows 0 and CUDA_VISIBLE_DEVICES is not set. "
        "Fix: look at the driver with nvidia-smi.");
  Sound hidden;
  hidden.gpu(0, "A", "GPU-0").variable("CUDA_VISIBLE_DEVICES", "3");
  CHECK(sentence(doctor<Four, OnGpus>(hidden.surroundings()), 22)
            .find("the driver shows 1 and CUDA_VISIBLE_DEVICES is '3'. Fix: unset it or name GPUs that are there.") != std::string::npos);
  CHECK(doctor<Four>(Sound{}.surroundings()).can_work());  // on cores it is no finding
  Sound hung;
  hung.nvidia_smi = std::nullopt;
  CHECK(sentence(doctor<Four, OnGpus>(hung.surroundings()), 22) ==
        "[heddle.R22] the plan is to run on GPUs, but nvidia-smi -L, which lists them, had not ended after 20 s. "
        "Fix: look at the driver with dmesg, since a card may be lost.");
  CHECK(doctor<Four>(hung.surroundings()).can_work());
}

TEST_CASE("only one GPU works: it is said who hides the others, and how many ranks share it") {
  Sound machine;
  for (int g = 0; g < 4; ++g) machine.gpu(g, "A", "GPU-" + std::to_string(g));
  CHECK(doctor<Four, OnGpus>(machine.surroundings()).findings.empty());
  machine.variable("CUDA_VISIBLE_DEVICES", "0");
  const Checkup found = doctor<Four, OnGpus>(machine.surroundings());
  CHECK(found.can_work());
  CHECK(sentence(found, 23) == "[heddle.R23] 4 ranks share 1 GPU. Fix: use a plan of 1 device, or more GPUs.");
  CHECK(sentence(found, 24).find("3 of 4 GPUs stand idle: 3 are hidden by CUDA_VISIBLE_DEVICES and the plan has 4 ranks") != std::string::npos);
}

TEST_CASE("advice of the plan is among the findings and keeps nothing from running") {
  const Checkup found = doctor<EvenPlan<Pipeline<Balanced<4>>>>(Sound{}.surroundings());
  CHECK(found.can_work());
  CHECK(found.has(Code{'A', 4}));
}

TEST_CASE("the machine at hand can be read") {
  const MachineFacts here = read_machine();
  CHECK(here.usable_cores() >= 0);
  CHECK(doctor<Alone>().program == &Alone::training);
}
