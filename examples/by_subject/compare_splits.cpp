// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/compare_splits.cpp -pthread -o compare_splits && ./compare_splits
// One classifier of images under eight plans: what each split costs in time, memory and messages, and whether it trains the same parameters.
// Devices are threads here. More devices than cores share the cores, so seconds say something only up to the number of cores.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <optional>
using namespace heddle;

struct Classifier : Sequential<Input<28, 28>, Flatten, Linear<28 * 28, 256>, ReLU, Linear<256, 256>, ReLU, Linear<256, 10>> {};

template <class Policy, class... Options> using Of = Plan<Classifier, CrossEntropy, Adam, Batch<64>, Policy, Options...>;
template <int Stages, int M> using Staged = Pipeline<Balanced<Stages>, OneFOneB, Microbatches<M>>;

struct Trained {
  double seconds;  // of the fastest pass: other programs on the machine disturb it least
  double loss;
  std::uint64_t parameters;  // a hash of all of them
};

/// Three passes over the images, timed each; the evaluation is on other images of the same kind.
template <class ThePlan> Trained train(const datasets::Dataset& images, const datasets::Dataset& others) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 3e-4}, Seed{1}};
  double seconds = 1e9;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto start = std::chrono::steady_clock::now();
    for (const auto& batch : images.shuffled(Seed{1}, epoch).template batches<ThePlan>()) trainer.step(batch);
    seconds = std::min(seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  const double loss = trainer.evaluate(others.all()).loss;
  return {seconds, loss, trainer.parameter_hash()};
}

template <class Policy>
void compare(const char* name, std::optional<std::uint64_t>& alone, const datasets::Dataset& images, const datasets::Dataset& others) {
  using ThePlan = Of<Policy, Grain<16>>;  // sums of 16 rows: equal bits, for more copies of gradients where a device has several of them
  constexpr Bytes of_bits = peak_memory<ThePlan>() - peak_memory<Of<Policy>>();
  const Trained mine = train<ThePlan>(images, others);
  if (!alone) alone = mine.parameters;
  std::printf("%-36s %7d %8.3f %8.1f %8.1f %12.1f %5d %%  %6.2f  %s\n", name, devices<ThePlan>, mine.seconds,
              static_cast<double>(peak_memory<ThePlan>().value) / 1024, static_cast<double>(of_bits.value) / 1024,
              static_cast<double>(traffic<ThePlan>().total().value) / 1024, static_cast<int>(bubble_percent(ThePlan::training)), mine.loss,
              mine.parameters == alone ? "equal bits" : "rounded otherwise");
}

int main() {
  return run_main([] {
    const auto images = datasets::synthetic(Seed{1}, 640, 28 * 28, 10);
    const auto others = datasets::synthetic(Seed{1}, 320, 28 * 28, 10, datasets::DataSplit::test);
    std::optional<std::uint64_t> alone;  // the parameters of the first plan
    std::printf("%-36s %7s %8s %8s %8s %12s %7s  %6s  %s\n", "policy", "devices", "seconds", "KiB", "for bits", "KiB a step", "idle", "loss",
                "parameters");
    compare<Single>("Single", alone, images, others);
    compare<Staged<2, 4>>("Pipeline, 2 stages", alone, images, others);
    compare<Staged<3, 4>>("Pipeline, 3 stages", alone, images, others);
    compare<DataParallel<2>>("DataParallel<2>", alone, images, others);
    compare<DataParallel<4>>("DataParallel<4>", alone, images, others);
    compare<Sharded<2>>("Sharded<2>", alone, images, others);
    compare<TensorParallel<2>>("TensorParallel<2>", alone, images, others);
    compare<Hybrid<Staged<2, 2>, DataParallel<2>>>("Pipeline, 2 stages x DataParallel<2>", alone, images, others);
  });
}
