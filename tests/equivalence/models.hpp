// SPDX-License-Identifier: MIT
// Room: tests. The convnet, the encoder, the GPT and the Llama of the documents, at a size that every policy runs in a moment.
// Sees: graph.  Does not see: any backend.
// In: nothing.  Out: Convnet, Encoder, Gpt, Llama.
#pragma once

#include "heddle/heddle.hpp"

namespace equivalence {

using namespace heddle;

struct Convnet : Sequential<Input<2, 8, 8>, Conv2d<2, 8, KernelSize<3>, Padding<1>, NoBias>, BatchNorm2d<8>, ReLU, MaxPool2d<KernelSize<2>>,
                            Conv2d<8, 16, KernelSize<3>, Stride<2>, Padding<1>>, GELU, AdaptiveAvgPool2d<1>, Flatten, Linear<16, 10>> {};

struct Encoder : Sequential<Input<4, 6>, Linear<6, 16>, Repeat<2, TransformerEncoderLayer<16, 4, 24, GELUTanh, NormFirst, Dropout<1, 10>>>,
                            Linear<16, 4>, Flatten, Linear<16, 10>> {};

struct GptAttention : Sequential<Named<"c_attn", Linear<16, 48>>, SelfAttention<Heads<4>, Causal>, Named<"c_proj", Linear<16, 16>>> {};
struct GptFeed : Sequential<Named<"c_fc", Linear<16, 32>>, GELUTanh, Named<"c_proj", Linear<32, 16>>> {};
struct GptBlock : Sequential<Unnumbered<Residual<Named<"ln_1", LayerNorm<16>>, Named<"attn", GptAttention>>>,
                             Unnumbered<Residual<Named<"ln_2", LayerNorm<16>>, Named<"mlp", GptFeed>>>> {};
struct Gpt : Sequential<Input<6>, Named<"wte", Embedding<12, 16, PaddingIndex<0>>>, Named<"wpe", LearnedPositions<6, 16>>,
                        Named<"h", Repeat<2, GptBlock>>, Named<"ln_f", LayerNorm<16>>, Tied<"lm_head", Linear<16, 12, NoBias>, To<"wte">>> {};

struct LlamaHeads
    : Sequential<Unnumbered<Branches<Concat, Named<"q_proj", Linear<16, 16, NoBias>>, Named<"k_proj", Linear<16, 8, NoBias>>,
                                     Named<"v_proj", Linear<16, 8, NoBias>>>>,
                 Rotary<4, Heads<4>, KeyValueHeads<2>>, SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, Named<"o_proj", Linear<16, 16, NoBias>>> {
};
struct LlamaFeed : Sequential<Linear<16, 48, NoBias>, SwiGLU, Linear<24, 16, NoBias>> {};
struct LlamaLayer : Sequential<Unnumbered<Residual<Named<"input_layernorm", RMSNorm<16>>, Named<"self_attn", LlamaHeads>>>,
                               Unnumbered<Residual<Named<"post_attention_layernorm", RMSNorm<16>>, Named<"mlp", LlamaFeed>>>> {};
struct Llama : Sequential<Input<6>, Named<"embed_tokens", Embedding<12, 16>>, Named<"layers", Repeat<2, LlamaLayer>>, Named<"norm", RMSNorm<16>>,
                          Named<"lm_head", Linear<16, 12, NoBias>>> {};

}  // namespace equivalence
