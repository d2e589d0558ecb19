// SPDX-License-Identifier: MIT
// GPT-2's smallest model as a type.
#pragma once

#include <cstdint>

#include "heddle/heddle.hpp"

namespace plans_on_cards {

using namespace heddle;

struct GptAttention : Sequential<Named<"c_attn", Linear<768, 3 * 768>>, SelfAttention<Heads<12>, Causal>, Named<"c_proj", Linear<768, 768>>> {};
struct GptFeed : Sequential<Named<"c_fc", Linear<768, 3072>>, GELUTanh, Named<"c_proj", Linear<3072, 768>>> {};
struct GptBlock : Sequential<Unnumbered<Residual<Named<"ln_1", LayerNorm<768>>, Named<"attn", GptAttention>>>,
                             Unnumbered<Residual<Named<"ln_2", LayerNorm<768>>, Named<"mlp", GptFeed>>>> {};
/// 50,304 words in the place of 50,257, as PyTorch's model in peers.py: rows of logits are then whole packs.
struct Gpt2 : Sequential<Input<1024>, Named<"wte", Embedding<50'304, 768>>, Named<"wpe", LearnedPositions<1024, 768>>,
                         Named<"h", Repeat<12, GptBlock>>, Named<"ln_f", LayerNorm<768>>, Tied<"lm_head", Linear<768, 50'304, NoBias>, To<"wte">>> {};
inline constexpr std::int64_t gpt2_parameters = parameters<Gpt2>;
static_assert(gpt2_parameters == 124'439'808 + 47 * 768);

}  // namespace plans_on_cards
