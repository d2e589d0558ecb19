// SPDX-License-Identifier: MIT
// Plans on this card: each policy as logical devices against the same plan on threads of the host, and a step of GPT-2 small.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <vector>

#include "heddle/backend/cuda_one_card.hpp"
#include "plans.hpp"

using namespace plans_on_cards;

namespace {

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
  row<Of<Single>, CudaOneCard>("Single");
  row<Of<DataParallel<4>>, CudaOneCard>("DataParallel<4>");
  row<Of<Sharded<4>>, CudaOneCard>("Sharded<4>");
  row<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, CudaOneCard>("Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>");
  row<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>, CudaOneCard>("Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>");
  row<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>, CudaOneCard>("Pipeline<2> x DataParallel<2>");
  row<Of<TensorParallel<2>>, CudaOneCard>("TensorParallel<2>", false);
  row<Of<Hybrid<TensorParallel<2>, Sharded<2>>>, CudaOneCard>("TensorParallel<2> x Sharded<2>", false);
  row<Of<DataParallel<2>, Clip<GlobalNorm>>, CudaOneCard>("DataParallel<2>, Clip<GlobalNorm>", false);
  row<Of<DataParallel<2>, Mixed<BFloat16>>, CudaOneCard>("DataParallel<2>, Mixed<BFloat16>", false);
  try {
    gpt();
  } catch (const std::exception& error) {
    ++wrong;
    std::printf("\nGPT-2: %s\n", error.what());
  }
  std::printf("\nplans: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
