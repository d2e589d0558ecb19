// SPDX-License-Identifier: MIT
// GPT-2's smallest model as a plan, and a row for steps of it on a card: losses, time, rates, memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "gpt2_model.hpp"
#include "plans.hpp"

namespace plans_on_cards {

/// What a GPT's table and head, which are one, begin with in the place of N(0, 1): it is as PyTorch's model in peers.py has it.
inline constexpr double gpt_deviation = 0.02;
/// The loss of a model that knows nothing: a head of N(0, 0.02) over what a norm leaves, of `width` features, makes logits of variance width x
/// 0.02^2, so it is ln words + width x 0.02^2 / 2. GPT-2 begins with 10.98, where ln 50304 = 10.83.
inline double first_loss(std::int64_t words, std::int64_t width) {
  return std::log(static_cast<double>(words)) + static_cast<double>(width) * gpt_deviation * gpt_deviation / 2;
}
template <class Trained> void begin_as_gpt2(Trained& trainer) {
  for (const char* table : {"wte.weight", "wpe.weight"}) {
    std::vector<float> values = trainer.parameter(table);
    for (float& value : values) value *= static_cast<float>(gpt_deviation);
    trainer.set_parameter(table, values);
  }
}

inline void gpt2_head() {
  std::printf(
      "\n| GPT-2 124M, 1024 tokens a row | loss of the first step | within 0.3 of %.2f | loss after 13 steps of one batch | below it | "
      "ms a step | tokens/s | TFLOP/s by 6 N + 12 L C T | MFU of 989.5 TFLOP/s | arena, GiB |\n|---|---|---|---|---|---|---|---|---|---|\n",
      first_loss(50'304, 768));
}
/// What trainers of these rows have found the fastest, each sentence once.
inline std::vector<std::string>& chosen() {
  static std::vector<std::string> sentences;
  return sentences;
}
/// One device, 13 steps of one batch, of which the last ten are timed. `blocks` of Model stand between its table and its head.
template <class Model, int Rows, class Backend, class... Parts> void gpt_row(const char* name, int blocks) {
  using ThePlan = Plan<Model, CrossEntropy, AdamW, Batch<Rows>, Single, Parts...>;
  constexpr int timed = 10;
  try {
    Trainer<ThePlan, Backend> card{{.learning_rate = 3e-4}, Seed{1}};
    begin_as_gpt2(card);
    if constexpr (requires { card.session().layers_of_library(); })  // not on the cores, where a test has these rows
      for (std::string& said : card.session().layers_of_library())
        if (std::find(chosen().begin(), chosen().end(), said) == chosen().end()) chosen().push_back(std::move(said));
    const Shape table = card.parameter_shape("wte.weight"), places = card.parameter_shape("wpe.weight");
    const std::int64_t positions = places.sizes[0], width = table.sizes[1], tokens = Rows * positions;
    const auto words = static_cast<std::size_t>(table.sizes[0]);
    std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens)), next(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((7919 * i + i / 3) % words);
    for (std::size_t i = 0; i < ids.size(); ++i) next[i] = ids[(i + 1) % ids.size()];
    const auto step = [&] { return card.step(examples(ids, next, positions, positions)).loss.value(); };
    const float first = step();
    for (int s = 0; s < 2; ++s) step();
    float last = 0;
    const double time = seconds([&] {
      for (int s = 0; s < timed; ++s) last = step();
    });
    const double rate = static_cast<double>(timed * tokens) / time;
    const double flops = rate * (6.0 * static_cast<double>(parameters<Model>) + 12.0 * static_cast<double>(blocks * width * positions));
    std::printf("| %s | %.3f | %s | %.3f | %s | %.1f | %.0f | %.1f | %.1f %% | %.2f |\n", name, static_cast<double>(first),
                verdict(std::abs(static_cast<double>(first) - first_loss(table.sizes[0], width)) < 0.3), static_cast<double>(last),
                verdict(last < first), time / timed * 1e3, rate, flops / 1e12, flops / 989.5e12 * 100,
                static_cast<double>(peak_memory<ThePlan>().value) / (1 << 30));
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("| %s | %s | NO | | | | | | | |\n", name, error.what());
  }
  std::fflush(stdout);
}
template <int Rows, class Backend, class... Parts> void gpt2_row(const char* name) { gpt_row<Gpt2, Rows, Backend, Parts...>(name, 12); }

}  // namespace plans_on_cards
