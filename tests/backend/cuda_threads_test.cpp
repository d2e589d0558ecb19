// SPDX-License-Identifier: MIT
// Plans whose devices are cards of one process, which the emulator stands for.
#include "heddle/backend/cuda_threads.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;
using namespace plans_on_cards;

namespace {

template <class ThePlan, class Backend = CudaThreads> std::uint64_t hash_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Rows(16, s).batch());
  return trainer.parameter_hash();
}
using Staged = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;

}  // namespace

TEST_CASE("under a Grain all layouts have one another's bits on cards of their own, and those of one card, emulated") {
  const Cards cards{{.devices = 4}};
  const std::uint64_t one_card = hash_after<Of<DataParallel<2>>, CudaOneCard>(4);
  CHECK(hash_after<Of<DataParallel<2>>>(4) == one_card);
  CHECK(hash_after<Of<DataParallel<4>>>(4) == one_card);
  CHECK(hash_after<Of<Sharded<2>>>(4) == one_card);
  CHECK(hash_after<Of<Single>>(4) == one_card);
  CHECK(hash_after<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(4) == one_card);
  CHECK(hash_after<Staged>(4) == one_card);
}

TEST_CASE("where a plan asks for no order NCCL adds in its own: its collectives run, and the losses are those of the host within rounding") {
  const Cards cards{{.devices = 4}};
  using Free = Plan<Net, CrossEntropy, AdamW, Batch<16>, Accumulate<2>, DataParallel<4>>;
  static_assert(!is_reproducible<Free>);
  Trainer<Free, CudaThreads> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Free, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  const long before = cuda_emulator::counts().collectives;
  for (int s = 0; s < 4; ++s) CHECK(std::abs(there.step(Rows(16, s).batch()).loss.value() - here.step(Rows(16, s).batch()).loss.value()) < 1e-5F);
  CHECK(cuda_emulator::counts().collectives - before == 4 * (1 + 3 + 3));  // of gradients one a step; the loss goes to who sums it, and back
  CHECK(std::abs(there.evaluate(Rows(37).batch()).loss - here.evaluate(Rows(37).batch()).loss) < 1e-5);
}

TEST_CASE("the third step of a kind is one launch of a graph on each card, NCCL in it, and allocates, describes and asks nothing") {
  const Cards cards{{.devices = 4}};
  Trainer<Staged, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 2; ++s) trainer.step(Rows(16, s).batch());
  const cuda_emulator::Counts before = cuda_emulator::counts();
  for (int s = 2; s < 5; ++s) trainer.step(Rows(16, s).batch());
  const cuda_emulator::Counts after = cuda_emulator::counts();
  CHECK(after.graph_launches - before.graph_launches == 3 * 4);
  CHECK(after.allocations == before.allocations);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.heuristics == before.heuristics);
  CHECK(after.collectives > before.collectives);
  const std::uint64_t replayed = trainer.parameter_hash();
  Trainer<Staged, CudaThreads> watched{{.learning_rate = 1e-2}, Seed{3}};
  struct Silent : extending::Observer {
  } silent;
  watched.observe(&silent);  // each call is queued by itself
  for (int s = 0; s < 5; ++s) watched.step(Rows(16, s).batch());
  CHECK(watched.parameter_hash() == replayed);
}

TEST_CASE("a step on cards that clips, scales its loss or changes its learning rate has the numbers of the host") {
  const Cards cards{{.devices = 2}};
  using Clipped = Of<DataParallel<2>, Clip<GlobalNorm>, LossScaling>;
  Trainer<Clipped, CudaThreads> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Clipped, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  there.clip().max_norm = here.clip().max_norm = 0.1;
  for (int s = 0; s < 4; ++s) {
    there.optimizer().learning_rate = here.optimizer().learning_rate = 1e-2 / (s + 1);
    CHECK(std::abs(there.step(Rows(16, s).batch()).loss.value() - here.step(Rows(16, s).batch()).loss.value()) < 1e-5F);
  }
  CHECK(there.predict(Rows(5).inputs).size() == 50);
  here.load(there);
  CHECK(here.parameter_hash() == there.parameter_hash());
}

TEST_CASE("steps go on after a wrong label on cards: all of them find it before any has queued anything") {
  const Cards cards{{.devices = 4}};
  Trainer<Staged, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Staged, CpuThreads> host{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 4; ++s) {  // queued, captured, replayed
    Rows wrong(16, s);
    wrong.labels[11] = -1;
    const long before = cuda_emulator::counts().kernels;
    CHECK(said([&] { trainer.step(wrong.batch()); }).find("[heddle.D08] row 11 of the batch has label -1") != std::string::npos);
    CHECK(cuda_emulator::counts().kernels == before);
    CHECK_FALSE(trainer.interrupted());
    CHECK(std::abs(trainer.step(Rows(16, s).batch()).loss.value() - host.step(Rows(16, s).batch()).loss.value()) < 1e-5F);
  }
}

