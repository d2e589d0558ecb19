// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/llama.cpp -pthread -o llama && ./llama
// A small Llama with the parameter names of Hugging Face, without its Rotary positions: RMSNorm, grouped queries from three projections, a gated
// network from two. What TensorParallel moves for it is a constant. As in Megatron there is one sum forward and one backward for each attention and
// each network, and one backward for the head. Nothing is gathered but the features of the table of tokens and the terms of the loss.
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>
using namespace heddle;
using extending::BodyOp;

constexpr int tokens = 32, width = 32, length = 16;
using Projections = Branches<Concat, Named<"q_proj", Linear<width, width, NoBias>>, Named<"k_proj", Linear<width, width / 2, NoBias>>,
                             Named<"v_proj", Linear<width, width / 2, NoBias>>>;
using Gates = Branches<Concat, Named<"gate_proj", Linear<width, 80, NoBias>>, Named<"up_proj", Linear<width, 80, NoBias>>>;
struct Attention
    : Sequential<Unnumbered<Projections>, SelfAttention<Heads<8>, KeyValueHeads<4>, Causal>, Named<"o_proj", Linear<width, width, NoBias>>> {};
struct Feed : Sequential<Unnumbered<Gates>, SwiGLU, Named<"down_proj", Linear<80, width, NoBias>>> {};
struct Decoder : Sequential<Unnumbered<Residual<Named<"input_layernorm", RMSNorm<width>>, Named<"self_attn", Attention>>>,
                            Unnumbered<Residual<Named<"post_attention_layernorm", RMSNorm<width>>, Named<"mlp", Feed>>>> {};
struct Body : Sequential<Named<"embed_tokens", Embedding<tokens, width>>, Named<"layers", Repeat<2, Decoder>>, Named<"norm", RMSNorm<width>>> {};
struct Llama : Sequential<Input<length>, Named<"model", Body>, Named<"lm_head", Linear<width, tokens, NoBias>>> {};
template <class... Parts> using Of = Plan<Llama, CrossEntropy, AdamW, Batch<16>, Parts...>;

static_assert(extending::parameter_shape<Llama, "model.layers.1.self_attn.k_proj.weight"> == extending::Shape{width / 2, width});

/// The loss after 25 steps: each row counts on by a step of its own, so the third token tells all that follow.
template <class ThePlan> double trained() {
  std::vector<std::int32_t> inputs, next;
  for (int row = 0; row < 16; ++row)
    for (int i = 0; i < length; ++i) {
      inputs.push_back((3 * row + (1 + row % 5) * i) % tokens);
      next.push_back((3 * row + (1 + row % 5) * (i + 1)) % tokens);
    }
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  for (int step = 0; step < 25; ++step) trainer.step(examples(inputs, next, length, length));
  return trainer.evaluate(examples(inputs, next, length, length)).loss;
}

template <class ThePlan> void row(const char* name) {
  const auto count = [](BodyOp what) { return static_cast<int>(traffic<ThePlan>().value_collectives(0, what)); };
  std::printf("%-44s %7d %10.1f %5d %8d %7d %12.1f %8.4f\n", name, devices<ThePlan>, static_cast<double>(peak_memory<ThePlan>().value) / 1024,
              count(BodyOp::reduce_value), count(BodyOp::scatter_value), count(BodyOp::gather_value),
              static_cast<double>(traffic<ThePlan>().total().value) / 1024, trained<ThePlan>());
}

int main() {
  return run_main([] {
    std::printf("%-44s %7s %10s %5s %8s %7s %12s %8s\n", "plan", "devices", "KiB each", "sums", "scatters", "gathers", "KiB a step", "loss");
    row<Of<Single>>("Single");
    row<Of<TensorParallel<2>>>("TensorParallel<2>");
    row<Of<TensorParallel<4>>>("TensorParallel<4>");
    row<Of<TensorParallel<2, SequenceParallel>>>("TensorParallel<2, SequenceParallel>");
    row<Of<Hybrid<TensorParallel<2>, DataParallel<2>>>>("Hybrid<TensorParallel<2>, DataParallel<2>>");
    row<Of<Hybrid<TensorParallel<2>, Sharded<2>>>>("Hybrid<TensorParallel<2>, Sharded<2>>");
  });
}
