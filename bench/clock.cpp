// SPDX-License-Identifier: MIT
// How long the clock itself takes: the lowering of large plans while this program runs, then simulate() and predict() of a step on nodes of H100,
// each the best of 5. Ranks that do the same are walked once; a straggler makes every rank a device of its own.
// usage: clock
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <heddle/cost/predict.hpp>
#include <heddle/cost/presets.hpp>
#include <heddle/heddle.hpp>
#include <heddle/plan/lowered.hpp>

using namespace heddle;
using namespace heddle::extending;

namespace {

// As wide and deep as Llama 3 405B, with blocks of two products; tensor 8, stages 16, replicas from the inside, as in sources.md#llama3.
struct Block : Residual<Linear<16384, 4 * 16384>, GELU, Linear<4 * 16384, 16384>> {};
struct Wide : Sequential<Input<8192>, Embedding<128256, 16384>, Repeat<126, Block>, Linear<16384, 128256, NoBias>> {};
template <int Replicas, int MicroBatches>
using Of = Plan<Wide, CrossEntropy, Adam, Batch<Replicas * MicroBatches>,
                Hybrid<TensorParallel<8>, Pipeline<Balanced<16>, OneFOneB, Microbatches<MicroBatches>>, DataParallel<Replicas>>>;

template <class Work> double best_of_five(Work work) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return best;
}

template <class ThePlan> void row() {
  const auto begin = std::chrono::steady_clock::now();
  const LoweredPlan plan = lower(request_of<plan_room::RequestOf<ThePlan>>());
  const double lowering = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const auto& p = plan.training();
  Machine even = h100_nodes();
  even.memory = Bytes{};  // whether the plan fits is not asked: float32 throughout does not
  const Machine uneven = with_speed(even, 5, 5, 0.8);
  double step = 0, with_straggler = 0;
  const double roles = best_of_five([&] { step = simulate(p, even).step.value; });
  const double events = best_of_five([&] { step = predict(p, even).estimate.step.value; });
  const double ranks = best_of_five([&] { with_straggler = simulate(p, uneven).step.value; });
  std::printf("%8d %14d %12.3f %12.4f %12.4f %14.3f %10.2f %16.2f\n", p.mesh.ranks(), p.batch.total_micro_batches(), lowering, roles, events, ranks,
              step, with_straggler);
}

}  // namespace

int main() {
  std::printf("%8s %14s %12s %12s %12s %14s %10s %16s\n", "devices", "micro-batches", "lowering s", "simulate s", "predict s", "by rank s", "step s",
              "with straggler s");
  row<Of<1, 16>>();
  row<Of<8, 32>>();
  row<Of<128, 32>>();
  row<Of<128, 64>>();
}
