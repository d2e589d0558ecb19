// SPDX-License-Identifier: MIT
// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/on_cards/own_parts.cu -lcublasLt
// -o own_parts && ./own_parts
//
// A layer of two functions, a layer with a kernel, a loss and an optimizer of one's own, which own_parts.hpp has. They train on the cores and on a
// card.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/backend/cuda_one_card.hpp>
#include <heddle/heddle.hpp>
#include <vector>

#include "own_parts.hpp"

struct Curve : Sequential<Linear<1, 32>, Swish, Linear<32, 16>, UnitLength, Linear<16, 1>> {};
template <class Policy> using Training = Plan<Curve, LogCosh, SoftSign, Batch<64>, Grain<16>, Policy>;

/// The loss after 50 steps, and the bits of the parameters.
struct End {
  double loss;
  std::uint64_t bits;
};
template <class ThePlan, class Backend> End train(const std::vector<float>& inputs, const std::vector<float>& targets) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{1}};
  double loss = 0;
  for (int s = 0; s < 50; ++s) loss = trainer.step(examples(inputs, targets, /*features*/ 1)).loss.value();
  return {loss, trainer.parameter_hash()};
}

int main() {
  return run_main([] {
    std::vector<float> inputs(64), targets(64);
    for (std::size_t i = 0; i < 64; ++i) {
      inputs[i] = static_cast<float>(i) / 32 - 1;
      targets[i] = std::sin(3 * inputs[i]);
    }
    const End cores = train<Training<Single>, CpuThreads>(inputs, targets), card = train<Training<Single>, CudaOneCard>(inputs, targets);
    const End spread = train<Training<DataParallel<4>>, CudaOneCard>(inputs, targets);
    std::printf("loss after 50 steps: %.2f on the cores, %.2f on a card\n", cores.loss, card.loss);
    std::printf("within a thousandth: %s; four devices of a card have the bits of one: %s\n", std::fabs(cores.loss - card.loss) < 1e-3 ? "yes" : "NO",
                spread.bits == card.bits ? "yes" : "NO");
  });
}
