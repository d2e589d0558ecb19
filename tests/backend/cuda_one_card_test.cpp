// SPDX-License-Identifier: MIT
// Plans on one card, which the emulator stands for.
#include "heddle/backend/cuda_one_card.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;
using namespace plans_on_cards;

namespace {

template <class ThePlan> std::uint64_t hash_after(int steps) {
  Trainer<ThePlan, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Rows(16, s).batch());
  return trainer.parameter_hash();
}
}  // namespace

TEST_CASE("losses on the card, emulated, are those of threads within rounding, and a checkpoint goes from one to the other") {
  const Cards card;
  Trainer<Of<DataParallel<2>>, CudaOneCard> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Of<DataParallel<2>>, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  CHECK(there.parameter_hash() == here.parameter_hash());  // the host draws them
  for (int s = 0; s < 6; ++s) {
    const Rows rows(s == 4 ? 6 : 16, s);
    CHECK(std::abs(there.step(rows.batch()).loss.value() - here.step(rows.batch()).loss.value()) < 1e-5F);
  }
  const Rows rows(37);
  const Evaluation on_card = there.evaluate(rows.batch()), on_host = here.evaluate(rows.batch());
  CHECK(std::abs(on_card.loss - on_host.loss) < 1e-5);
  REQUIRE(on_card.outputs.size() == on_host.outputs.size());
  for (std::size_t i = 0; i < on_host.outputs.size(); ++i) CHECK(std::abs(on_card.outputs[i] - on_host.outputs[i]) < 1e-4F);
  CHECK(std::abs(there.accuracy(rows.batch()) - here.accuracy(rows.batch())) < 1e-9);
  here.load(there);
  CHECK(here.parameter_hash() == there.parameter_hash());
  CHECK(there.predict(rows.inputs).size() == 370);
}

TEST_CASE("replicas, slices and their product have one another's bits on the card, and two runs have the same") {
  const Cards card;
  const std::uint64_t replicas = hash_after<Of<DataParallel<2>>>(4);
  CHECK(hash_after<Of<DataParallel<2>>>(4) == replicas);
  CHECK(hash_after<Of<Sharded<2>>>(4) == replicas);
  CHECK(hash_after<Of<DataParallel<4>>>(4) == replicas);
  CHECK(hash_after<Of<Single>>(4) == replicas);
  CHECK(hash_after<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(4) == replicas);
}

TEST_CASE("the third step of a kind is one launch of a graph, without an allocation, a descriptor or a question to a heuristic") {
  const Cards card;
  Trainer<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 2; ++s) trainer.step(Rows(16, s).batch());
  const cuda_emulator::Counts before = cuda_emulator::counts();
  for (int s = 2; s < 5; ++s) trainer.step(Rows(16, s).batch());
  const cuda_emulator::Counts after = cuda_emulator::counts();
  CHECK(after.graph_launches - before.graph_launches == 3);
  CHECK(after.allocations == before.allocations);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.heuristics == before.heuristics);
  CHECK(after.kernels > before.kernels);
  const std::uint64_t replayed = trainer.parameter_hash();
  Trainer<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>, CudaOneCard> watched{{.learning_rate = 1e-2}, Seed{3}};
  struct Silent : extending::Observer {
  } silent;
  watched.observe(&silent);  // each call is queued by itself
  for (int s = 0; s < 5; ++s) watched.step(Rows(16, s).batch());
  CHECK(watched.parameter_hash() == replayed);
}

