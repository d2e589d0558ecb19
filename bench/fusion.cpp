// SPDX-License-Identifier: MIT
// Steps of plans whose entries run at once where kernels can, against the same Programs with each entry by itself.
// Each line: best of interleaved rounds of both, and how they compare (above 1: fused is ahead). No bit differs, and that is checked. Usage: fusion
// [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

namespace {

using namespace heddle;
using namespace heddle::extending;

/// Kernels that derive from others say nothing of tails or sums, so each entry runs by itself.
struct Apart : EigenCompute {};

}  // namespace

template <std::int64_t In, std::int64_t Out, class Bias>
struct heddle::Kernel<Linear<In, Out, Bias>, Apart> : Kernel<Linear<In, Out, Bias>, EigenCompute> {};
template <std::int64_t Features, class... Options>
struct heddle::Kernel<LayerNorm<Features, Options...>, Apart> : Kernel<LayerNorm<Features, Options...>, EigenCompute> {};

namespace {

struct ApartThreads : CpuThreads {
  using Compute = Apart;
};

template <class Function> struct Deep : Sequential<Linear<784, 1024>, Function, Linear<1024, 1024>, Function, Linear<1024, 10>> {};
struct Narrow : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Block = Residual<LayerNorm<256>, Linear<256, 1024>, GELU, Linear<1024, 256>>;
struct Blocks : Sequential<Linear<784, 256>, Repeat<6, Block>, LayerNorm<256>, Linear<256, 10>> {};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Model, int Rows> void compare(const char* name, int rounds) {
  using P = Plan<Model, CrossEntropy, SGD, Batch<Rows>, Single>;
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < Rows; ++i) {
    for (int j = 0; j < 784; ++j) inputs.push_back(static_cast<float>((37 * i + 101 * j + i * j) % 127 - 60) / 64.0F);
    labels.push_back((7 * i + 3) % 10);
  }
  const auto batch = examples(inputs, labels, 784);
  Trainer<P, CpuThreads> fused{{.learning_rate = 1e-3}, Seed{1}};
  Trainer<P, ApartThreads> apart{{.learning_rate = 1e-3}, Seed{1}};
  const auto time = [&](auto& trainer, int steps) {
    const double start = seconds();
    for (int i = 0; i < steps; ++i) trainer.step(batch);
    return (seconds() - start) / steps;
  };
  time(apart, 1);
  const int steps = std::max(1, static_cast<int>(20e-3 / time(fused, 2)));
  time(apart, 1);
  double best_fused = 1e9, best_apart = 1e9;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const double a = time(fused, steps), b = time(apart, steps);
    best_fused = std::min(best_fused, a);
    best_apart = std::min(best_apart, b);
    ratios.push_back(b / a);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-42s fused %9.1f us  apart %9.1f us  best %.3f  median %.3f%s\n", name, best_fused * 1e6, best_apart * 1e6, best_apart / best_fused,
              ratios[ratios.size() / 2], fused.parameter_hash() == apart.parameter_hash() ? "" : "  BITS DIFFER");
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 15;
  compare<Narrow, 64>("784-50-10, ReLU, batch 64", rounds);
  compare<Deep<ReLU>, 64>("784-1024-1024-10, ReLU, batch 64", rounds);
  compare<Deep<ReLU>, 1024>("784-1024-1024-10, ReLU, batch 1024", rounds);
  compare<Deep<GELU>, 1024>("784-1024-1024-10, GELU, batch 1024", rounds);
  compare<Blocks, 256>("6 blocks of 256-1024-256, GELU, batch 256", rounds);
  return 0;
}
