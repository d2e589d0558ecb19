// SPDX-License-Identifier: MIT
// A small network and its rows, and cards of the emulator: what tests of the pairings on cards share.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/examples.hpp"

namespace plans_on_cards {

using namespace heddle;

struct Net : Sequential<Linear<20, 16>, ReLU, Linear<16, 10>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, AdamW, Batch<16, KeepLast>, Grain<2>, Parts...>;

struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  explicit Rows(int rows, int seed = 0) {
    for (int i = 0; i < rows * 20; ++i) inputs.push_back(static_cast<float>((37 * i + 11 * seed) % 127) / 128.0F);
    for (int i = 0; i < rows; ++i) labels.push_back((7 * i + seed) % 10);
  }
  [[nodiscard]] auto batch() const { return examples(inputs, labels, 20); }
};

/// Cards that nothing of another test has touched; what the emulator found wrong is asked at the end.
struct Cards {
  explicit Cards(cuda_emulator::Options options = {}) { cuda_emulator::reset(options); }
  Cards(const Cards&) = delete;
  Cards& operator=(const Cards&) = delete;
  ~Cards() {
    for (const std::string& violation : cuda_emulator::violations()) {
      CAPTURE(cuda_emulator::failed_call());
      CHECK(violation == "");
    }
    CHECK(cuda_emulator::alive() == "");
  }
};
template <class Call> std::string said(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

/// Norms, factors and overflows are decided on cards, so that steps that clip or scale are replayed as well, by `graphs` launches each.
template <class Backend> void replays_steps_that_clip(long graphs) {
  using Clipped = Of<DataParallel<2>, Clip<GlobalNorm>, LossScaling>;
  Trainer<Clipped, Backend> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Clipped, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  const long before = cuda_emulator::counts().graph_launches;
  for (int s = 0; s < 8; ++s) {
    there.clip().max_norm = here.clip().max_norm = s < 5 ? 0.1 : 0.4;
    Rows rows(16, s);
    for (float& x : rows.inputs) x *= s == 3 ? 1e36F : 1.0F;  // with the scale gradients overflow, and the step is left out
    const StepResult on_cards = there.step(rows.batch()), on_host = here.step(rows.batch());
    CHECK(on_cards.skipped == on_host.skipped);
    CHECK(on_cards.skipped == (s == 3));
    CHECK(there.loss_scale().scale() == here.loss_scale().scale());
    if (!on_cards.skipped) CHECK(std::abs(on_cards.norm.value() - on_host.norm.value()) < 1e-4F * on_host.norm.value());
  }
  CHECK(cuda_emulator::counts().graph_launches - before == 7 * graphs);
  const std::vector<float> a = there.parameter("2.weight"), b = here.parameter("2.weight");
  for (std::size_t i = 0; i < b.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-4F);
}

/// Without a scale an overflow of gradients is a mistake: it is told after the step, of which nothing is stepped, and steps go on.
template <class Backend> void refuses_an_overflow_at_scale_1() {
  Trainer<Of<DataParallel<2>, LossScaling>, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  std::vector<float> into(16 * 20, 1e-30F), out_of(10 * 16);
  for (std::size_t i = 0; i < out_of.size(); ++i) out_of[i] = i / 16 % 2 == 0 ? 100.0F : -100.0F;
  trainer.set_parameter("0.weight", into);  // so that gradients overflow, and the loss does not
  trainer.set_parameter("2.weight", out_of);
  for (int s = 0; s < 3; ++s) {  // queued, captured, replayed
    trainer.loss_scale().set_scale(1);
    const std::uint64_t before = trainer.parameter_hash();
    Rows wrong(16, s);
    for (float& x : wrong.inputs) x = 2e38F;
    CHECK(said([&] { trainer.step(wrong.batch()); }).find("[heddle.R02] gradients of step ") == 0);
    CHECK(trainer.parameter_hash() == before);
  }
  CHECK_FALSE(trainer.step(Rows(16).batch()).skipped);
}

/// A loss that overflows while its gradients do not holds a guarded step that scales its loss: what is said of gradients takes nothing back.
template <class Backend> void holds_a_step_whose_loss_alone_overflows() {
  using Far = Plan<Net, MeanSquaredError, SGD, Batch<16>, Grain<2>, DataParallel<2>, Guarded, LossScaling>;
  Trainer<Far, Backend> trainer{{.learning_rate = 1e-3}, Seed{3}};
  const Rows rows(16);
  std::vector<float> targets(16 * 10, 0.0F);
  for (int s = 0; s < 3; ++s) {  // queued, captured, replayed
    const std::uint64_t before = trainer.parameter_hash();
    targets[37] = 1e20F;  // its square is no float; its gradient is, times 65,536
    CHECK(said([&] { trainer.step(examples(rows.inputs, targets, 20)); }).find("[heddle.R02] the loss of step ") == 0);
    CHECK(trainer.parameter_hash() == before);
    targets[37] = 0;
    CHECK_FALSE(trainer.step(examples(rows.inputs, targets, 20)).skipped);
    CHECK(trainer.parameter_hash() != before);
  }
}

/// A norm that is not finite holds the step: it is told, no parameter has changed, and steps go on.
template <class Backend> void holds_a_step_whose_norm_is_not_finite() {
  using Clipped = Of<DataParallel<2>, Clip<GlobalNorm>>;
  Trainer<Clipped, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < 4; ++s) {  // queued, captured, replayed
    const std::uint64_t before = trainer.parameter_hash();
    Rows wrong(16, s);
    for (float& x : wrong.inputs) x *= 1e25F;  // losses stay finite, squares do not
    const std::string words = said([&] { trainer.step(wrong.batch()); });
    CHECK(words.find("[heddle.R02]") == 0);
    CHECK_FALSE(trainer.interrupted());
    CHECK(trainer.parameter_hash() == before);
    trainer.step(Rows(16, s).batch());
    CHECK(trainer.parameter_hash() != before);
  }
}

