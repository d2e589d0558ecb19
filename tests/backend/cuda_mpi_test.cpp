// SPDX-License-Identifier: MIT
// Plans with one process for each card, which the emulator stands for: ranks of NCCL that are processes meet in a folder.
#include "heddle/backend/cuda_mpi.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace plans_on_cards;
using namespace std::chrono_literals;

namespace {

const cuda_emulator::Options four_cards{.devices = 4, .deadline_s = 100, .processes = true};

int own_rank() {
  int rank = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &rank);
  return rank;
}
template <class ThePlan, class Backend> std::uint64_t hash_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Rows(16, s).batch());
  return trainer.parameter_hash();
}
/// What mpirun has set is away for a while: backends of one process refuse to be one of several.
class WithoutLauncher {
 public:
  WithoutLauncher() {
    for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"})
      if (const char* const value = std::getenv(name)) {
        before_.emplace_back(name, value);
        unsetenv(name);
      }
  }
  WithoutLauncher(const WithoutLauncher&) = delete;
  WithoutLauncher& operator=(const WithoutLauncher&) = delete;
  ~WithoutLauncher() {
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::pair<std::string, std::string>> before_;
};
using Staged = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;

}  // namespace

TEST_CASE("four processes, a card each: the bits of four threads of one process, in every policy, and steps are replayed") {
  std::uint64_t threads = 0;
  {
    const WithoutLauncher alone;
    const Cards cards{{.devices = 4}};
    threads = hash_after<Of<DataParallel<4>>, CudaThreads>(4);
  }
  const Cards cards{four_cards};
  CHECK(hash_after<Of<DataParallel<4>>, CudaMpi>(4) == threads);
  const long before = cuda_emulator::counts().graph_launches;
  CHECK(hash_after<Staged, CudaMpi>(4) == threads);
  CHECK(cuda_emulator::counts().graph_launches - before == 3);
  CHECK(hash_after<Of<Sharded<4>>, CudaMpi>(4) == threads);
}

TEST_CASE("R03: a plan whose cards are of one process is refused in each of four that mpirun has started, before a card is touched") {
  const Cards cards{{.devices = 4}};
  const std::string words = said([] { Trainer<Of<DataParallel<4>>, CudaThreads>{{.learning_rate = 0.1}}; });
  CHECK(words.find("_SIZE says 4 processes, but CudaThreads runs the 4 ranks of the plan on cards of one process, so each process would take") !=
        std::string::npos);
  CHECK(cuda_emulator::counts().allocations == 0);
}

TEST_CASE("losses, outputs and parameters are told to every process") {
  const Cards cards{four_cards};
  Trainer<Of<Hybrid<TensorParallel<2>, DataParallel<2>>>, CudaMpi> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Of<Hybrid<TensorParallel<2>, DataParallel<2>>>, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 4; ++s) CHECK(std::abs(there.step(Rows(16, s).batch()).loss.value() - here.step(Rows(16, s).batch()).loss.value()) < 1e-5F);
  const std::vector<float> a = there.predict(Rows(7).inputs), b = here.predict(Rows(7).inputs);
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < b.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-4F);
  CHECK(std::abs(there.evaluate(Rows(37).batch()).loss - here.evaluate(Rows(37).batch()).loss) < 1e-5);
  CHECK(there.parameter("2.weight").size() == 160);
}

TEST_CASE("R37: processes that share a card are named in all of them, and so is one that finds none") {
  {
    const Cards cards{{.devices = 1, .deadline_s = 100, .processes = true}};
    const std::string words = said([] { Trainer<Of<DataParallel<4>>, CudaMpi>{{.learning_rate = 0.1}}; });
    CHECK(words.find("[heddle.R37] ranks 0 and 1 are both on card 0000:10:00.0 of machine ") == 0);
    CHECK(words.find("show each of them another card with CUDA_VISIBLE_DEVICES") != std::string::npos);
  }
  const Cards cards{{.devices = 3, .deadline_s = 100, .processes = true}};
  CHECK(said([] { Trainer<Of<DataParallel<4>>, CudaMpi>{{.learning_rate = 0.1}}; }) ==
        "[heddle.R37] rank 3 is process 3 of its machine, counted from 0, and sees 3 cards. Fix: start as many processes on each machine as it has "
        "cards, or look at CUDA_VISIBLE_DEVICES.");
}

