// SPDX-License-Identifier: MIT
// Plans on cards whose convolutions and attention cuDNN computes; the emulator stands for both.
#include "heddle/backend/cuda_cudnn.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using extending::WithCuDNN;
using plans_on_cards::Cards;
using plans_on_cards::said;

namespace {

struct Pictures
    : Sequential<Input<1, 8, 8>, Conv2d<1, 4, KernelSize<3>, Padding<1>>, ReLU, Conv2d<4, 4, KernelSize<3>, Stride<2>>, Flatten, Linear<36, 10>> {};
template <class... Parts> using Of = Plan<Pictures, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
struct Seeing
    : Sequential<Input<6, 16>, Linear<16, 48>, SelfAttention<Heads<2>>, Linear<16, 48>, SelfAttention<Heads<2>, Causal>, Flatten, Linear<96, 10>> {};
using InHalves = Plan<Seeing, CrossEntropy, AdamW, Batch<4>, Single, Mixed<BFloat16>>;

struct Drawn {
  std::vector<float> pictures;
  std::vector<std::int32_t> labels;
  explicit Drawn(int rows, int seed) {
    for (int i = 0; i < rows * 64; ++i) pictures.push_back(static_cast<float>((37 * i + 11 * seed) % 127) / 128.0F);
    for (int i = 0; i < rows; ++i) labels.push_back((7 * i + seed) % 10);
  }
  [[nodiscard]] auto batch() const { return examples(pictures, labels, 64); }
};
template <class ThePlan, class Backend> std::vector<float> weights_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Drawn(8, s).batch());
  return trainer.parameter("1.weight");
}
double apart(const std::vector<float>& a, const std::vector<float>& b) {
  double far = 0;
  for (std::size_t i = 0; i < a.size(); ++i) far = std::max(far, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return far;
}

}  // namespace

TEST_CASE("convolutions by cuDNN, emulated: all policies train as cores do, and each has its bits again") {
  const Cards cards{{.devices = 2}};
  using OnCard = WithCuDNN<CudaOneCard>;
  const std::vector<float> cores = weights_after<Of<Single>, CpuThreads>(4);
  CHECK(apart(weights_after<Of<Single>, OnCard>(4), cores) < 1e-4);
  CHECK(cuda_emulator::counts().convolutions > 0);
  CHECK(weights_after<Of<Single>, OnCard>(4) == weights_after<Of<Single>, OnCard>(4));
  CHECK(apart(weights_after<Of<DataParallel<4>>, OnCard>(4), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, OnCard>(4), cores) < 1e-4);
  CHECK(apart(weights_after<Of<DataParallel<2>>, WithCuDNN<CudaThreads>>(4), cores) < 1e-4);
  const std::vector<float> rounded = weights_after<Of<Single>, AllowTF32<OnCard>>(4);
  CHECK(rounded != weights_after<Of<Single>, OnCard>(4));
  CHECK(apart(rounded, cores) < 1e-2);
}

TEST_CASE("a trainer says at construction by what each layer is computed; without a library it says nothing") {
  const Cards cards{};
  const Trainer<Of<Single>, CudaOneCard> alone{{}, Seed{1}};
  Trainer<Of<Pipeline<Balanced<2>>>, WithCuDNN<CudaOneCard>> trainer{{}, Seed{1}};
  const std::vector<std::string> all = trainer.session().layers_of_library();
  REQUIRE(all.size() == 2);
  CHECK(all[0].find("Conv2d of 8 rows of (1, 8, 8) to (4, 8, 8), windows of 3 x 3, is computed by cuDNN: algorithms ") == 0);
  CHECK(all[1].find("Conv2d of 8 rows of (4, 8, 8) to (4, 3, 3), windows of 3 x 3, is computed by cuDNN: algorithms ") == 0);
}

TEST_CASE("the third step of a kind is one launch of a graph: no allocation, no descriptor, no question to a heuristic") {
  const Cards cards{};
  Trainer<Of<DataParallel<2>>, WithCuDNN<CudaOneCard>> trainer{{}, Seed{1}};
  const long asked = cuda_emulator::counts().heuristics;
  trainer.step(Drawn(8, 0).batch());
  trainer.step(Drawn(8, 1).batch());
  const cuda_emulator::Counts before = cuda_emulator::counts();
  CHECK(asked > 0);
  trainer.step(Drawn(8, 2).batch());
  const cuda_emulator::Counts after = cuda_emulator::counts();
  CHECK(after.graph_launches - before.graph_launches == 1);
  CHECK(after.allocations == before.allocations);
  CHECK(after.descriptors == before.descriptors);
  CHECK(after.heuristics == before.heuristics);
  CHECK(after.convolutions - before.convolutions == 2 * 5);  // two ranks: two forwards, two gradients of weights, one of an input
}

TEST_CASE("under Mixed attention is cuDNN's, causal or not") {
  const Cards cards{};
  std::vector<float> values;
  for (int i = 0; i < 4 * 96; ++i) values.push_back(static_cast<float>(i * 37 % 127) / 128.0F);
  const std::vector<std::int32_t> labels{1, 2, 3, 4};
  const auto loss = [&]<class Backend>(Backend) {
    Trainer<InHalves, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
    double last = 0;
    for (int s = 0; s < 4; ++s) last = trainer.step(examples(values, labels, 96)).loss.value();
    return last;
  };
  const double cores = loss(CpuThreads{}), kernels = loss(CudaOneCard{});
  CHECK(cuda_emulator::counts().attentions == 0);
  CHECK(std::abs(loss(WithCuDNN<CudaOneCard>{}) - cores) < 0.02 * cores);
  CHECK(std::abs(kernels - cores) < 0.02 * cores);
  CHECK(cuda_emulator::counts().attentions == 4 * 4);
  Trainer<InHalves, WithCuDNN<CudaOneCard>> trainer{{}, Seed{3}};
  const std::vector<std::string> all = trainer.session().layers_of_library();
  REQUIRE(all.size() == 2);
  CHECK(all[0] == "SelfAttention of 4 sequences of 6 positions, 2 heads of 8 features is computed by cuDNN.");
  CHECK(all[1] == "SelfAttention of 4 sequences of 6 positions, 2 heads of 8 features, causal, is computed by cuDNN.");
}

TEST_CASE("each call of cuDNN that fails is one sentence, and nothing is left alive") {
  cuda_emulator::reset({.devices = 1});
  const auto trains = [] {
    Trainer<Of<Single>, WithCuDNN<CudaOneCard>> trainer{{}, Seed{1}};
    for (int s = 0; s < 3; ++s) trainer.step(Drawn(8, s).batch());
  };
  CHECK(said(trains) == "");
  const long calls = cuda_emulator::counts().fallible_calls;
  int of_cudnn = 0;
  for (long number = 1; number <= calls; ++number) {
    cuda_emulator::reset({.devices = 1});
    cuda_emulator::fail_call(number);
    const std::string words = said(trains);
    CAPTURE(cuda_emulator::failed_call());
    if (cuda_emulator::failed_call().find("cudnn") != 0) continue;
    ++of_cudnn;
    CHECK(words.find("[heddle.R36] cudnn") == 0);
    CHECK(cuda_emulator::violations().empty());
    CHECK(cuda_emulator::alive() == "");
  }
  CHECK(of_cudnn > 40);
}
