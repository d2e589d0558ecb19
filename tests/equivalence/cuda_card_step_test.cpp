// SPDX-License-Identifier: MIT
// What CardStep reads off a Program is what a step launches, as the emulator counts it.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "equivalence/card_step.hpp"
#include "heddle/backend/cuda_one_card.hpp"

using namespace heddle;
using plans_on_cards::Cards;

namespace {

struct Attend : Sequential<Linear<16, 48>, SelfAttention<Heads<2>, Causal>, Linear<16, 16>> {};
struct Feed : Sequential<Linear<16, 64>, GELUTanh, Linear<64, 16>> {};
struct Block : Sequential<Residual<LayerNorm<16>, Attend>, Residual<LayerNorm<16>, Feed>> {};
struct Gpt : Sequential<Input<8>, Named<"wte", Embedding<24, 16>>, LearnedPositions<8, 16>, Repeat<2, Block>, LayerNorm<16>,
                        Tied<"lm_head", Linear<16, 24, NoBias>, To<"wte">>> {};
template <int Rows, class... Parts> using Of = Plan<Gpt, CrossEntropy, AdamW, Batch<Rows>, Single, Parts...>;

template <class ThePlan> void counts(int rows) {
  const Cards card;
  std::vector<std::int32_t> ids(static_cast<std::size_t>(rows) * 8);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>((7 * i + i / 5) % 24);
  Trainer<ThePlan, CudaOneCard> trainer{{.learning_rate = 1e-3}, Seed{1}};
  for (int s = 0; s < 2; ++s) trainer.step(examples(ids, ids, 8, 8));
  const cuda_emulator::Counts before = cuda_emulator::counts();
  trainer.step(examples(ids, ids, 8, 8));
  const cuda_emulator::Counts after = cuda_emulator::counts();
  const card_step::CardStep step{lower<ThePlan>()};
  CHECK(after.kernels - before.kernels == step.kernels());
  CHECK(after.products - before.products == step.products());
}

}  // namespace

TEST_CASE("a step launches the kernels and products that are read off its Program, in bfloat16 and in float32, of few rows and of many") {
  counts<Of<4, Mixed<BFloat16>>>(4);
  counts<Of<4>>(4);
  counts<Of<4, Mixed<BFloat16>, Clip<GlobalNorm>>>(4);
  counts<Of<144, Mixed<BFloat16>>>(144);  // several blocks share the rows of a sum
}
