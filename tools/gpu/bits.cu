// SPDX-License-Identifier: MIT
// Which of Heddle's functions of one element have the same bits on this card as on the host: the functions themselves, compiled for both.
// Compiled twice, with and without -fmad=false: a fused multiply-add rounds once where the host rounds twice.
#include <cmath>
#include <cstring>
#include <heddle/core/random.hpp>
#include <heddle/heddle.hpp>
#include <string_view>

#include "card.hpp"

namespace {
using heddle::AdamW, heddle::GELU, heddle::ReLU, heddle::Seed, heddle::SGD, heddle::Sigmoid, heddle::SwiGLU, heddle::Tanh;
namespace core_room = heddle::core_room;
using namespace gpu_check;

constexpr int elements = 1 << 20;
constexpr Seed seed{7};

/// Three draws for an element: x of some tenths to tens, g around 1, positive.
struct Draws {
  float x, g, positive;
};
HEDDLE_HOST_DEVICE inline Draws draws(std::uint64_t element) {
  const float x = core_room::uniform(seed, 1, element, -8.0F, 8.0F);
  const float g = core_room::uniform(seed, 2, element, -1.0F, 1.0F);
  return {x, g, core_room::uniform(seed, 3, element, 1e-6F, 4.0F)};
}

struct UniformDraw {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return core_room::uniform(seed, 5, i, -0.25F, 0.25F); }
};
struct NormalDraw {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return core_room::normal(seed, 5, i); }
};
struct Quotient {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return draws(i).g / draws(i).x; }
};
struct Root {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return std::sqrt(draws(i).positive); }
};
struct Exponential {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return std::exp(draws(i).x); }
};
struct Logarithm {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return std::log(draws(i).positive); }
};
struct ErrorFunction {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return std::erf(draws(i).x * 0.5F); }
};
struct TanhForward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return Tanh::forward(draws(i).x); }
};
struct TanhBackward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return Tanh::backward(draws(i).g, draws(i).x); }
};
struct ReLUBackward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return ReLU::backward(draws(i).x, draws(i).g); }
};
struct SigmoidForward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return Sigmoid::forward(draws(i).x); }
};
struct GELUForward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return GELU::forward(draws(i).x); }
};
struct GELUBackward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return GELU::backward(draws(i).x, draws(i).g); }
};
struct SwiGLUForward {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) { return SwiGLU::let_through(draws(i).x, draws(i).g); }
};
struct SGDStep {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) {
    SGD::Constants c{};
    c.learning_rate = 0.1F;
    c.weight_decay = 0.01F;
    float parameter = draws(i).x;
    SGD::update(c, parameter, draws(i).g);
    return parameter;
  }
};
struct AdamWStep {
  HEDDLE_HOST_DEVICE static float of(std::uint64_t i) {
    AdamW::Constants c{};
    c.new_first = 0.1F;
    c.beta2 = 0.999F;
    c.new_second = 0.001F;
    c.step_size = 1e-3F;
    c.root_scale = 1.3F;
    c.epsilon = 1e-8F;
    c.decay = 0.99999F;
    float parameter = draws(i).x;
    float first = draws(i).g * 0.5F;
    float second = draws(i).positive;
    AdamW::update(c, parameter, draws(i).g, first, second);
    return parameter;
  }
};

template <class Function> __global__ void on_card(float* to) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < elements) to[i] = Function::of(i);
}
/// Floats as integers in their order, so that a difference counts steps of the last place.
std::int64_t place(float x) {
  std::int32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits < 0 ? -static_cast<std::int64_t>(bits & 0x7fffffff) : bits;
}
template <class Function> void row(std::string_view name) {
  Memory<float> memory(elements);
  on_card<Function><<<elements / 256, 256>>>(memory.get());
  check(cudaGetLastError(), "kernel");
  const std::vector<float> card = memory.read();
  int differ = 0;
  std::int64_t most = 0;
  for (int i = 0; i < elements; ++i) {
    const float host = Function::of(static_cast<std::uint64_t>(i));
    const std::int64_t steps = std::abs(place(host) - place(card[static_cast<std::size_t>(i)]));
    differ += steps != 0 ? 1 : 0;
    most = std::max(most, steps);
  }
  std::printf("| %-28s | %9d | %6lld |\n", std::string(name).c_str(), differ, static_cast<long long>(most));
}
}  // namespace

int main() {
  std::printf("## Bits of functions of one element, card beside host, compiled with %s\n\n", HEDDLE_CONTRACTION);
  std::printf("| function | differ of %d | most steps of the last place |\n|---|---|---|\n", elements);
  row<UniformDraw>("uniform draw");
  row<NormalDraw>("normal draw");
  row<Quotient>("a / b");
  row<Root>("sqrt");
  row<Exponential>("exp");
  row<Logarithm>("log");
  row<ErrorFunction>("erf");
  row<ReLUBackward>("ReLU backward");
  row<TanhForward>("Tanh forward");
  row<TanhBackward>("Tanh backward");
  row<SigmoidForward>("Sigmoid forward");
  row<GELUForward>("GELU forward");
  row<GELUBackward>("GELU backward");
  row<SwiGLUForward>("SwiGLU forward");
  row<SGDStep>("SGD step");
  row<AdamWStep>("AdamW step");
  return 0;
}
