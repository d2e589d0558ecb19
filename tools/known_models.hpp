// SPDX-License-Identifier: MIT
// Models of published sizes, which ./heddle plan finds a plan for. Their parameter counts are held against published ones by static_asserts.
// Source  sources.md#gpt2-checkpoint, sources.md#megatron-2021, sources.md#llama3
#pragma once

#include <cstdint>
#include <heddle/cost/search/searched_model.hpp>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>

namespace known_models {

using namespace heddle;
using namespace heddle::extending;

template <std::int64_t Width, int Head>
struct GptAttention
    : Sequential<Named<"c_attn", Linear<Width, 3 * Width>>, SelfAttention<Heads<Head>, Causal>, Named<"c_proj", Linear<Width, Width>>> {};
template <std::int64_t Width>
struct GptFeed : Sequential<Named<"c_fc", Linear<Width, 4 * Width>>, GELUTanh, Named<"c_proj", Linear<4 * Width, Width>>> {};
template <std::int64_t Width, int Head>
struct GptBlock : Sequential<Unnumbered<Residual<Named<"ln_1", LayerNorm<Width>>, Named<"attn", GptAttention<Width, Head>>>>,
                             Unnumbered<Residual<Named<"ln_2", LayerNorm<Width>>, Named<"mlp", GptFeed<Width>>>>> {};
/// With its table of tokens as its head, as GPT-2 has it.
template <int Layers, std::int64_t Width, int Head, std::int64_t Length, std::int64_t Tokens>
struct Gpt : Sequential<Input<Length>, Named<"wte", Embedding<Tokens, Width>>, Named<"wpe", LearnedPositions<Length, Width>>,
                        Named<"h", Repeat<Layers, GptBlock<Width, Head>>>, Named<"ln_f", LayerNorm<Width>>,
                        Tied<"lm_head", Linear<Width, Tokens, NoBias>, To<"wte">>> {};

/// Three projections, and two, packed in one product each.
template <std::int64_t Width, int Head, int KeyValue>
struct LlamaAttention : Sequential<Named<"qkv_proj", Linear<Width, Width + 2 * (Width / Head * KeyValue), NoBias>>,
                                   Rotary<Width / Head, Heads<Head>, KeyValueHeads<KeyValue>>,
                                   SelfAttention<Heads<Head>, KeyValueHeads<KeyValue>, Causal>, Named<"o_proj", Linear<Width, Width, NoBias>>> {};
template <std::int64_t Width, std::int64_t Inner>
struct LlamaFeed : Sequential<Named<"gate_up_proj", Linear<Width, 2 * Inner, NoBias>>, SwiGLU, Named<"down_proj", Linear<Inner, Width, NoBias>>> {};
template <std::int64_t Width, int Head, int KeyValue, std::int64_t Inner>
struct LlamaBlock
    : Sequential<Unnumbered<Residual<Named<"input_layernorm", RMSNorm<Width>>, Named<"self_attn", LlamaAttention<Width, Head, KeyValue>>>>,
                 Unnumbered<Residual<Named<"post_attention_layernorm", RMSNorm<Width>>, Named<"mlp", LlamaFeed<Width, Inner>>>>> {};
template <int Layers, std::int64_t Width, int Head, int KeyValue, std::int64_t Inner, std::int64_t Length>
struct Llama : Sequential<Input<Length>, Named<"embed_tokens", Embedding<128'256, Width>>,
                          Named<"layers", Repeat<Layers, LlamaBlock<Width, Head, KeyValue, Inner>>>, Named<"norm", RMSNorm<Width>>,
                          Named<"lm_head", Linear<Width, 128'256, NoBias>>> {};

struct Mnist : Sequential<Named<"linear1", Linear<28 * 28, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
struct Gpt2 : Gpt<12, 768, 12, 1024, 50'257> {};
struct Gpt2Xl : Gpt<48, 1600, 25, 1024, 50'257> {};
struct Gpt18B : Gpt<40, 6144, 48, 2048, 51'200> {};
struct Gpt175B : Gpt<96, 12'288, 96, 2048, 51'200> {};
struct Llama8B : Llama<32, 4096, 32, 8, 14'336, 8192> {};
struct Llama70B : Llama<80, 8192, 64, 8, 28'672, 8192> {};
struct Llama405B : Llama<126, 16'384, 128, 8, 53'248, 8192> {};
static_assert(parameters<Gpt2> == 124'439'808);
static_assert(parameters<Gpt2Xl> == 1'557'611'200);
static_assert(parameters<Gpt18B> == 18'449'743'872 + 2 * 6144);  // the paper leaves the last LayerNorm out
static_assert(parameters<Llama8B> == 8'030'261'248);
static_assert(parameters<Llama70B> == 70'553'706'496);
static_assert(parameters<Llama405B> == 405'853'388'800);

/// A model by the name that the command line has for it.
struct Known {
  std::string name;
  SearchedModel model;
};
[[nodiscard]] inline std::vector<Known> all() {
  return {{"mnist", searched_model<Mnist, CrossEntropy, Adam>()},         {"gpt2", searched_model<Gpt2, CrossEntropy, AdamW>()},
          {"gpt2-xl", searched_model<Gpt2Xl, CrossEntropy, AdamW>()},     {"gpt-18b", searched_model<Gpt18B, CrossEntropy, AdamW>()},
          {"gpt-175b", searched_model<Gpt175B, CrossEntropy, AdamW>()},   {"llama-8b", searched_model<Llama8B, CrossEntropy, AdamW>()},
          {"llama-70b", searched_model<Llama70B, CrossEntropy, AdamW>()}, {"llama-405b", searched_model<Llama405B, CrossEntropy, AdamW>()}};
}

}  // namespace known_models