TEST_CASE("a loss that is not finite is told after a step on cards, which then says R04; an evaluation goes on") {
  const Cards cards{{.devices = 2}};
  Trainer<Of<DataParallel<2>>, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
  Rows wrong(16);
  wrong.inputs[33] = std::numeric_limits<float>::infinity();
  CHECK(said([&] { (void)trainer.evaluate(wrong.batch()); }).find("[heddle.R02]") != std::string::npos);
  CHECK_FALSE(trainer.interrupted());
  CHECK(trainer.accuracy(Rows(8).batch()) >= 0);
  CHECK(said([&] { trainer.step(wrong.batch()); }).find("the input has such a value in row 1, feature 13. The step was made before that was known") !=
        std::string::npos);
  CHECK(trainer.interrupted());
}

TEST_CASE("a loss that is not finite on one card holds a guarded step on all, and training goes on") {
  const Cards cards{{.devices = 4}};
  holds_a_step_whose_loss_is_not_finite<CudaThreads>(static_cast<Of<DataParallel<2>>*>(nullptr));
  holds_a_step_whose_loss_is_not_finite<CudaThreads>(static_cast<Of<Sharded<2>, LossScaling>*>(nullptr));
  holds_a_step_whose_loss_is_not_finite<CudaThreads>(
      static_cast<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>, Clip<GlobalNorm>>*>(nullptr));
}

TEST_CASE("after a step that a rank has left in the middle the next one has the norm and the bits of a trainer that never saw it") {
  struct Uneven : Sequential<Linear<20, 37>, ReLU, Linear<37, 21>, ReLU, Linear<21, 10>> {};  // its tensors leave gaps between them
  using P = Plan<Uneven, CrossEntropy, AdamW, Batch<16, KeepLast>, Grain<2>, DataParallel<2>, Bucket<1_KiB>, Clip<GlobalNorm>>;
  struct Stops : extending::Observer {
    int left;
    explicit Stops(int n) : left(n) {}
    void started(const extending::Observation& at) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(at.rank == Rank{1} ? 1 : 2));
      if (at.rank == Rank{1} && --left == 0) throw std::runtime_error("has seen enough");
    }
  };
  const auto after = [](int at, bool& left) {
    cuda_emulator::reset({.devices = 2});
    Trainer<P, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
    std::vector<float> seen;
    for (int s = 0; s < 3; ++s) {
      if (s == 1 && at > 0) {
        Stops stops{at};
        trainer.observe(&stops);
        left = !said([&] { seen.push_back(trainer.step(Rows(16, s).batch()).norm.value()); }).empty();
        trainer.observe(nullptr);
        if (trainer.interrupted()) return std::vector<float>{};
        if (!left) continue;
      }
      seen.push_back(trainer.step(Rows(16, s).batch()).norm.value());
    }
    const std::vector<float> weights = trainer.parameter("2.weight");
    seen.insert(seen.end(), weights.begin(), weights.end());
    return seen;
  };
  bool left = false;
  const std::vector<float> well = after(0, left);
  int others = 0;
  for (const int at : {6, 10, 14, 18, 22, 26, 30}) {
    left = false;
    const std::vector<float> again = after(at, left);
    if (!left || again.empty()) continue;
    CAPTURE(at);
    CHECK(again == well);
    ++others;
  }
  CHECK(others > 3);
}

TEST_CASE("a rank that throws in the middle of an evaluation ends the wait of the others, whose cards meet anew") {
  const Cards cards{{.devices = 4}};
  Trainer<Staged, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
  const std::uint64_t begun = trainer.parameter_hash();
  struct Stops : extending::Observer {
    int left = 3;
    void started(const extending::Observation& at) override {
      if (at.rank == Rank{2} && --left == 0) throw std::runtime_error("has seen enough");
    }
  } stops;
  trainer.observe(&stops);
  const std::string words = said([&] { (void)trainer.evaluate(Rows(16).batch()); });
  CHECK(words.find("[heddle.R01] rank 2 was lost") == 0);
  CHECK(words.find("the observer threw: has seen enough") != std::string::npos);
  trainer.observe(nullptr);
  CHECK_FALSE(trainer.interrupted());
  CHECK(trainer.parameter_hash() == begun);
  for (int s = 0; s < 4; ++s) trainer.step(Rows(16, s).batch());
  CHECK(trainer.parameter_hash() == hash_after<Staged>(4));
}

