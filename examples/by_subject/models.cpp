// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/models.cpp -pthread -o models && ./models
// Models that everybody knows as types, with the parameter names of torchvision and Hugging Face. Their numbers of parameters are checked by the
// compiler, and so is what training them takes of each device: nothing here is ever made, no step is made. The program only prints what it is.
#include <cstdint>
#include <cstdio>
#include <heddle/heddle.hpp>
using namespace heddle;
using extending::Shape;

// LeNet-5 on 32 x 32 pixels.
struct LeNet : Sequential<Input<1, 32, 32>, Named<"conv1", Conv2d<1, 6, KernelSize<5>>>, Tanh, AvgPool2d<KernelSize<2>>,
                          Named<"conv2", Conv2d<6, 16, KernelSize<5>>>, Tanh, AvgPool2d<KernelSize<2>>, Flatten, Named<"fc1", Linear<400, 120>>, Tanh,
                          Named<"fc2", Linear<120, 84>>, Tanh, Named<"fc3", Linear<84, 10>>> {};
static_assert(parameters<LeNet> == 61'706);

// ResNet-18 of torchvision.
template <int In, int Out, class... Options> using Convolution = Conv2d<In, Out, KernelSize<3>, Padding<1>, NoBias, Options...>;
template <int In, int Out, class... Options>
using TwoLayers = Sequential<Named<"conv1", Convolution<In, Out, Options...>>, Named<"bn1", BatchNorm2d<Out>>, ReLU,
                             Named<"conv2", Convolution<Out, Out>>, Named<"bn2", BatchNorm2d<Out>>>;
template <int Width> struct Same : Sequential<Unnumbered<Branches<Add, Unnumbered<TwoLayers<Width, Width>>, Sequential<>>>, Named<"relu", ReLU>> {};
template <int Width> using Shortcut = Sequential<Conv2d<Width / 2, Width, KernelSize<1>, Stride<2>, NoBias>, BatchNorm2d<Width>>;
template <int Width>
struct Halved : Sequential<Unnumbered<Branches<Add, Unnumbered<TwoLayers<Width / 2, Width, Stride<2>>>, Named<"downsample", Shortcut<Width>>>>,
                           Named<"relu", ReLU>> {};
struct ResNet18
    : Sequential<Input<3, 224, 224>, Named<"conv1", Conv2d<3, 64, KernelSize<7>, Stride<2>, Padding<3>, NoBias>>, Named<"bn1", BatchNorm2d<64>>, ReLU,
                 MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>, Named<"layer1", Sequential<Same<64>, Same<64>>>,
                 Named<"layer2", Sequential<Halved<128>, Same<128>>>, Named<"layer3", Sequential<Halved<256>, Same<256>>>,
                 Named<"layer4", Sequential<Halved<512>, Same<512>>>, AdaptiveAvgPool2d<1>, Flatten, Named<"fc", Linear<512, 1000>>> {};
static_assert(parameters<ResNet18> == 11'689'512);
static_assert(extending::parameter_shape<ResNet18, "layer2.0.downsample.0.weight"> == Shape(128, 64, 1, 1));

// GPT-2 small. io/gpt2.hpp reads its checkpoint.
struct GptAttention : Sequential<Named<"c_attn", Linear<768, 3 * 768>>, SelfAttention<Heads<12>, Causal>, Named<"c_proj", Linear<768, 768>>> {};
struct GptFeed : Sequential<Named<"c_fc", Linear<768, 3072>>, GELUTanh, Named<"c_proj", Linear<3072, 768>>> {};
struct GptBlock : Sequential<Unnumbered<Residual<Named<"ln_1", LayerNorm<768>>, Named<"attn", GptAttention>>>,
                             Unnumbered<Residual<Named<"ln_2", LayerNorm<768>>, Named<"mlp", GptFeed>>>> {};
struct Gpt2 : Sequential<Input<1024>, Named<"wte", Embedding<50'257, 768>>, Named<"wpe", LearnedPositions<1024, 768>>,
                         Named<"h", Repeat<12, GptBlock>>, Named<"ln_f", LayerNorm<768>>, Tied<"lm_head", Linear<768, 50'257, NoBias>, To<"wte">>> {};
static_assert(parameters<Gpt2> == 124'439'808);
static_assert(extending::parameter_shape<Gpt2, "h.11.attn.c_attn.weight"> == Shape(2304, 768));

// BERT-base without its pooler: norms stand behind the sums. Tokens, and for each the sentence that it is of.
template <int Out> using Dense = Sequential<Named<"dense", Linear<768, Out>>>;
struct BertHeads
    : Sequential<Unnumbered<Branches<Concat, Named<"query", Linear<768, 768>>, Named<"key", Linear<768, 768>>, Named<"value", Linear<768, 768>>>>,
                 SelfAttention<Heads<12>>> {};
struct BertAttention : Sequential<Unnumbered<Residual<Named<"self", BertHeads>, Named<"output", Dense<768>>>>,
                                  Named<"output", Sequential<Named<"LayerNorm", LayerNorm<768, Epsilon<12>>>>>> {};
struct BertFeed : Residual<Named<"intermediate", Dense<3072>>, Named<"gelu", GELU>, Named<"output", Sequential<Named<"dense", Linear<3072, 768>>>>> {
};
struct BertLayer : Sequential<Named<"attention", BertAttention>, Unnumbered<BertFeed>,
                              Named<"output", Sequential<Named<"LayerNorm", LayerNorm<768, Epsilon<12>>>>>> {};
struct BertWords : Sequential<Named<"word_embeddings", Embedding<30'522, 768>>, Named<"position_embeddings", LearnedPositions<512, 768>>> {};
struct BertEmbeddings
    : Sequential<Unnumbered<Branches<Add, Unnumbered<BertWords>, Sequential<FromInput<1>, Named<"token_type_embeddings", Embedding<2, 768>>>>>,
                 Named<"LayerNorm", LayerNorm<768, Epsilon<12>>>> {};
struct BertBase : Sequential<Inputs<Input<512>, Input<512>>, Named<"embeddings", BertEmbeddings>,
                             Named<"encoder", Sequential<Named<"layer", Repeat<12, BertLayer>>>>> {};
static_assert(parameters<BertBase> == 109'482'240 - (768 * 768 + 768));

// Llama 3 of 8 billion parameters, for sequences of 2048 tokens.
template <int In, int Out> using Plain = Linear<In, Out, NoBias>;
using Shared = KeyValueHeads<8>;
struct LlamaAttention
    : Sequential<
          Unnumbered<Branches<Concat, Named<"q_proj", Plain<4096, 4096>>, Named<"k_proj", Plain<4096, 1024>>, Named<"v_proj", Plain<4096, 1024>>>>,
          Rotary<128, Heads<32>, Shared, RotaryBase<500'000>>, SelfAttention<Heads<32>, Shared, Causal>, Named<"o_proj", Plain<4096, 4096>>> {};
struct LlamaFeed : Sequential<Unnumbered<Branches<Concat, Named<"gate_proj", Plain<4096, 14'336>>, Named<"up_proj", Plain<4096, 14'336>>>>, SwiGLU,
                              Named<"down_proj", Plain<14'336, 4096>>> {};
struct LlamaLayer : Sequential<Unnumbered<Residual<Named<"input_layernorm", RMSNorm<4096, Epsilon<5>>>, Named<"self_attn", LlamaAttention>>>,
                               Unnumbered<Residual<Named<"post_attention_layernorm", RMSNorm<4096, Epsilon<5>>>, Named<"mlp", LlamaFeed>>>> {};
struct LlamaBody
    : Sequential<Named<"embed_tokens", Embedding<128'256, 4096>>, Named<"layers", Repeat<32, LlamaLayer>>, Named<"norm", RMSNorm<4096, Epsilon<5>>>> {
};
struct Llama3 : Sequential<Input<2048>, Named<"model", LlamaBody>, Named<"lm_head", Plain<4096, 128'256>>> {};
static_assert(parameters<Llama3> == 8'030'261'248);
static_assert(extending::parameter_shape<Llama3, "model.layers.31.mlp.up_proj.weight"> == Shape(14'336, 4096));

// What training takes of each device, AdamW and all, and what a step sends in all. A row of GPT-2 has 1024 tokens, one of Llama 2048.
template <class... Parts> using OfResNet = Plan<ResNet18, CrossEntropy, SGD, Batch<64>, Parts...>;
template <class... Parts> using OfGpt = Plan<Gpt2, CrossEntropy, AdamW, Batch<8>, Parts...>;
template <class... Parts> using OfLlama = Plan<Llama3, CrossEntropy, AdamW, Batch<64>, Mixed<BFloat16>, Recompute<EveryBlock>, Parts...>;
using LlamaOnManyDevices = OfLlama<Hybrid<TensorParallel<8, SequenceParallel>, Sharded<8>>>;
static_assert(devices<LlamaOnManyDevices> == 64 && peak_memory<LlamaOnManyDevices>() < 80_GB);

template <class Model> void row(const char* name) {
  std::printf("%-24s %14lld %12.2f\n", name, static_cast<long long>(parameters<Model>), static_cast<double>(extending::flops<Model>.value) / 1e9);
}
template <class ThePlan> void plan(const char* name) {
  constexpr double gib = 1 << 30;
  std::printf("%-52s %7d %10.2f %12.2f\n", name, devices<ThePlan>, static_cast<double>(peak_memory<ThePlan>().value) / gib,
              static_cast<double>(traffic<ThePlan>().total().value) / gib);
}

int main() {
  std::printf("%-24s %14s %12s\n", "model", "parameters", "Gflop a row");
  row<LeNet>("LeNet-5");
  row<ResNet18>("ResNet-18");
  row<Gpt2>("GPT-2 small");
  row<BertBase>("BERT-base, no pooler");
  row<Llama3>("Llama 3, 8B");
  std::printf("\n%-52s %7s %10s %12s\n", "plan", "devices", "GiB each", "GiB a step");
  plan<OfResNet<Single>>("ResNet-18, 64 rows: Single");
  plan<OfResNet<DataParallel<4>>>("ResNet-18, 64 rows: DataParallel<4>");
  plan<OfGpt<Single>>("GPT-2, 8 rows: Single");
  plan<OfGpt<TensorParallel<4>>>("GPT-2, 8 rows: TensorParallel<4>");
  plan<OfGpt<Sharded<8>>>("GPT-2, 8 rows: Sharded<8>");
  plan<OfGpt<Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>>>("GPT-2, 8 rows: 4 stages of OneFOneB");
  plan<LlamaOnManyDevices>("Llama 3, 64 rows: TensorParallel<8> x Sharded<8>");
}
