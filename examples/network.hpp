// SPDX-License-Identifier: MIT
// What the numbered examples share: one network, how it is trained, and rows that set plans side by side.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/report/summary.hpp>
#include <string>
#include <vector>

using namespace heddle;

// A model is a type. Derive from Sequential to give it a name: errors then say "Network".
struct Part1 : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU> {};
struct Part2 : Sequential<Linear<500, 500>, ReLU> {};
struct Part3 : Sequential<Linear<500, 10>> {};
struct Network : Sequential<Part1, Part2, Part3> {};

// A plan is a type as well. If a file compiles, its plans have passed every check.
template <class Policy, class Model = Network> using Training = Plan<Model, CrossEntropy, Adam, Batch<128>, Grain<32>, Policy>;

/// What three epochs of ten steps give.
struct Trained {
  double seconds = 0;
  float loss = 0;  ///< of the last step
  std::vector<float> parameters;

  [[nodiscard]] bool same_bits(const Trained& other) const { return parameters == other.parameters; }
  /// The largest distance of two parameters.
  [[nodiscard]] float apart(const Trained& other) const {
    float most = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) most = std::max(most, std::fabs(parameters[i] - other.parameters[i]));
    return most;
  }
};

template <class ThePlan> Trained train() {
  const Dataset data = synthetic(Seed{1}, 1280, 20, 10);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  Trained result;
  const auto begin = std::chrono::steady_clock::now();
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<ThePlan>()) result.loss = *trainer.step(batch).loss;
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const std::string& name : trainer.parameter_names())
    for (const float value : trainer.parameter(name)) result.parameters.push_back(value);
  return result;
}

/// Trains a plan and the plan of one device. True if both end with the same parameters, to the last bit, which is said.
template <class ThePlan, class Alone = Training<Single>> bool train_beside_one_device(const char* name) {
  const Trained alone = train<Alone>();
  const Trained mine = train<ThePlan>();
  std::printf("%-18s %.3f s for 30 steps, loss %.2f\n", "one device", alone.seconds, static_cast<double>(alone.loss));
  std::printf("%-18s %.3f s for 30 steps, loss %.2f\n", name, mine.seconds, static_cast<double>(mine.loss));
  std::printf("parameters equal, to the last bit: %s\n", mine.same_bits(alone) ? "yes" : "no");
  return mine.same_bits(alone);
}

/// One row a plan: what is known before it runs. The first row is the heading.
inline void print_costs() { std::printf("%-34s %7s %7s %13s %15s\n", "plan", "devices", "idle", "bytes a step", "bytes of memory"); }
template <class ThePlan> void print_costs(const char* name) {
  std::printf("%-34s %7d %5d %% %13lld %15lld\n", name, devices<ThePlan>, bubble_percent(ThePlan::training),
              static_cast<long long>(traffic<ThePlan>().total().value), static_cast<long long>(peak_memory<ThePlan>().value));
}