TEST_CASE("a step that clips, scales its loss or changes its learning rate has the numbers of the host") {
  const Cards card;
  using Clipped = Of<DataParallel<2>, Clip<GlobalNorm>, LossScaling>;
  Trainer<Clipped, CudaOneCard> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Clipped, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  there.clip().max_norm = here.clip().max_norm = 0.1;
  for (int s = 0; s < 4; ++s) {
    there.optimizer().learning_rate = here.optimizer().learning_rate = 1e-2 / (s + 1);
    const StepResult on_card = there.step(Rows(16, s).batch()), on_host = here.step(Rows(16, s).batch());
    CHECK(std::abs(on_card.loss.value() - on_host.loss.value()) < 1e-5F);
  }
  Trainer<Of<Single>, CudaOneCard> captured{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Of<Single>, CpuThreads> threads{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 5; ++s) {  // a graph that was captured at one rate is replayed at another
    captured.optimizer().learning_rate = threads.optimizer().learning_rate = 1e-2 / (s + 1);
    CHECK(std::abs(captured.step(Rows(16, s).batch()).loss.value() - threads.step(Rows(16, s).batch()).loss.value()) < 1e-5F);
  }
}

TEST_CASE("weights of classes may change between replays, and each of several losses is divided by what counts for it") {
  const Cards card;
  using Weighed = LossOf<"weighed", Outputs<6>, CrossEntropyWith<Ignored<-100>, ClassWeights>>;
  using Several = Plan<Net, Losses<Weighed, LossOf<"all", Outputs<4>, CrossEntropy>>, AdamW, Batch<16>, Grain<2>, DataParallel<2>>;
  Trainer<Several, CudaOneCard> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Several, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 4; ++s) {
    std::vector<float> weights(6, 1.0F);
    weights[static_cast<std::size_t>(s)] = 8;
    there.class_weights(weights);
    here.class_weights(weights);
    const Rows rows(16, s);
    std::vector<std::int32_t> some, all;
    for (std::int32_t i = 0; i < 16; ++i) {
      some.push_back(i % (s + 2) == 0 ? -100 : i % 6);
      all.push_back(i % 4);
    }
    const auto batch = examples(rows.inputs, some, 20).with_targets(all, 1);
    CHECK(std::abs(there.step(batch).loss.value() - here.step(batch).loss.value()) < 1e-5F);
  }
  const std::vector<float> a = there.gradient("2.weight"), b = here.gradient("2.weight");
  for (std::size_t i = 0; i < b.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-6F);
}

TEST_CASE("a convolution whose samples are computed in pieces is trained on the card as on the host") {
  const Cards card;
  struct Large : Sequential<Input<1, 64, 70>, Conv2d<1, 2, KernelSize<1>>, ReLU, AvgPool2d<KernelSize<64, 70>>, Flatten> {};
  using Trained = Plan<Large, MeanSquaredError, SGD, Batch<8>, Single>;
  Trainer<Trained, CudaOneCard> there{{.learning_rate = 1e-1}, Seed{3}};
  Trainer<Trained, CpuThreads> here{{.learning_rate = 1e-1}, Seed{3}};
  std::vector<float> images(8 * 64 * 70), targets(8 * 2);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>(i % 251) / 125.0F - static_cast<float>(i / 4480) / 8;
  for (std::size_t i = 0; i < targets.size(); ++i) targets[i] = static_cast<float>(i % 5) / 2;
  for (int s = 0; s < 3; ++s) there.step(examples(images, targets, 4480)), here.step(examples(images, targets, 4480));
  const std::vector<float> a = there.parameter("1.weight"), b = here.parameter("1.weight");
  for (std::size_t i = 0; i < b.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-5F);
}

TEST_CASE("a limit of each value may change between replays, and four other kinds of calls take no graph from a training") {
  const Cards card;
  using Clipped = Of<DataParallel<2>, Clip<EachValue>>;
  Trainer<Clipped, CudaOneCard> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Clipped, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 6; ++s) {
    there.clip().max_value = here.clip().max_value = s < 3 ? 1.0 : 1e-4;
    there.step(Rows(16, s).batch());
    here.step(Rows(16, s).batch());
  }
  const std::vector<float> a = there.gradient("2.weight"), b = here.gradient("2.weight");
  for (std::size_t i = 0; i < b.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-6F);
  for (int rows = 1; rows < 6; ++rows) CHECK(there.predict(Rows(rows).inputs).size() == static_cast<std::size_t>(10 * rows));
  const long before = cuda_emulator::counts().graph_launches;
  for (int s = 0; s < 4; ++s) there.step(Rows(16, s).batch());
  CHECK(cuda_emulator::counts().graph_launches - before == 3);  // the first is queued again
}

TEST_CASE("an accuracy after an evaluation that was refused looks at no loss; two threads read parameters at once") {
  const Cards card;
  Trainer<Of<DataParallel<2>>, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  Rows wrong(8);
  wrong.inputs[3] = std::numeric_limits<float>::infinity();
  CHECK(said([&] { (void)trainer.evaluate(wrong.batch()); }).find("[heddle.R02]") != std::string::npos);
  CHECK_FALSE(trainer.interrupted());
  CHECK(trainer.accuracy(Rows(8).batch()) >= 0);
  const std::vector<float> first = trainer.parameter("0.weight"), second = trainer.parameter("2.weight");
  int other = 0;
  std::thread reader{[&] {
    for (int i = 0; i < 50; ++i) other += trainer.parameter("0.weight") == first ? 0 : 1;
  }};
  for (int i = 0; i < 50; ++i) CHECK(trainer.parameter("2.weight") == second);
  reader.join();
  CHECK(other == 0);
}

