// SPDX-License-Identifier: MIT
// What Mixed<BFloat16> saves and costs on a CPU: memory of one device, what it has beside its arena, and time of a step of a stack of MLP blocks. The
// plans take turns, and times are the best of their rounds. usage: mixed [ROUNDS]
#include <cstdio>
#include <cstdlib>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run/external_memory.hpp>
#include <span>
#include <vector>

#include "workloads.hpp"

using namespace heddle;

namespace {

struct Block : Residual<LayerNorm<256>, Linear<256, 1024>, GELU, Linear<1024, 256>> {};
struct Stack : Sequential<Linear<256, 256>, Repeat<12, Block>, Linear<256, 10>> {};
template <class... Options> using Training = Plan<Stack, CrossEntropy, AdamW, Batch<512>, Single, Options...>;

template <class P> struct Runs {
  const char* name;
  Trainer<P, CpuThreads> trainer{{.learning_rate = 1e-4}, Seed{1}};
  double best = 1e300;
  float loss = 0;

  void run(const Examples<std::int32_t>& batch) {
    const double start = bench::seconds();
    loss = trainer.step(batch).loss.value();
    if (const double took = bench::seconds() - start; took < best) best = took;
  }
  void print(double floats) const {
    const auto mib = [](std::int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
    std::printf("%-36s %12.1f %10.1f %12.1f %8.2f %8.4f\n", name, mib(P::training.arenas[0].value_bytes()), mib(peak_memory<P>().value),
                mib(run_room::external_memory<P, CpuThreads>().value), best / floats, static_cast<double>(loss));
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
  Runs<Training<>> floats{"float32"};
  Runs<Training<Mixed<BFloat16>>> mixed{"Mixed<BFloat16>"};
  Runs<Training<Mixed<BFloat16>, Recompute<EveryBlock>>> both{"Mixed<BFloat16>, Recompute<EveryBlock>"};
  bench::Progress progress("mixed");
  progress.stage(std::to_string(rounds) + " rounds of three plans");
  for (int round = 0; round < rounds; ++round) {
    progress.round(round + 1, rounds);
    floats.run(batch);
    mixed.run(batch);
    both.run(batch);
  }
  progress.clear();
  std::printf("%-36s %12s %10s %12s %8s %8s\n", "", "values [MiB]", "all [MiB]", "beside [MiB]", "time", "loss");
  floats.print(floats.best);
  mixed.print(floats.best);
  both.print(floats.best);
  return mixed.trainer.parameter_hash() == both.trainer.parameter_hash() ? 0 : 1;
}
