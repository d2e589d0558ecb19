// SPDX-License-Identifier: MIT
// What Recompute costs and saves: memory of one device and time of a step of a stack of MLP blocks, everything kept, GELU run again, blocks run
// again. The plans take turns, and times are the best of their rounds. usage: recompute [ROUNDS]
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <vector>

#include "workloads.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Block : Residual<Linear<256, 1024>, GELU, Linear<1024, 256>> {};
struct Stack : Sequential<Linear<256, 256>, Repeat<12, Block>, Linear<256, 10>> {};
template <class... Options> using Training = Plan<Stack, CrossEntropy, SGD, Batch<512>, Single, Options...>;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class P> struct Runs {
  const char* name;
  Trainer<P, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  double best = 1e300;

  void run(const Examples<std::int32_t>& batch) {
    trainer.on_step({}, Every::never());
    const double start = seconds();
    trainer.step(batch);
    if (const double took = seconds() - start; took < best) best = took;
  }
  void print(double kept, std::int64_t flops_kept) const {
    const auto& map = P::training.arenas[0];
    const std::int64_t more = 512 * flops_run_again(P::training).value;
    std::printf("%-22s %14.1f %12.1f %10.2f %12.2f\n", name, static_cast<double>(map.value_bytes()) / (1 << 20),
                static_cast<double>(peak_memory<P>().value) / (1 << 20), best / kept,
                1 + static_cast<double>(more) / static_cast<double>(flops_kept));
  }
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  std::vector<float> inputs(512 * 256);
  std::vector<std::int32_t> labels(512);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i * 37 % 127) / 128.0F;
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 10);
  const auto batch = examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 256);
  Runs<Training<>> kept{"everything kept"};
  Runs<Training<Recompute<GELU>>> gelu{"Recompute<GELU>"};
  Runs<Training<Recompute<EveryBlock>>> blocks{"Recompute<EveryBlock>"};
  bench::Progress progress("recompute");
  progress.stage(std::to_string(rounds) + " rounds of three plans");
  for (int round = 0; round < rounds; ++round) {
    progress.round(round + 1, rounds);
    kept.run(batch);
    gelu.run(batch);
    blocks.run(batch);
  }
  progress.clear();
  std::printf("%-22s %14s %12s %10s %12s\n", "", "values [MiB]", "all [MiB]", "time", "operations");
  const std::int64_t flops_kept = 512 * flops<Stack>.value;
  kept.print(kept.best, flops_kept);
  gelu.print(kept.best, flops_kept);
  blocks.print(kept.best, flops_kept);
  return kept.trainer.parameter_hash() == blocks.trainer.parameter_hash() && kept.trainer.parameter_hash() == gelu.trainer.parameter_hash() ? 0 : 1;
}