TEST_CASE("a card that fails while it replays a step leaves parameters of no step, and says so") {
  cuda_emulator::reset({});
  Trainer<Of<Single>, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
  cuda_emulator::fail_call(2);  // behind the question which card this thread has
  CHECK(said([&] { trainer.step(Rows(16, 3).batch()); }).find("[heddle.R36] cudaGraphLaunch failed") != std::string::npos);
  CHECK(cuda_emulator::failed_call() == "cudaGraphLaunch");
  CHECK(trainer.interrupted());
  CHECK(said([&] { trainer.save("never.safetensors"); }).find("[heddle.R04]") != std::string::npos);
}

TEST_CASE("R03 and R37: more processes than one, and more devices of a group than a card sums, are refused before memory is taken") {
  const Cards card;
  const auto two = [](const char* name) -> std::optional<std::string> {
    return std::string_view{name} == "WORLD_SIZE" ? std::optional<std::string>{"2"} : std::nullopt;
  };
  CHECK(backend_room::RanksOnOneCard::refusal(4, two).sentence().view() ==
        "[heddle.R03] WORLD_SIZE says 2 processes, but CudaOneCard runs the 4 ranks of the plan on one card of one process. Fix: start one "
        "process, or unset WORLD_SIZE.");
  const auto by_srun = [](const char* name) -> std::optional<std::string> {
    if (std::string_view{name} == "SLURM_STEP_NUM_TASKS") return "2";
    return std::string_view{name} == "SLURM_PROCID" ? std::optional<std::string>{"1"} : std::nullopt;
  };
  CHECK(backend_room::RanksOnOneCard::refusal(4, by_srun)
            .sentence()
            .view()
            .find("[heddle.R03] SLURM_STEP_NUM_TASKS says 2 processes, but CudaOneCard") == 0);
  using Many = Plan<Net, CrossEntropy, SGD, Batch<128>, DataParallel<128>>;
  CHECK(said([] { Trainer<Many, CudaOneCard>{{.learning_rate = 0.1}}; }) ==
        "[heddle.R37] 128 logical devices of one card are to be summed, and 64 can be. Fix: take a plan of fewer devices.");
  CHECK(cuda_emulator::counts().allocations == 0);
}

TEST_CASE("a label that is no class is refused before anything runs, also where a graph is replayed") {
  const Cards card;
  Trainer<Of<DataParallel<2>>, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
  Rows wrong(16);
  wrong.labels[9] = 12;
  CHECK(said([&] { trainer.step(wrong.batch()); }).find("[heddle.D08] row 9 of the batch has label 12") != std::string::npos);
  CHECK_FALSE(trainer.interrupted());
  CHECK(trainer.step(Rows(16, 4).batch()).loss.has_value());
}

TEST_CASE("steps go on after a wrong label in the first, which is queued, in the second, which is captured, and in a replayed one") {
  const Cards card;
  Trainer<Of<DataParallel<2>>, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Of<DataParallel<2>>, CpuThreads> host{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 4; ++s) {
    Rows wrong(16, s);
    wrong.labels[11] = -1;
    CHECK(said([&] { trainer.step(wrong.batch()); }).find("[heddle.D08] row 11 of the batch has label -1") != std::string::npos);
    CHECK(std::abs(trainer.step(Rows(16, s).batch()).loss.value() - host.step(Rows(16, s).batch()).loss.value()) < 1e-5F);
  }
}

TEST_CASE("a loss that is not finite is told after the step, and the trainer says that its parameters are those of no step") {
  const Cards card;
  Trainer<Of<Single>, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  Rows wrong(16);
  wrong.inputs[33] = std::numeric_limits<float>::infinity();
  const std::string words = said([&] { trainer.step(wrong.batch()); });
  CHECK(words ==
        "[heddle.R02] the loss of step 1 is NaN in all rows of a rank together; the input has such a value in row 1, feature 13. The step was made "
        "before that was "
        "known. Fix: make a new trainer and load the parameters of the last good step, or put Guarded into the plan; and lower the learning rate or "
        "repair the data.");
  CHECK(trainer.interrupted());
  const std::string after =
      "[heddle.R04] step 1 was interrupted after it had changed parameters, and those from before it are gone. Fix: make a new "
      "trainer and load the parameters of the last good step.";
  CHECK(said([&] { trainer.save("never.safetensors"); }) == after);
  CHECK(said([&] { trainer.step(Rows(16).batch()); }) == after);
  std::ifstream page("docs/errors.md");
  std::ostringstream text;
  text << page.rdbuf();
  for (const std::string& sentence : {words, after}) CHECK(text.str().find(sentence + "\n") != std::string::npos);
}

