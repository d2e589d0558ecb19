// SPDX-License-Identifier: MIT
// What the benchmarks share: the workloads of docs/performance.md, one batch for each, a clock, and a line on stderr that tells how far a program is.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace bench {

using namespace heddle;

struct Wide : Sequential<Linear<1000, 2000>, ReLU, Linear<2000, 1000>> {};
struct Digits : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};  // the network of ./heddle train
struct Small : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU, Linear<500, 10>> {};

struct Attending : Residual<LayerNorm<256>, Linear<256, 768>, SelfAttention<Heads<8>, Causal>, Linear<256, 256>> {};
struct Feeding : Residual<LayerNorm<256>, Linear<256, 1024>, GELU, Linear<1024, 256>> {};
struct Gpt : Sequential<Input<128>, Embedding<1024, 256>, LearnedPositions<128, 256>, Repeat<4, Sequential<Attending, Feeding>>, LayerNorm<256>,
                        Linear<256, 1024, NoBias>> {};
template <int In, int Out> using Convolution = Sequential<Conv2d<In, Out, KernelSize<3>, Padding<1>>, ReLU, MaxPool2d<KernelSize<2>>>;
struct Pictures : Sequential<Input<1, 28, 28>, Convolution<1, 32>, Convolution<32, 64>, Flatten, Linear<3136, 128>, ReLU, Linear<128, 10>> {};

template <class Policy> using WorkA = Plan<Wide, MeanSquaredError, SGD, Batch<64>, Policy>;
template <class Policy> using WorkB = Plan<Digits, CrossEntropy, Adam, Batch<64>, Policy>;
template <class Policy> using WorkC = Plan<Small, CrossEntropy, SGD, Batch<128>, Policy>;
template <class Policy> using WorkD = Plan<Gpt, CrossEntropy, AdamW, Batch<8>, Policy>;
template <class Policy> using WorkE = Plan<Pictures, CrossEntropy, Adam, Batch<64>, Policy>;
template <class Policy> using WorkM = Plan<Digits, CrossEntropy, Adam, Batch<256>, Policy>;

using TwoStages = Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>;
using TwoStagesOfFour = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;

inline double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The middle one, of a copy.
inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// One batch of normal inputs, or token ids, with labels or normal targets, used in every step as the peers do.
template <class ThePlan> struct OneBatch {
  using Request = typename ThePlan::Request;
  using Target = typename Request::Loss::Target;
  using Input = run_room::InputOf<Request>;
  std::vector<Input> inputs;
  std::vector<Target> targets;

  OneBatch() {
    constexpr std::int64_t rows = Request::batch.batch;
    std::mt19937 generator(0);
    std::normal_distribution<float> normal(0, 1);
    inputs.resize(static_cast<std::size_t>(rows * Request::graph.input.elements()));
    for (Input& x : inputs) {
      if constexpr (std::is_same_v<Input, float>)
        x = normal(generator);
      else
        x = static_cast<Input>(generator() % static_cast<unsigned>(Request::graph.leaf(1).vocabulary));
    }
    targets.resize(static_cast<std::size_t>(rows * Request::target_features));
    for (Target& y : targets) {
      if constexpr (std::is_same_v<Target, float>)
        y = normal(generator);
      else
        y = static_cast<Target>(generator() % static_cast<unsigned>(Request::graph.output().shape.last()));
    }
  }
  [[nodiscard]] Examples<Target, Input> examples() const {
    if constexpr (std::is_same_v<Target, float>)
      return heddle::examples(inputs, targets, Request::graph.input.elements());
    else
      return heddle::examples(inputs, targets, Request::graph.input.elements(), Request::target_features);
  }
};

/// A trainer that reports nothing, so that its work is that of the steps alone.
template <class ThePlan, class Backend = CpuThreads> struct Stepping {
  OneBatch<ThePlan> batch;
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-3}, Seed{1}};

  Stepping() { trainer.on_step({}, Every::never()); }
  void step() { trainer.step(batch.examples()); }
  /// One step outside the clock, which fills the caches with what this plan reads.
  double seconds_per_step(int steps) {
    step();
    const double start = seconds();
    for (int i = 0; i < steps; ++i) step();
    return (seconds() - start) / steps;
  }
};

/// How far a program is, on stderr: one line that is written over on a terminal, elsewhere a line for each stage.
class Progress {
 public:
  explicit Progress(const char* program) : program_(program), terminal_(isatty(STDERR_FILENO) == 1) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void stage(const std::string& what) {
    stage_ = what;
    if (terminal_)
      show(stage_);
    else
      std::fprintf(stderr, "%s: %s\n", program_, what.c_str());
  }
  void round(int number, int rounds) {
    if (terminal_) show(stage_ + ", round " + std::to_string(number) + " of " + std::to_string(rounds));
  }
  /// Before a line of the result is printed.
  void clear() const {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

 private:
  void show(const std::string& what) const {
    std::fprintf(stderr, "\r\033[K%s: %s", program_, what.c_str());
    std::fflush(stderr);
  }
  const char* program_;
  bool terminal_;
  std::string stage_;
};

}  // namespace bench
