// SPDX-License-Identifier: MIT
// A row for a plan on cards: against the same plan on threads of the host, and how long a step takes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

namespace plans_on_cards {

using namespace heddle;

inline int wrong = 0;
inline const char* verdict(bool holds) {
  if (!holds) ++wrong;
  return holds ? "yes" : "NO";
}
template <class Work> double seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Block : Residual<LayerNorm<64>, Linear<64, 128>, GELU, Linear<128, 64>> {};
struct Deep : Sequential<Linear<40, 64>, Repeat<4, Block>, Linear<64, 10>> {};
template <class... Parts> using Of = Plan<Deep, CrossEntropy, AdamW, Batch<64>, Grain<8>, Parts...>;

inline std::uint64_t hash_of_one = 0;

/// Eight steps of a Backend on cards, and on the host. Under a Grain, replicas, slices and stages should have the bits of one device.
template <class ThePlan, class Backend> void row(const char* name, bool same_bits = true) {
  try {
    std::vector<float> x(64 * 40);
    std::vector<std::int32_t> y(64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((37 * i) % 127) / 128.0F;
    for (int i = 0; i < 64; ++i) y[static_cast<std::size_t>(i)] = (7 * i + 3) % 10;
    Trainer<ThePlan, Backend> card{{.learning_rate = 1e-2}, Seed{3}};
    Trainer<ThePlan, CpuThreads> host{{.learning_rate = 1e-2}, Seed{3}};
    double far = 0;
    for (int s = 0; s < 8; ++s) {
      const float there = card.step(examples(x, y, 40)).loss.value(), here = host.step(examples(x, y, 40)).loss.value();
      far = std::max(far, std::abs(static_cast<double>(there) - static_cast<double>(here)));
    }
    const std::uint64_t hash = card.parameter_hash();
    if (hash_of_one == 0) hash_of_one = hash;
    const double time = seconds([&] {
      for (int s = 0; s < 50; ++s) card.step(examples(x, y, 40));
    });
    std::printf("| %s | %d | %.1e | %s | %s | %.0f |\n", name, devices<ThePlan>, far, verdict(far < 1e-3),
                same_bits ? verdict(hash == hash_of_one) : "not promised", time / 50 * 1e6);
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("| %s | %d | %s | NO | | |\n", name, devices<ThePlan>, error.what());
  }
}

}  // namespace plans_on_cards