TEST_CASE("a loss that is not finite holds a guarded step on one card, in every micro-batch and on every logical device, and training goes on") {
  const Cards card;
  holds_a_step_whose_loss_is_not_finite<CudaOneCard>(static_cast<Of<Single>*>(nullptr));
  holds_a_step_whose_loss_is_not_finite<CudaOneCard>(static_cast<Of<DataParallel<2>>*>(nullptr));
  holds_a_step_whose_loss_is_not_finite<CudaOneCard>(static_cast<Of<Hybrid<Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>>*>(nullptr));
  holds_a_step_whose_loss_is_not_finite<CudaOneCard>(
      static_cast<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>*>(nullptr));
}

TEST_CASE("a loss that overflows while its gradients do not holds a guarded step that scales its loss, on one card") {
  const Cards card;
  holds_a_step_whose_loss_alone_overflows<CudaOneCard>();
}

TEST_CASE("losses of ranks that are finite each, but not together, step in a guarded plan on a card as on the host") {
  const Cards card;
  using Far = Plan<Net, MeanSquaredError, SGD, Batch<16>, Grain<2>, DataParallel<2>, Guarded>;
  Trainer<Far, CudaOneCard> there{{.learning_rate = 1e-30}, Seed{3}};
  Trainer<Far, CpuThreads> here{{.learning_rate = 1e-30}, Seed{3}};
  const Rows rows(16);
  std::vector<float> targets(16 * 10, 0.0F);
  for (std::size_t row = 0; row < 16; ++row) targets[10 * row] = 1.7e19F;  // 8 rows make 2.3e38, 16 rows 4.6e38
  const auto batch = examples(rows.inputs, targets, 20);
  CHECK(std::isinf(here.step(batch).loss.value()));
  CHECK(std::isinf(there.step(batch).loss.value()));
  CHECK_FALSE(there.interrupted());
}

TEST_CASE("R14: a card without room says what was asked and what is free; R37: no card, an old driver, no driver") {
  {
    const Cards card{{.devices = 1, .device_bytes = 4 << 20}};
    struct Wide : Sequential<Linear<1024, 1024>, ReLU, Linear<1024, 10>> {};
    using Large = Plan<Wide, CrossEntropy, AdamW, Batch<16>, Single>;
    const std::string words = said([] { Trainer<Large, CudaOneCard>{{.learning_rate = 1e-2}}; });
    CHECK(words.find("[heddle.R14] the card does not give the ") == 0);
    CHECK(words.find("bytes are free") != std::string::npos);
  }
  const auto refused = [](const cuda_emulator::Options& options) {
    const Cards card{options};
    return said([] { Trainer<Of<Single>, CudaOneCard>{{.learning_rate = 1e-2}}; });
  };
  CHECK(refused({.devices = 0}).find("[heddle.R37] no card can be seen") == 0);
  CHECK(refused({.driver_version = 12000}).find("[heddle.R37] the driver is older than the CUDA runtime") == 0);
  CHECK(refused({.driver_version = 0}).find("[heddle.R37] there is no driver of NVIDIA") == 0);
}

TEST_CASE("steps that clip or scale are replayed on a card, and a norm that is not finite holds them") {
  SUBCASE("replayed") {
    const Cards card;
    replays_steps_that_clip<CudaOneCard>(1);
  }
  SUBCASE("held") {
    const Cards card;
    holds_a_step_whose_norm_is_not_finite<CudaOneCard>();
  }
  SUBCASE("an overflow at scale 1") {
    const Cards card;
    refuses_an_overflow_at_scale_1<CudaOneCard>();
  }
}

TEST_CASE("each call that fails once is one sentence, and nothing is left alive") { CHECK(tell_each_call_that_fails<CudaOneCard>(1, 400, 7) > 40); }

TEST_CASE("an inference runs on the card, and verify holds a plan there against one device of the host") {
  const Cards card;
  Trainer<Of<Single>, CpuThreads> host{{.learning_rate = 1e-2}, Seed{3}};
  Runner<Inference<Net, Batch<8>, Single>, CudaOneCard> runner;
  runner.load(host);
  const Rows rows(5);
  const std::vector<float> there = runner.predict(rows.inputs), here = host.predict(rows.inputs);
  REQUIRE(there.size() == here.size());
  for (std::size_t i = 0; i < here.size(); ++i) CHECK(std::abs(there[i] - here[i]) < 1e-5F);
  CHECK(verify<Of<TensorParallel<2>>, CudaOneCard>(Rows(16).batch(), Seed{3}, 1e-4).text == "");
}