TEST_CASE("processes that give batches of other sizes are told so before anything is queued") {
  const Cards cards{four_cards};
  Trainer<Of<DataParallel<4>>, CudaMpi> trainer{{.learning_rate = 1e-2}, Seed{3}};
  trainer.step(Rows(16).batch());
  const long before = cuda_emulator::counts().kernels;
  CHECK(said([&] { trainer.step(Rows(own_rank() == 2 ? 12 : 16).batch()); }).find("[heddle.T10]") == 0);
  CHECK(cuda_emulator::counts().kernels == before);
}

TEST_CASE("a process that throws in a step is told to the others, which wait for their cards") {
  const Cards cards{four_cards};
  Trainer<Of<DataParallel<4>>, CudaMpi> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
  if (own_rank() == 1) cuda_emulator::fail_call(3);
  const std::string words = said([&] { trainer.step(Rows(16, 3).batch()); });
  CHECK(words.find(own_rank() == 1 ? "[heddle.R36]" : "[heddle.R01] rank 1 was lost") == 0);
  CHECK(trainer.interrupted());
}

TEST_CASE("while NCCL makes a connection the rank that has not come to it is named by all processes, not one that waits as well") {
  cuda_emulator::reset(four_cards);
  struct Sleeps : extending::Observer {
    bool slept = false;
    void started(const extending::Observation&) override {
      if (!std::exchange(slept, true)) std::this_thread::sleep_for(4s);
    }
  } sleeps;
  using Free = Plan<Net, CrossEntropy, AdamW, Batch<16>, Accumulate<2>, DataParallel<4>>;  // gradients are summed by NCCL, a loss along the tree
  Trainer<Free, CudaMpi> trainer{{.learning_rate = 1e-2}, Seed{3}, {.deadline = 2s}};
  trainer.on_step([](const StepResult&) {}, Every{3});
  for (int s = 1; s < 3; ++s) trainer.step(Rows(16, s).batch());
  if (own_rank() == 3) trainer.observe(&sleeps);
  const std::string words = said([&] { trainer.step(Rows(16, 3).batch()); });
  CAPTURE(words);
  CHECK(words.find("[heddle.R01] rank 3 was lost at ") == 0);
  if (own_rank() != 3) CHECK(words.find("NCCL's connections of rank ") != std::string::npos);
  CHECK(words.find("it started nothing within the deadline of 2000 ms") != std::string::npos);
}

TEST_CASE("a loss that is not finite on the card of one process holds a guarded step in all, and so does a norm; training goes on") {
  const Cards cards{four_cards};
  holds_a_step_whose_loss_is_not_finite<CudaMpi>(static_cast<Of<DataParallel<4>>*>(nullptr));
  holds_a_step_whose_loss_is_not_finite<CudaMpi>(static_cast<Staged*>(nullptr));
  using Clipped = Of<Sharded<4>, Clip<GlobalNorm>>;
  Trainer<Clipped, CudaMpi> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 3; ++s) {
    const std::uint64_t before = trainer.parameter_hash();
    Rows wrong(16, s);
    for (float& x : wrong.inputs) x *= 1e25F;  // losses stay finite, squares do not
    CHECK(said([&] { trainer.step(wrong.batch()); }).find("[heddle.R02] the norm of the gradients of step ") == 0);
    CHECK(trainer.parameter_hash() == before);
    trainer.step(Rows(16, s).batch());
    CHECK(trainer.parameter_hash() != before);
  }
}

TEST_CASE("processes whose cards multiply otherwise are told before the first step") {
  const Cards cards{four_cards};
  const std::string words = said([] {
    static_cast<void>(own_rank() == 2 ? hash_after<Of<DataParallel<4>>, AllowTF32<CudaMpi>>(1) : hash_after<Of<DataParallel<4>>, CudaMpi>(1));
  });
  CAPTURE(words);
  CHECK(words.find("[heddle.R08] rank 2 was compiled otherwise than ranks 0, 1 and 3: TF32 is on in rank 2 and off in rank 0. Fix: ") == 0);
}
