// SPDX-License-Identifier: MIT
// What the numbered examples share: one network, how it is trained, and rows that set plans side by side.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/report/summary.hpp>
#include <string>
#include <tuple>
#include <vector>

using namespace heddle;

// A model is a type. Derive from Sequential to give it a name: errors then say "Network".
struct Part1 : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU> {};
struct Part2 : Sequential<Linear<500, 500>, ReLU> {};
struct Part3 : Sequential<Linear<500, 10>> {};
struct Network : Sequential<Part1, Part2, Part3> {};

// Another one, of sixteen blocks that are alike: it can be cut into parts of equal work.
struct Deep : Sequential<Linear<20, 128>, Repeat<16, Residual<Linear<128, 128>, ReLU>>, Linear<128, 10>> {};

// A plan is a type as well. If a file compiles, its plans have passed every check. With 8 micro-batches or 8 replicas a device has 16 rows at a time:
// say Grain<16> then.
template <class Policy, class Model = Network> using Training = Plan<Model, CrossEntropy, Adam, Batch<128>, Grain<32>, Policy>;

/// What three epochs of ten steps give.
struct Trained {
  double seconds = 1e9;  ///< of the fastest epoch: the first one warms up, and other programs disturb some
  float loss = 0;        ///< of the last step
  std::vector<float> parameters;

  [[nodiscard]] bool same_bits(const Trained& other) const { return parameters == other.parameters; }
  /// The largest distance of two parameters.
  [[nodiscard]] float apart(const Trained& other) const {
    float most = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) most = std::max(most, std::fabs(parameters[i] - other.parameters[i]));
    return most;
  }
};

template <class ThePlan> using OnThreads = Trainer<ThePlan, CpuThreads>;

/// One epoch of ten steps.
template <class ThePlan> void train(OnThreads<ThePlan>& trainer, const datasets::Dataset& data, int epoch, Trained& result) {
  const auto begin = std::chrono::steady_clock::now();
  for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<ThePlan>()) result.loss = *trainer.step(batch).loss;
  result.seconds = std::min(result.seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  result.parameters.clear();
  for (const std::string& name : trainer.parameter_names())
    for (const float value : trainer.parameter(name)) result.parameters.push_back(value);
}
/// Three epochs of each plan, one plan after the other in each epoch.
template <class... Plans> std::array<Trained, sizeof...(Plans)> train_in_turns() {
  const auto data = datasets::synthetic(Seed{1}, 1280, 20, 10);
  std::tuple<OnThreads<Plans>...> trainers{OnThreads<Plans>{{.learning_rate = 1e-3}, Seed{1}}...};
  std::array<Trained, sizeof...(Plans)> results;
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::size_t i = 0;
    (train<Plans>(std::get<OnThreads<Plans>>(trainers), data, epoch, results[i++]), ...);
  }
  return results;
}
template <class ThePlan> Trained train() { return train_in_turns<ThePlan>()[0]; }

/// Trains a plan and the plan of one device. True if both end with the same parameters, to the last bit, which is said.
template <class ThePlan, class Alone = Training<Single>> bool train_beside_one_device(const char* name) {
  const auto [alone, mine] = train_in_turns<Alone, ThePlan>();
  std::printf("%-18s %.3f s for 10 steps, loss %.2f\n", "one device", alone.seconds, static_cast<double>(alone.loss));
  std::printf("%-18s %.3f s for 10 steps, loss %.2f\n", name, mine.seconds, static_cast<double>(mine.loss));
  std::printf("parameters equal, to the last bit: %s\n", mine.same_bits(alone) ? "yes" : "no");
  return mine.same_bits(alone);
}

/// One row a plan: what is known before it runs. The first row is the heading.
inline void print_costs() { std::printf("%-34s %7s %7s %13s %15s\n", "plan", "devices", "idle", "bytes a step", "bytes of memory"); }
template <class ThePlan> void print_costs(const char* name) {
  std::printf("%-34s %7d %5d %% %13lld %15lld\n", name, devices<ThePlan>, bubble_percent(ThePlan::training),
              static_cast<long long>(traffic<ThePlan>().total().value), static_cast<long long>(peak_memory<ThePlan>().value));
}

/// One line a device: forwards (F), backwards (B) or the two parts of backwards (I, W) with the number of their micro-batch, from the left to the
/// right of a step, if only work takes time. Dots are idle. What is shorter than a 72nd of a step has no letter.
template <class ThePlan> void print_timeline(const char* name) {
  constexpr std::int64_t columns = 72;
  const auto& program = ThePlan::training;
  std::vector<plan_room::WorkWalk::Computed> all(static_cast<std::size_t>(3 * program.chunks * program.batch.total_micro_batches()));
  const std::int64_t step = plan_room::WorkWalk{program}.run(all.data()).step;
  std::printf("%s\n", name);
  for (int d = 0; d < program.roles; ++d) {
    std::string row(columns, '.');
    for (const auto& [role, line, begin, end] : all) {
      if (role != d || line == nullptr) continue;
      const auto first = static_cast<std::size_t>(columns * begin / step);
      const auto width = static_cast<std::size_t>(columns * end / step) - first;
      const std::string label = "FBIW"[static_cast<int>(line->op)] + std::to_string(line->micro_batch);  // the order of ListOp
      row.replace(first, width, (label + std::string(columns, '-')).substr(0, width));
    }
    std::printf("  device %d  %s\n", d, row.c_str());
  }
}
