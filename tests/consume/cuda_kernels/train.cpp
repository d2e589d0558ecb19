// SPDX-License-Identifier: MIT
// Trains two stages on threads and, where there is a card, on one card; the losses are to be close.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/backend/cuda_one_card.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

using namespace heddle;

struct Net : Sequential<Linear<16, 32>, GELU, LayerNorm<32>, Linear<32, 4>> {};
using Training = Plan<Net, CrossEntropy, AdamW, Batch<32>, Pipeline<Balanced<2>>>;

template <class Backend> std::vector<float> losses() {
  Trainer<Training, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  const datasets::Dataset data = datasets::synthetic(Seed{5}, 160, 16, 4);
  std::vector<float> all;
  for (const auto& batch : data.batches<Training>()) all.push_back(*trainer.step(batch).loss);
  return all;
}

int main() {
  return run_main([] {
    const std::vector<float> on_cores = losses<CpuThreads>();
    std::printf("on the cores the last loss is %.4f\n", on_cores.back());
    const std::vector<float> on_card = losses<CudaOneCard>();
    for (std::size_t i = 0; i < on_card.size(); ++i)
      if (std::fabs(on_card[i] - on_cores[i]) > 1e-3F * on_cores[i]) throw std::runtime_error("the losses differ");
    std::printf("on a card it is %.4f\n", on_card.back());
  });
}
