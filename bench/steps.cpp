// SPDX-License-Identifier: MIT
// Training steps of workloads a, b and c, measured as the peers of bench/peers.py measure theirs: medians of nine groups over about 1.5 s.
// One thread is Single, two are DataParallel<2> and, in rows of their own, a pipeline of two stages.
// usage: steps THREADS [a] [b] [c]; prints `heddle THREADS WORKLOAD MICROSECONDS_PER_STEP`
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <random>
#include <string_view>
#include <type_traits>
#include <vector>

using namespace heddle;

namespace {

struct Wide : Sequential<Linear<1000, 2000>, ReLU, Linear<2000, 1000>> {};
struct Digits : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
struct Small : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU, Linear<500, 10>> {};

template <class Policy> using WorkA = Plan<Wide, MeanSquaredError, SGD, Batch<64>, Policy>;
template <class Policy> using WorkB = Plan<Digits, CrossEntropy, Adam, Batch<64>, Policy>;
template <class Policy> using WorkC = Plan<Small, CrossEntropy, SGD, Batch<128>, Policy>;
using TwoStages = Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Step> double microseconds_per_step(const Step& step) {
  for (int i = 0; i < 3; ++i) step();
  double start = seconds();
  step();
  const int steps = std::max(1, static_cast<int>(1.5 / 9 / (seconds() - start)));
  std::vector<double> groups;
  for (int g = 0; g < 9; ++g) {
    start = seconds();
    for (int i = 0; i < steps; ++i) step();
    groups.push_back((seconds() - start) / steps);
  }
  std::sort(groups.begin(), groups.end());
  return groups[4] * 1e6;
}

/// One batch of normal inputs with labels or normal targets, used in every step as the peers do.
template <class ThePlan> void measure(const char* name, int threads, char workload) {
  using Request = typename ThePlan::Request;
  using Target = typename Request::Loss::Target;
  constexpr std::int64_t rows = Request::batch.batch;
  std::mt19937 generator(0);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> inputs(static_cast<std::size_t>(rows * Request::graph.input.elements()));
  for (float& x : inputs) x = normal(generator);
  std::vector<Target> targets(static_cast<std::size_t>(rows * Request::target_features));
  for (Target& y : targets) {
    if constexpr (std::is_same_v<Target, float>)
      y = normal(generator);
    else
      y = static_cast<Target>(generator() % static_cast<unsigned>(Request::graph.output().elements()));
  }
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  trainer.on_step({}, Every::never());  // its work is that of the steps alone
  const auto batch = examples(inputs, targets, Request::graph.input.elements());
  std::printf("%s %d %c %.1f\n", name, threads, workload, microseconds_per_step([&] { trainer.step(batch); }));
  std::fflush(stdout);
}

template <template <class> class Workload> void measure_all(int threads, char workload) {
  if (threads == 1) return measure<Workload<Single>>("heddle", 1, workload);
  measure<Workload<DataParallel<2>>>("heddle", 2, workload);
  measure<Workload<TwoStages>>("heddle-pipeline", 2, workload);
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 0;
  if (threads < 1 || threads > 2) {
    std::fprintf(stderr, "steps: the number of threads is 1 or 2. Fix: bench_steps 1 a b c.\n");
    return 2;
  }
  for (int i = 2; i < std::max(count, 3); ++i)
    for (const char workload : std::string_view{count > 2 ? arguments[i] : "abc"}) {
      if (workload == 'a')
        measure_all<WorkA>(threads, workload);
      else if (workload == 'b')
        measure_all<WorkB>(threads, workload);
      else if (workload == 'c')
        measure_all<WorkC>(threads, workload);
      else {
        std::fprintf(stderr, "steps: no workload '%c'. Fix: name a, b or c.\n", workload);
        return 2;
      }
    }
}
