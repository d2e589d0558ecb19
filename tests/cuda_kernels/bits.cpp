// SPDX-License-Identifier: MIT
// Trains plans on an emulated card and prints the bits that their parameters end with. It is compiled as a .cu file is, and as a file of the host's
// compiler that has its kernels from the unit: both programs are to print the same (same_bits.py).
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cuda_one_card.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/sequences.hpp>
#include <heddle/io/synthetic.hpp>
#include <stdexcept>
#include <vector>

using namespace heddle;

namespace {

struct Words : Sequential<Input<16>, Embedding<32, 24>, LearnedPositions<16, 24>,
                          Residual<LayerNorm<24>, Linear<24, 72>, SelfAttention<Heads<3>, Causal, Dropout<1, 10>>, Linear<24, 24>>,
                          Residual<RMSNorm<24>, Linear<24, 96>, SwiGLU, Linear<48, 24>>, Linear<24, 32>> {};
struct Vectors : Sequential<Linear<16, 48>, GELU, LayerNorm<48>, Linear<48, 24>, LeakyReLU<1, 5>, Dropout<1, 10>, Linear<24, 8>> {};
struct Images : Sequential<Input<64>, Unflatten<1, 8, 8>, Conv2d<1, 8, KernelSize<3>, Padding<1>>, BatchNorm2d<8>, ReLU, MaxPool2d<KernelSize<2>>,
                           AdaptiveAvgPool2d<2>, Flatten, Linear<32, 4>> {};

using Smoothed = CrossEntropyWith<Ignored<3>, LabelSmoothing<1, 10>>;
template <class Model, class Loss, class Optimizer, class... Parts> using Of = Plan<Model, Loss, Optimizer, Batch<16>, Grain<4>, Parts...>;

template <class ThePlan, class Data> std::uint64_t bits(const Data& data) {
  Trainer<ThePlan, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{1}};
  for (const auto& batch : data.template batches<ThePlan>()) trainer.step(batch);
  return trainer.parameter_hash();
}
/// Of one device and of others, which have its bits.
template <class Alone, class... Others, class Data> bool prints(const char* name, const Data& data) {
  const std::uint64_t alone = bits<Alone>(data);
  std::printf("%s: %016llx\n", name, static_cast<unsigned long long>(alone));
  return (true && ... && (bits<Others>(data) == alone));
}

}  // namespace

int main() {
  return run_main([] {
    const datasets::Dataset rows = datasets::synthetic(Seed{2}, 64, 16, 8), images = datasets::synthetic(Seed{3}, 48, 64, 4);
    bool same = prints<Of<Vectors, Smoothed, AdamW, Single, Clip<GlobalNorm>>, Of<Vectors, Smoothed, AdamW, DataParallel<2>, Clip<GlobalNorm>>>(
        "vectors", rows);
    same &=
        prints<Of<Vectors, CrossEntropy, MomentumSGD, Single, Mixed<BFloat16>>, Of<Vectors, CrossEntropy, MomentumSGD, Sharded<2>, Mixed<BFloat16>>>(
            "vectors in bfloat16", rows);
    same &= prints<Of<Images, CrossEntropy, SGD, Single>, Of<Images, CrossEntropy, SGD, Pipeline<Balanced<2>>>>("images", images);
    std::vector<std::int32_t> tokens;
    for (int i = 0; i < 1'025; ++i) tokens.push_back((i * i + i / 3) % 32);
    same &= prints<Of<Words, CrossEntropy, Adam, Single>, Of<Words, CrossEntropy, Adam, DataParallel<4>>>(
        "words", datasets::next_token_rows(tokens, 32, {.length = 16}));
    if (!same) throw std::runtime_error("a plan of several devices does not end with the bits of one");
  });
}
