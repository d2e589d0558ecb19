// SPDX-License-Identifier: MIT
// The norm of Clip<GlobalNorm> on cards: what it launches, also where layers are split or track statistics, and its bits from one layout to another.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "heddle/backend/cuda_one_card.hpp"

using namespace heddle;
using plans_on_cards::Cards;

namespace {

struct Mlp : Sequential<Linear<256, 1024>, ReLU, Linear<1024, 16>> {};
struct Normed : Sequential<Input<2, 6, 6>, Conv2d<2, 24, KernelSize<3>>, BatchNorm2d<24>, ReLU, Conv2d<24, 24, KernelSize<3>>, BatchNorm2d<24>,
                           Flatten, Linear<96, 16>> {};
struct OneBlock
    : Sequential<Input<2, 6, 6>, OneUnit<Conv2d<2, 24, KernelSize<3>>, BatchNorm2d<24>, ReLU, Conv2d<24, 24, KernelSize<3>>, BatchNorm2d<24>>,
                 Flatten, Linear<96, 16>> {};
struct Between : Sequential<OneUnit<Linear<256, 128>, ReLU, Linear<128, 64>, LayerNorm<64>, Linear<64, 128>, ReLU, Linear<128, 64>>, Linear<64, 16>> {
};
template <class Net, class... Parts> using Of = Plan<Net, CrossEntropy, SGD, Batch<8, KeepLast>, Parts...>;

struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  std::int64_t features;
  Rows(std::int64_t elements, int seed) : features(elements) {
    for (std::int64_t i = 0; i < 8 * elements; ++i) inputs.push_back(static_cast<float>((37 * i + 11 * seed) % 127) / 128.0F);
    for (int i = 0; i < 8; ++i) labels.push_back((7 * i + seed) % 16);
  }
  [[nodiscard]] auto batch() const { return examples(inputs, labels, features); }
};
template <class Net> constexpr std::int64_t features_of = std::is_same_v<Net, Normed> || std::is_same_v<Net, OneBlock> ? 72 : 256;

struct Launched {
  long kernels, blocks;
  friend bool operator==(const Launched&, const Launched&) = default;
};
/// What a replayed step of all ranks launches.
template <class Net, class... Parts> Launched launched() {
  const Cards card;
  Trainer<Of<Net, Parts...>, CudaOneCard> trainer{{.learning_rate = 1e-3}, Seed{1}};
  for (int s = 0; s < 2; ++s) trainer.step(Rows(features_of<Net>, s).batch());
  const cuda_emulator::Counts before = cuda_emulator::counts();
  trainer.step(Rows(features_of<Net>, 2).batch());
  return {cuda_emulator::counts().kernels - before.kernels, cuda_emulator::counts().blocks - before.blocks};
}
/// Of the norm alone: what Clip<GlobalNorm> launches beside Clip<EachValue>, which goes over all gradients once more as well.
template <class Net, class... Parts> Launched of_norm() {
  const Launched with = launched<Net, Parts..., Clip<GlobalNorm>>(), without = launched<Net, Parts..., Clip<EachValue>>();
  return {with.kernels - without.kernels, with.blocks - without.blocks};
}
template <class Net, class Backend, class... Parts> std::vector<float> norms() {
  Trainer<Of<Net, Parts..., Clip<GlobalNorm>>, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  trainer.clip().max_norm = 0.01;
  std::vector<float> norms;
  for (int s = 0; s < 4; ++s) norms.push_back(trainer.step(Rows(features_of<Net>, s).batch()).norm.value());
  return norms;
}
template <class Net, class... Parts> std::vector<float> on_card() { return norms<Net, CudaOneCard, Parts...>(); }
/// The most by which norms on a card are off from those of one device on the host, as a share of these.
template <class Net, class... Parts> float off_from_host() {
  const std::vector<float> there = on_card<Net, Parts...>(), here = norms<Net, CpuThreads, Single>();
  float off = 0;
  for (std::size_t s = 0; s < here.size(); ++s) off = std::max(off, std::abs(there[s] - here[s]) / here[s]);
  return off;
}

}  // namespace

TEST_CASE(
    "the squares of a unit are two launches on every rank, whose blocks have thousands of gradients each, also of split layers and between "
    "statistics") {
  // Of 263,168 gradients in 64 parts 192 shares, four a block, of 17,408 in 64 parts a share each; a tree behind either; the norm and its factor.
  CHECK(of_norm<Mlp, Single>() == Launched{5, 48 + 1 + 16 + 1 + 1});
  // Halves: of 132,096 gradients 128 shares. The second rank has its parts of both layers, and one sum joins the squares of both ranks.
  CHECK(of_norm<Mlp, TensorParallel<2>>() == Launched{11, 2 * (32 + 1 + 16 + 1 + 1) + 1});
  CHECK(of_norm<Mlp, Hybrid<TensorParallel<2>, Sharded<2>>>().kernels == 4 * (2 * 2 + 1) + 4);
  // Four split layers around a norm, which both ranks hold whole and the first one counts, are one unit, the layer behind them is another one.
  CHECK(of_norm<Between, TensorParallel<2>>().kernels == 11);
  CHECK(of_norm<Normed, Single>() == Launched{11, 86});  // five units
  CHECK(of_norm<OneBlock, Single>() == Launched{5, 35});
  // A unit is divided by the scale of the loss at once: two launches here, where clipping by values has one for the bucket of both.
  CHECK(of_norm<Mlp, Single, LossScaling>() == Launched{6, 67});
}

TEST_CASE("norms on a card are those of one device on the host within rounding, without what is tracked, and each gradient counts once") {
  const Cards card;
  CHECK(off_from_host<Mlp, Single>() < 1e-5F);
  CHECK(off_from_host<Mlp, TensorParallel<2>>() < 1e-5F);
  CHECK(off_from_host<Mlp, Hybrid<TensorParallel<2>, Sharded<2>>>() < 1e-5F);
  CHECK(off_from_host<Mlp, TensorParallel<2>, NoDecay<>>() < 1e-5F);  // biases lie behind all weights
  CHECK(off_from_host<Between, TensorParallel<2>>() < 1e-5F);
  CHECK(off_from_host<Between, Hybrid<TensorParallel<2>, Sharded<4>>>() < 1e-5F);
  CHECK(off_from_host<Normed, Single>() < 1e-5F);
  CHECK(off_from_host<OneBlock, Single>() < 1e-5F);
}

TEST_CASE("norms have the bits of one device in replicas, slices and stages, also between statistics") {
  const Cards card;
  const std::vector<float> of_mlp = on_card<Mlp, Single, Grain<2>>();
  CHECK(on_card<Mlp, DataParallel<2>, Grain<2>>() == of_mlp);
  CHECK(on_card<Mlp, Sharded<2>, Grain<2>>() == of_mlp);
  CHECK(on_card<Mlp, Hybrid<Sharded<2>, DataParallel<2>>, Grain<2>>() == of_mlp);
  CHECK(on_card<Mlp, Sharded<4, OptimizerState>, Grain<2>>() == of_mlp);
  CHECK(on_card<Mlp, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Grain<2>>() == of_mlp);
  const std::vector<float> of_block = on_card<OneBlock, Single, Grain<2>>();
  CHECK(on_card<OneBlock, DataParallel<2>, Grain<2>>() == of_block);
  CHECK(on_card<OneBlock, Sharded<2>, Grain<2>>() == of_block);
  CHECK(on_card<OneBlock, Sharded<4>, Grain<2>>() == of_block);
}