/// A loss that is not finite, whichever rank has it, holds the step of a guarded plan: it is told, no parameter and no state has changed, and steps
/// go on where they were, also replayed ones.
template <class Backend, class... Parts> void holds_a_step_whose_loss_is_not_finite(Plan<Parts...>*) {
  using Safe = Plan<Parts..., Guarded>;
  Trainer<Safe, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}}, never_saw_it{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<Plan<Parts...>, Backend> plain{{.learning_rate = 1e-2}, Seed{3}};
  for (const bool reports : {true, false})
    for (int s = 0; s < 4; ++s) {  // queued, captured, replayed
      if (!reports) trainer.on_step([](const StepResult&) {}, Every::never());
      for (const std::size_t row : {std::size_t{1}, std::size_t{14}}) {
        const std::uint64_t before = trainer.parameter_hash();
        Rows wrong(16, s);
        wrong.inputs[20 * row + 13] = std::numeric_limits<float>::infinity();
        const std::string words = said([&] { trainer.step(wrong.batch()); });
        CAPTURE(words);
        CHECK(words.find("[heddle.R02] the loss of step " + std::to_string(trainer.steps() + 1) + " is ") == 0);
        CHECK(words.find("The step was made before") == std::string::npos);
        CHECK_FALSE(trainer.interrupted());
        CHECK(trainer.parameter_hash() == before);
      }
      CHECK(trainer.step(Rows(16, s).batch()).step == never_saw_it.step(Rows(16, s).batch()).step);
      plain.step(Rows(16, s).batch());
      CHECK(trainer.parameter_hash() == never_saw_it.parameter_hash());
      CHECK(trainer.parameter_hash() == plain.parameter_hash());  // the bits that they are without the option
    }
}

/// Each n-th call that fails once in a small training is one sentence, nothing hangs, and nothing is left alive. How many were told.
template <class Backend> int tell_each_call_that_fails(int devices, long most, long each) {
  int found = 0;
  for (long n = 1; n < most; n += each) {
    const Cards cards{{.devices = devices}};
    cuda_emulator::fail_call(n);
    const std::string words = said([] {
      Trainer<Of<DataParallel<2>>, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
      for (int s = 0; s < 3; ++s) trainer.step(Rows(16, s).batch());
    });
    CAPTURE(n);
    CAPTURE(cuda_emulator::failed_call());
    CAPTURE(words);
    const auto says = [&](const char* code) { return words.find(code) != std::string::npos; };  // who waits names the rank that is lost, and why
    const bool told = says("[heddle.R36]") || says("[heddle.R14]") || says("[heddle.R37] no card can be seen");
    const bool goes_back = cuda_emulator::failed_call() == "cudaSetDevice";  // to the card that the thread had before: whoever needs one says which
    CHECK((told || goes_back || cuda_emulator::failed_call().empty()));
    found += told ? 1 : 0;
  }
  return found;
}

}  // namespace plans_on_cards
