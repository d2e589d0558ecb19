// SPDX-License-Identifier: MIT
// GPT-2's smallest model as a plan, and a row for steps of it on a card: losses, time, rates, memory.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "gpt2_model.hpp"
#include "plans.hpp"

namespace plans_on_cards {

inline void gpt2_head() {
  std::printf(
      "\n| GPT-2 124M, 1024 tokens a row | loss of the first step | near ln 50304 = 10.83 | loss after 13 steps of one batch | below it | "
      "ms a step | tokens/s | TFLOP/s by 6 N + 12 L C T | MFU of 989.5 TFLOP/s | arena, GiB |\n|---|---|---|---|---|---|---|---|---|---|\n");
}
/// One device, 13 steps of one batch, of which the last ten are timed.
template <int Rows, class Backend, class... Parts> void gpt2_row(const char* name) {
  using ThePlan = Plan<Gpt2, CrossEntropy, AdamW, Batch<Rows>, Single, Parts...>;
  constexpr int timed = 10;
  constexpr std::int64_t tokens = Rows * std::int64_t{1024};
  try {
    std::vector<std::int32_t> ids(tokens), next(tokens);
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((7919 * i + i / 3) % 50'257);
    for (std::size_t i = 0; i < ids.size(); ++i) next[i] = ids[(i + 1) % ids.size()];
    Trainer<ThePlan, Backend> card{{.learning_rate = 3e-4}, Seed{1}};
    const auto step = [&] { return card.step(examples(ids, next, 1024, 1024)).loss.value(); };
    const float first = step();
    for (int s = 0; s < 2; ++s) step();
    float last = 0;
    const double time = seconds([&] {
      for (int s = 0; s < timed; ++s) last = step();
    });
    const double rate = timed * tokens / time, flops = rate * (6.0 * gpt2_parameters + 12.0 * 12 * 768 * 1024);
    std::printf("| %s | %.3f | %s | %.3f | %s | %.1f | %.0f | %.1f | %.1f %% | %.2f |\n", name, static_cast<double>(first),
                verdict(std::abs(first - 10.83F) < 0.3F), static_cast<double>(last), verdict(last < first), time / timed * 1e3, rate, flops / 1e12,
                flops / 989.5e12 * 100, static_cast<double>(peak_memory<ThePlan>().value) / (1 << 30));
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("| %s | %s | NO | | | | | | | |\n", name, error.what());
  }
  std::fflush(stdout);
}

}  // namespace plans_on_cards
