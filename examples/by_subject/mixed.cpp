// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/mixed.cpp -pthread -o mixed && ./mixed
// Mixed precision. Values between layers are bfloat16, what is stepped stays float32: less memory, half of the bytes between stages, and the loss of
// float32 within what bfloat16 rounds. Every layout ends with the bits of one device that rounds too.
#include <cmath>
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

using namespace heddle;

struct Block : Residual<LayerNorm<32>, Linear<32, 64>, GELU, Linear<64, 32>> {};
struct Deep : Sequential<Linear<2, 32>, Repeat<6, Block>, Linear<32, 3>> {};

template <class Policy, class... Parts> using Training = Plan<Deep, CrossEntropy, AdamW, Batch<256>, Grain<32>, Policy, Parts...>;
using Stages = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;

static_assert(2 * traffic<Training<Stages, Mixed<BFloat16>>>().activations().total_payload.value ==
              traffic<Training<Stages>>().activations().total_payload.value);
static_assert(2 * traffic<Training<Sharded<2>, Mixed<BFloat16>>>().parameters().on(axis::shard).total_payload.value ==
              traffic<Training<Sharded<2>>>().parameters().on(axis::shard).total_payload.value);
static_assert(same_bits<Training<Stages, Mixed<BFloat16>>, Training<Single, Mixed<BFloat16>>>());
static_assert(!same_bits<Training<Single, Mixed<BFloat16>>, Training<Single>>());

/// Points in the plane, of three arms of a spiral.
struct Spiral {
  std::vector<float> points;
  std::vector<std::int32_t> arms;
  Spiral() {
    for (int i = 0; i < 256; ++i) {
      const float along = static_cast<float>(i / 3) / 86.0F;
      const float angle = 2.1F * static_cast<float>(i % 3) + 4.0F * along;
      points.push_back(along * std::cos(angle));
      points.push_back(along * std::sin(angle));
      arms.push_back(i % 3);
    }
  }
};

template <class ThePlan> std::uint64_t train(const Spiral& data, const std::string& name) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 3e-3}, Seed{1}};
  float loss = 0;
  for (int step = 0; step < 150; ++step) loss = *trainer.step(examples(data.points, data.arms, 2)).loss;
  std::cout << std::left << std::setw(28) << name << std::right << std::setw(9) << peak_memory<ThePlan>().value << std::setw(11)
            << traffic<ThePlan>().activations().total_payload.value + traffic<ThePlan>().parameters().on(axis::shard).total_payload.value
            << std::setw(10) << (loss < 0.2F ? "below 0.2" : "above") << '\n';
  return trainer.parameter_hash();
}

int main() {
  return run_main([] {
    const Spiral data;
    std::cout << std::left << std::setw(28) << "plan" << std::right << std::setw(9) << "bytes" << std::setw(11) << "moved" << std::setw(10)
              << "loss\n";
    train<Training<Single>>(data, "float32, one device");
    const std::uint64_t alone = train<Training<Single, Mixed<BFloat16>>>(data, "bfloat16, one device");
    train<Training<Stages>>(data, "float32, 2 stages");
    const bool stages = train<Training<Stages, Mixed<BFloat16>>>(data, "bfloat16, 2 stages") == alone;
    train<Training<Sharded<2>>>(data, "float32, 2 slices");
    const bool slices = train<Training<Sharded<2>, Mixed<BFloat16>>>(data, "bfloat16, 2 slices") == alone;
    std::cout << "bfloat16 plans end with the same bits: " << (stages && slices ? "yes" : "no") << '\n';
    return stages && slices ? 0 : 1;
  });
}
