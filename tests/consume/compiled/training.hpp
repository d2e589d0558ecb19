// SPDX-License-Identifier: MIT
// What the programs of this folder train, with what depends on no plan from headers or from the library: plans, losses, a layer of their own.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace heddle;
using namespace heddle::extending;

/// A layer that the library does not know.
struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 8, Saves::input); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x / (1 + std::exp(-x)); }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float s = 1 / (1 + std::exp(-x));
    return gradient * (s + x * s * (1 - s));
  }
};
struct Model : Sequential<Linear<20, 48>, Swish, Linear<48, 32>, ReLU, Linear<32, 10>> {};
struct Fit : Sequential<Linear<6, 16>, Tanh, Linear<16, 2>> {};

std::string line(const char* what, std::uint64_t parameters, double number) {
  char words[120];
  std::snprintf(words, sizeof words, "%s: parameters %016llx, %a\n", what, static_cast<unsigned long long>(parameters), number);
  return words;
}

template <class... Options> using Classes = Plan<Model, CrossEntropy, Adam, Batch<64>, Grain<16>, Options...>;
/// Bytes, and targets of two kinds.
struct Two : Sequential<Input<4>, Rescaling<>, Linear<4, 5>> {};
using Both = Losses<LossOf<"kind", Outputs<3>, CrossEntropy>, LossOf<"size", Outputs<2>, MeanSquaredError>>;
using Several = Plan<Two, Both, SGD, Batch<8>, Single>;
using Numbers = Plan<Fit, MeanSquaredError, MomentumSGD, Batch<8>, Clip<GlobalNorm>, TensorParallel<2>>;

/// Classes under two policies, with a file between them; then numbers, with clipping, and two losses of bytes.
std::string trained() {
  const auto data = datasets::synthetic(Seed{1}, 256, 20, 10);
  Trainer<Classes<DataParallel<2>>, CpuThreads> first{{.learning_rate = 0.01}, Seed{1}};
  for (int epoch = 1; epoch <= 2; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<64>()) first.step(batch);
  first.save("compiled.safetensors");
  Trainer<Classes<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>, CpuThreads> second{{.learning_rate = 0.01}, Seed{2}};
  second.load("compiled.safetensors");
  for (const auto& batch : data.in_order().batches<64>()) second.step(batch);
  std::string words = line("classes", first.parameter_hash(), first.accuracy(data.in_order().batches<64>()));
  words += line("loaded", second.parameter_hash(), second.evaluate(data.in_order().all()).loss);

  const std::vector<float> inputs(8 * 6, 0.5F), targets(8 * 2, -0.25F);
  Trainer<Numbers, CpuThreads> third{{.learning_rate = 0.05}, Seed{3}};
  third.clip().max_norm = 0.5;
  StepResult last;
  for (int i = 0; i < 5; ++i) last = third.step(examples(inputs, targets, 6));
  words += line("numbers", third.parameter_hash(), static_cast<double>(*last.norm));

  const std::vector<std::uint8_t> pixels(8 * 4, 51);
  Trainer<Several, CpuThreads> fourth{{.learning_rate = 0.05}, Seed{4}};
  const auto rows = examples(pixels, std::vector<std::int32_t>(8, 2), 4).with_targets(targets, 2);
  for (int i = 0; i < 3; ++i) fourth.step(rows);
  return words + line("several", fourth.parameter_hash(), fourth.accuracy<"kind">(rows));
}

}  // namespace
