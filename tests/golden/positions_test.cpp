// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Attend
    : Residual<Named<"norm", LayerNorm<16>>, Named<"linear1", Linear<16, 48>>, SelfAttention<Heads<4>, Causal>, Named<"linear2", Linear<16, 16>>> {};
struct Feed : Residual<Named<"norm", LayerNorm<16>>, Named<"linear1", Linear<16, 64>>, GELU, Named<"linear2", Linear<64, 16>>> {};
struct GptBlock : Sequential<Named<"attention", Attend>, Unnumbered<Feed>> {};
struct Gpt : Sequential<Input<6>, Named<"wte", Embedding<13, 16>>, Named<"wpe", LearnedPositions<8, 16>>, Named<"h", Repeat<2, GptBlock>>,
                        Named<"norm", LayerNorm<16>>, Tied<"head", Linear<16, 13, NoBias>, To<"wte">>> {};

struct Turned : Residual<Named<"norm1", RMSNorm<16, Epsilon<5>>>, Named<"linear1", Linear<16, 32, NoBias>>,
                         Rotary<4, Heads<4>, KeyValueHeads<2>, RotaryBase<500>>, SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>,
                         Named<"linear2", Linear<16, 16, NoBias>>> {};
struct Gated : Residual<Named<"norm2", RMSNorm<16, Epsilon<5>>>, Named<"linear3", Linear<16, 80, NoBias>>, Named<"gate", SwiGLU>,
                        Named<"linear4", Linear<40, 16, NoBias>>> {};
struct LlamaBlock : Sequential<Unnumbered<Turned>, Unnumbered<Gated>> {};
struct Llama : Sequential<Input<6>, Named<"embed", Embedding<13, 16>>, Named<"layers", Repeat<2, LlamaBlock>>, Named<"norm", RMSNorm<16, Epsilon<5>>>,
                          Named<"lm_head", Linear<16, 13, NoBias>>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;

}  // namespace

TEST_CASE("20 steps of a GPT of two blocks with learned positions and a tied head are PyTorch's under five policies") {
  follow_sentences<Of, Gpt>("gpt_13_16", 0.01);
}

TEST_CASE("20 steps of a Llama of two blocks with turned queries and keys are PyTorch's under the same policies") {
  follow_sentences<Of, Llama>("llama_13_16", 0.1);
}
