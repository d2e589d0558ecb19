// SPDX-License-Identifier: MIT
// Plans on cards whose products are tried before the first step; the emulator stands for cards, and says how long each way takes.
#include "heddle/backend/cuda_autotuned.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/backend/cuda_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using extending::Autotuned;
using plans_on_cards::Cards;
using plans_on_cards::said;

namespace {

struct Net : Sequential<Linear<16, 32>, GELUTanh, Linear<32, 24>, ReLU, Linear<24, 10>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, AdamW, Batch<16, KeepLast>, Parts...>;
constexpr cuda_emulator::Options timed{.devices = 2, .known_times = true, .fastest = 2, .relu_keeps_nan = true};

struct Drawn {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  Drawn(int rows, int seed) {
    for (int i = 0; i < rows * 16; ++i) inputs.push_back(static_cast<float>((37 * i + 11 * seed) % 127 - 60) / 64.0F);
    for (int i = 0; i < rows; ++i) labels.push_back((7 * i + seed) % 10);
  }
  [[nodiscard]] auto batch() const { return examples(inputs, labels, 16); }
};
template <class ThePlan, class Backend> std::vector<float> weights_after(int steps) {
  Trainer<ThePlan, Backend> trainer{{.learning_rate = 1e-2}, Seed{3}};
  for (int s = 0; s < steps; ++s) trainer.step(Drawn(s == 2 ? 11 : 16, s).batch());
  return trainer.parameter("2.weight");
}
double apart(const std::vector<float>& a, const std::vector<float>& b) {
  double far = 0;
  for (std::size_t i = 0; i < a.size(); ++i) far = std::max(far, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return far;
}
int count(const std::vector<std::string>& all, const std::string& words) {
  return static_cast<int>(std::count_if(all.begin(), all.end(), [&](const std::string& s) { return s.find(words) != std::string::npos; }));
}

}  // namespace

TEST_CASE("tuned plans train as cores do under all policies, and with the emulated times that are best together") {
  const Cards cards{timed};
  const std::vector<float> cores = weights_after<Of<Single>, CpuThreads>(5);
  const std::vector<float> tuned = weights_after<Of<Single>, Autotuned<CudaOneCard>>(5);
  CHECK(apart(tuned, cores) < 1e-4);
  CHECK(tuned != weights_after<Of<Single>, CudaOneCard>(5));
  CHECK(tuned == weights_after<Of<Single>, Autotuned<CudaOneCard>>(5));
  CHECK(apart(weights_after<Of<DataParallel<2>>, Autotuned<CudaOneCard>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<TensorParallel<2>>, Autotuned<CudaOneCard>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Autotuned<CudaOneCard>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Sharded<2>>, Autotuned<CudaThreads>>(5), cores) < 1e-4);
  CHECK(apart(weights_after<Of<Single>, AllowTF32<Autotuned<CudaOneCard>>>(5), cores) < 1e-2);
  using InHalves = Plan<Net, CrossEntropy, SGD, Batch<16, KeepLast>, Single, Mixed<BFloat16>>;
  const std::vector<float> start = weights_after<InHalves, CpuThreads>(0), halves = weights_after<InHalves, CpuThreads>(5);
  CHECK(apart(weights_after<InHalves, Autotuned<CudaOneCard>>(5), halves) < 0.03 * apart(halves, start));
}

TEST_CASE("a trainer says what was found; without the word it says nothing") {
  const Cards cards{timed};
  const Trainer<Of<Single>, CudaOneCard> alone{{}, Seed{1}};
  Trainer<Of<Single>, Autotuned<CudaOneCard>> trainer{{}, Seed{1}};
  const std::vector<std::string> all = trainer.session().layers_of_library();
  CHECK(count(all, ", so together.") == 6);
}
