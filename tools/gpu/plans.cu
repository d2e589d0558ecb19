// SPDX-License-Identifier: MIT
// Plans on this card: each policy as logical devices against the same plan on threads of the host, and a step of GPT-2 small.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

int wrong = 0;
const char* verdict(bool holds) {
  if (!holds) ++wrong;
  return holds ? "yes" : "NO";
}
template <class Work> double seconds(Work work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Block : Residual<LayerNorm<64>, Linear<64, 128>, GELU, Linear<128, 64>> {};
struct Deep : Sequential<Linear<40, 64>, Repeat<4, Block>, Linear<64, 10>> {};
template <class... Parts> using Of = Plan<Deep, CrossEntropy, AdamW, Batch<64>, Grain<8>, Parts...>;

std::uint64_t hash_of_one = 0;

/// Eight steps on the card and on the host. Under a Grain, replicas, slices and stages should have the bits of one device.
template <class ThePlan> void row(const char* name, bool same_bits = true) {
  try {
    std::vector<float> x(64 * 40);
    std::vector<std::int32_t> y(64);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((37 * i) % 127) / 128.0F;
    for (int i = 0; i < 64; ++i) y[static_cast<std::size_t>(i)] = (7 * i + 3) % 10;
    Trainer<ThePlan, CudaOneCard> card{{.learning_rate = 1e-2}, Seed{3}};
    Trainer<ThePlan, CpuThreads> host{{.learning_rate = 1e-2}, Seed{3}};
    double far = 0;
    for (int s = 0; s < 8; ++s) {
      const float there = card.step(examples(x, y, 40)).loss.value(), here = host.step(examples(x, y, 40)).loss.value();
      far = std::max(far, std::abs(static_cast<double>(there) - static_cast<double>(here)));
    }
    const std::uint64_t hash = card.parameter_hash();
    if (hash_of_one == 0) hash_of_one = hash;
    const double time = seconds([&] {
      for (int s = 0; s < 50; ++s) card.step(examples(x, y, 40));
    });
    std::printf("| %s | %d | %.1e | %s | %s | %.0f |\n", name, devices<ThePlan>, far, verdict(far < 1e-3),
                same_bits ? verdict(hash == hash_of_one) : "not promised", time / 50 * 1e6);
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("| %s | %d | %s | NO | | |\n", name, devices<ThePlan>, error.what());
  }
}

struct GptAttention : Sequential<Named<"c_attn", Linear<768, 3 * 768>>, SelfAttention<Heads<12>, Causal>, Named<"c_proj", Linear<768, 768>>> {};
struct GptFeed : Sequential<Named<"c_fc", Linear<768, 3072>>, GELUTanh, Named<"c_proj", Linear<3072, 768>>> {};
struct GptBlock : Sequential<Unnumbered<Residual<Named<"ln_1", LayerNorm<768>>, Named<"attn", GptAttention>>>,
                             Unnumbered<Residual<Named<"ln_2", LayerNorm<768>>, Named<"mlp", GptFeed>>>> {};
struct Gpt2 : Sequential<Input<1024>, Named<"wte", Embedding<50'257, 768>>, Named<"wpe", LearnedPositions<1024, 768>>,
                         Named<"h", Repeat<12, GptBlock>>, Named<"ln_f", LayerNorm<768>>, Tied<"lm_head", Linear<768, 50'257, NoBias>, To<"wte">>> {};
static_assert(parameters<Gpt2> == 124'439'808);

/// Float32, one device, 8 rows of 1024 tokens.
void gpt() {
  using ThePlan = Plan<Gpt2, CrossEntropy, AdamW, Batch<8>, Single>;
  std::vector<std::int32_t> ids(8 * 1024), next(8 * 1024);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((7919 * i + i / 3) % 50'257);
  for (std::size_t i = 0; i < ids.size(); ++i) next[i] = ids[(i + 1) % ids.size()];
  Trainer<ThePlan, CudaOneCard> card{{.learning_rate = 3e-4}, Seed{1}};
  float first = 0, last = 0;
  for (int s = 0; s < 3; ++s) {
    last = card.step(examples(ids, next, 1024, 1024)).loss.value();
    if (s == 0) first = last;
  }
  const double time = seconds([&] {
    for (int s = 0; s < 5; ++s) last = card.step(examples(ids, next, 1024, 1024)).loss.value();
  });
  const double tokens = 5 * 8192 / time;
  constexpr double per_token = 6.0 * 124'439'808 + 12.0 * 12 * 768 * 1024;  // 6 N + 12 L C T
  std::printf("\n| GPT-2 124M, float32, 8 x 1024 tokens | |\n|---|---|\n| loss of the first step, near ln 50257 = 10.82 | %.3f %s |\n",
              static_cast<double>(first), verdict(std::abs(first - 10.82F) < 0.3F));
  std::printf("| loss after 8 steps of one batch, below it | %.3f %s |\n", static_cast<double>(last), verdict(last < first));
  std::printf("| tokens per second | %.0f |\n| TFLOP/s by 6 N + 12 L C T | %.1f |\n| arena, GiB | %.2f |\n", tokens, tokens * per_token / 1e12,
              static_cast<double>(peak_memory<ThePlan>().value) / (1 << 30));
}

}  // namespace

int main() {
  std::printf(
      "| plan on one card | logical devices | farthest loss in 8 steps | within 1e-3 | bits of one device | us a step "
      "|\n|---|---|---|---|---|---|\n");
  row<Of<Single>>("Single");
  row<Of<DataParallel<4>>>("DataParallel<4>");
  row<Of<Sharded<4>>>("Sharded<4>");
  row<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>("Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>");
  row<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>("Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>");
  row<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>>("Pipeline<2> x DataParallel<2>");
  row<Of<TensorParallel<2>>>("TensorParallel<2>", false);
  row<Of<Hybrid<TensorParallel<2>, Sharded<2>>>>("TensorParallel<2> x Sharded<2>", false);
  row<Of<DataParallel<2>, Clip<GlobalNorm>>>("DataParallel<2>, Clip<GlobalNorm>", false);
  row<Of<DataParallel<2>, Mixed<BFloat16>>>("DataParallel<2>, Mixed<BFloat16>", false);
  try {
    gpt();
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("\nGPT-2: %s\n", error.what());
  }
  std::printf("\nplans: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
