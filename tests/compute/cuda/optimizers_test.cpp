// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/optimizers.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "compute/own_optimizer.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

using namespace heddle;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;
using on_card::Card;
using own_optimizer::Averaged;
using own_optimizer::options;

namespace {

/// One of no state, whose steps are all alike: its constants are empty.
struct Signs {
  static constexpr int states = 0;
  struct Options {
    double learning_rate = 0;
  };
  struct Constants {};
  static constexpr std::string_view name() { return "Signs"; }
  static Constants constants(const Options&, std::int64_t) { return {}; }
  HEDDLE_HOST_DEVICE static void update(const Constants&, float& parameter, float gradient) {
    parameter -= gradient > 0 ? 0.125F : gradient < 0 ? -0.125F : 0.0F;
  }
  static Diagnosis check(const Options&) { return {}; }
};

/// Parameters and states behind one another, after so many steps, beginning with elements `first` to `first + n` of the same numbers.
template <class O> Floats after(int steps, std::int64_t first, std::int64_t n) {
  const auto part = [&](std::uint64_t seed) {
    const Floats whole = drawn(first + n, seed);
    return Floats(whole.begin() + first, whole.end());
  };
  Floats p = part(1), s(p.size()), t(p.size());
  float* const states[] = {s.data(), t.data()};
  for (int step = 1; step <= steps; ++step) {
    const Floats g = part(static_cast<std::uint64_t>(step + 1));
    run_room::OptimizerKernelFor<O, UploadedCuda>::step(O::constants(options<O>(), step), n, p.data(), g.data(), states);
  }
  p.insert(p.end(), s.begin(), s.end());
  p.insert(p.end(), t.begin(), t.end());
  return p;
}

}  // namespace

TEST_CASE_TEMPLATE("a step on a card is the update of every element, and a shard steps as the whole", O, SGD, MomentumSGD, Adam, AdamW, Averaged,
                   Signs) {
  const Card card;
  CHECK(conformance::broken_law_of_optimizer<O, UploadedCuda>() == "");
}

TEST_CASE_TEMPLATE("elements of any block have the bits of the description's own function", O, SGD, MomentumSGD, Adam, AdamW, Averaged, Signs) {
  const Card card;
  const std::int64_t n = 3 * 1024 + 16;
  const Floats whole = after<O>(3, 0, n), again = after<O>(3, 0, n);
  CHECK(equal_bits(whole, again));
  for (const std::int64_t first : {0, 1, 1007, 3072}) {
    const Floats part = after<O>(3, first, 16);
    for (std::int64_t k = 0; k < 3; ++k)
      for (std::int64_t i = 0; i < 16; ++i) CHECK(part[static_cast<std::size_t>(16 * k + i)] == whole[static_cast<std::size_t>(n * k + first + i)]);
  }
}

TEST_CASE("the constants are those of the card when a captured step is replayed") {
  const Card card;
  const std::size_t n = 48;
  const Stream stream = make_stream();
  const CardMemory<float> p = card_memory<float>(n, "p"), g = card_memory<float>(n, "g");
  const CardMemory<SGD::Constants> there = card_memory<SGD::Constants>(1, "constants");
  const CudaQueue queue{stream.get(), nullptr, nullptr};
  const Floats ones(n, 1.0F);
  check_cuda(cudaMemcpyAsync(p.get(), ones.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  check_cuda(cudaMemcpyAsync(g.get(), ones.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  wait_for(stream.get());
  const StepCallIn<CudaMemory> call{static_cast<std::int64_t>(n), p.get(), g.get(), nullptr, {&queue}};
  const RunnableGraph graph = captured(stream.get(), [&] { OptimizerKernel<SGD, CudaCompute>::step(there.get(), call); });
  float wanted = 1;
  for (const float rate : {0.5F, 0.25F}) {
    const SGD::Constants constants{rate, 0};
    check_cuda(cudaMemcpyAsync(there.get(), &constants, sizeof constants, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
    check_cuda(cudaGraphLaunch(graph.get(), stream.get()), "cudaGraphLaunch");
    Floats made(n);
    check_cuda(cudaMemcpyAsync(made.data(), p.get(), n * sizeof(float), cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
    wait_for(stream.get());
    wanted -= rate;
    CHECK(equal_bits(made, Floats(n, wanted)));
  }
}

TEST_CASE("a step that holds changes neither parameters nor states") {
  const Card card;
  const std::size_t n = 48;
  const Stream stream = make_stream();
  const CardMemory<float> p = card_memory<float>(n, "p"), g = card_memory<float>(n, "g"), m = card_memory<float>(n, "m"),
                          v = card_memory<float>(n, "v");
  const CardMemory<AdamW::Constants> there = card_memory<AdamW::Constants>(1, "constants");
  const CardMemory<CudaNumbers> numbers = card_memory<CudaNumbers>(1, "numbers");
  const CudaQueue queue{stream.get(), nullptr, numbers.get()};
  const Floats ones(n, 1.0F);
  for (const auto* array : {&p, &g, &m, &v})
    check_cuda(cudaMemcpyAsync(array->get(), ones.data(), n * sizeof(float), cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  const AdamW::Constants constants = AdamW::constants({.learning_rate = 0.1}, 1);
  check_cuda(cudaMemcpyAsync(there.get(), &constants, sizeof constants, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  float* const states[] = {m.get(), v.get()};
  const StepCallIn<CudaMemory> call{static_cast<std::int64_t>(n), p.get(), g.get(), states, {&queue}};
  for (const float holds : {1.0F, 0.0F}) {
    CudaNumbers of_step;
    of_step.holds = holds;
    check_cuda(cudaMemcpyAsync(numbers.get(), &of_step, sizeof of_step, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
    OptimizerKernel<AdamW, CudaCompute>::step(there.get(), call);
    for (const auto* array : {&p, &m, &v}) {
      Floats made(n);
      check_cuda(cudaMemcpyAsync(made.data(), array->get(), n * sizeof(float), cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
      wait_for(stream.get());
      CHECK(equal_bits(made, ones) == (holds > 0 || array != &p));  // means of ones stay 1
    }
  }
}