TEST_CASE("a peer whose machine is gone, as NCCL says it, is one sentence, and the parameters are those of no step") {
  const Cards cards{{.devices = 2}};
  Trainer<Of<DataParallel<2>>, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
  cuda_emulator::fail_communicators();
  const std::string words = said([&] { trainer.step(Rows(16, 3).batch()); });
  CHECK(words.find("remote process exited or there was a network error") != std::string::npos);
  CHECK(trainer.interrupted());
}

TEST_CASE("ranks whose id of NCCL cannot be made anew say that their parameters are those of no step") {
  const Cards cards{{.devices = 2}};
  Trainer<Of<DataParallel<2>>, CudaThreads> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
  cuda_emulator::fail_communicators();  // a step fails, and so does the meeting anew
  const std::string words = said([&] { trainer.step(Rows(16, 3).batch()); });
  CHECK(words.find("remote process exited") != std::string::npos);
  CHECK(trainer.interrupted());
  CHECK(trainer.parameter("2.weight").size() == 160);  // they may be looked at
  CHECK(said([&] { trainer.step(Rows(16, 4).batch()); }).find("[heddle.R04]") == 0);
}

TEST_CASE("what each coordinate of axis tensor holds whole stays alike where NCCL adds in an order of its own for each group") {
  const Cards cards{{.devices = 6}};
  struct Normed : Sequential<Linear<20, 16>, LayerNorm<16>, Linear<16, 10>> {};
  using Apart = Plan<Normed, CrossEntropy, AdamW, Batch<24>, Accumulate<2>, Clip<GlobalNorm>, Hybrid<TensorParallel<2>, DataParallel<3>>>;
  static_assert(!is_reproducible<Apart>);
  const auto bits = []<class Backend>(const Backend&) {
    Trainer<Apart, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
    for (int s = 0; s < 4; ++s) trainer.step(Rows(24, s).batch());
    return trainer.parameter_hash();
  };
  CHECK(bits(CudaThreads{}) == bits(CudaOneCard{}));  // whose sums always run along the tree
}

TEST_CASE("R37: fewer cards than devices; R03: more processes than one; both before a card is touched") {
  {
    const Cards cards{{.devices = 1}};
    CHECK(
        said([] { Trainer<Of<DataParallel<2>>, CudaThreads>{{.learning_rate = 0.1}}; }) ==
        "[heddle.R37] the plan has 2 devices, and this process sees 1 card. Fix: take a plan of as many devices, CudaOneCard, which puts all of them "
        "on one card, or look at CUDA_VISIBLE_DEVICES.");
    CHECK(cuda_emulator::counts().allocations == 0);
  }
  const Cards none{{.devices = 0}};
  CHECK(said([] { Trainer<Of<DataParallel<2>>, CudaThreads>{{.learning_rate = 0.1}}; }).find("[heddle.R37] no card can be seen") == 0);
  const auto two = [](const char* name) -> std::optional<std::string> {
    return std::string_view{name} == "WORLD_SIZE" ? std::optional<std::string>{"2"} : std::nullopt;
  };
  CHECK(backend_room::RanksAsCards::refusal(4, two).sentence().view() ==
        "[heddle.R03] WORLD_SIZE says 2 processes, but CudaThreads runs the 4 ranks of the plan on cards of one process. Fix: start one process, or "
        "unset WORLD_SIZE.");
}

TEST_CASE("steps that clip or scale are replayed on cards, and a norm that is not finite holds them") {
  const Cards cards{{.devices = 2}};
  SUBCASE("replayed") { replays_steps_that_clip<CudaThreads>(2); }
  SUBCASE("held") { holds_a_step_whose_norm_is_not_finite<CudaThreads>(); }
}

TEST_CASE("each call that fails once on one of two cards is one sentence, nothing hangs, and nothing is left alive") {
  CHECK(tell_each_call_that_fails<CudaThreads>(2, 700, 11) > 40);
}

TEST_CASE("an inference runs on cards, and verify holds a plan there against one device of the host") {
  const Cards cards{{.devices = 2}};
  Trainer<Of<Single>, CpuThreads> host{{.learning_rate = 1e-2}, Seed{3}};
  Runner<Inference<Net, Batch<8>, DataParallel<2>>, CudaThreads> runner;
  runner.load(host);
  const Rows rows(5);
  const std::vector<float> there = runner.predict(rows.inputs), here = host.predict(rows.inputs);
  REQUIRE(there.size() == here.size());
  for (std::size_t i = 0; i < here.size(); ++i) CHECK(std::abs(there[i] - here[i]) < 1e-5F);
  CHECK(verify<Of<TensorParallel<2>>, CudaThreads>(Rows(16).batch(), Seed{3}, 1e-4).text == "");
}
