// SPDX-License-Identifier: MIT
// Build: nvcc -std=c++20 -O2 -arch=sm_90 --expt-relaxed-constexpr -I include -I /usr/include/eigen3 examples/on_cards/one_word.cu -lcublasLt
// -o one_word && ./one_word
//
// One word says where a plan runs: CpuThreads are the cores of this machine, CudaOneCard its first GPU, with a logical device for each device of the
// plan. Checks, memory, order and bytes are those of the plan, so they are the same; numbers are within rounding, and on each side all plans below
// end with the bits of one device.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/backend/cuda_one_card.hpp>
#include <heddle/heddle.hpp>
#include <vector>

using namespace heddle;

struct Block : Residual<LayerNorm<32>, Linear<32, 64>, GELU, Linear<64, 32>> {};
struct Net : Sequential<Linear<2, 32>, Repeat<2, Block>, Linear<32, 3>> {};
template <class Policy> using Training = Plan<Net, CrossEntropy, AdamW, Batch<96>, Grain<12>, Policy>;

/// Points in the plane, of three arms of a spiral.
struct Spiral {
  std::vector<float> points;
  std::vector<std::int32_t> arms;
  Spiral() {
    for (int i = 0; i < 96; ++i) {
      const float along = static_cast<float>(i / 3) / 32.0F;
      const float angle = 2.1F * static_cast<float>(i % 3) + 4.0F * along;
      points.push_back(along * std::cos(angle));
      points.push_back(along * std::sin(angle));
      arms.push_back(i % 3);
    }
  }
};

/// How a training ends.
struct End {
  double loss;
  std::uint64_t bits;
};
template <class ThePlan, class Backend> End train(const Spiral& spiral) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 3e-3}, Seed{1}};
  double loss = 0;
  for (int s = 0; s < 20; ++s) loss = trainer.step(examples(spiral.points, spiral.arms, 2)).loss.value();
  return {loss, trainer.parameter_hash()};
}

End first_on_host, first_on_card;
template <class Policy> void row(const char* name, const Spiral& spiral) {
  const End host = train<Training<Policy>, CpuThreads>(spiral), card = train<Training<Policy>, CudaOneCard>(spiral);
  if (first_on_host.bits == 0) first_on_host = host, first_on_card = card;
  std::printf("%-38s %.3f  %.3f  %-12s %s, %s\n", name, host.loss, card.loss, std::abs(host.loss - card.loss) < 1e-3 ? "yes" : "NO",
              host.bits == first_on_host.bits ? "yes" : "NO", card.bits == first_on_card.bits ? "yes" : "NO");
}

int main() {
  return run_main([] {
    const Spiral spiral;
    std::printf("%-38s cores  card   within 0.001 bits of Single\n", "loss after 20 steps");
    row<Single>("Single", spiral);
    row<DataParallel<4>>("DataParallel<4>", spiral);
    row<Sharded<2>>("Sharded<2>", spiral);
    row<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>("Pipeline<Balanced<2>, OneFOneB, ...>", spiral);
    row<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>("Hybrid<Pipeline<...>, DataParallel<2>>", spiral);
  });
}
