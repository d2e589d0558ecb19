// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/losses.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/against_loops.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "conformance/layers.hpp"

using namespace heddle;
using against_loops::Card;
using against_loops::RanLoss;
using conformance::CardTensors;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;

namespace {

/// A user's own loss: nothing but its two functions.
struct Quartic : graph_room::MeanOverElements<Quartic> {
  static constexpr std::string_view name() { return "Quartic"; }
  HEDDLE_HOST_DEVICE static double loss(float x, float target) {
    const auto off = static_cast<double>(x - target);
    return off * off * off * off;
  }
  HEDDLE_HOST_DEVICE static float slope(float x, float target) { return 4 * (x - target) * (x - target) * (x - target); }
};

}  // namespace

TEST_CASE("losses of each element keep the laws of every Compute") {
  const Card card;
  conformance::for_each_of<conformance::Losses>([]<class Loss> {
    if constexpr (std::same_as<typename Loss::Target, float>) CHECK(conformance::broken_law_of_loss<Loss, UploadedCuda>(40) == "");
  });
}

TEST_CASE("any number of elements, also more than all threads read at once") {
  const Card card;
  CHECK(RanLoss<MeanAbsoluteError>(7, 1237).run().off() == "");
  CHECK(RanLoss<Huber<>>(1, 4096).run().off() == "");
  CHECK(RanLoss<BinaryCrossEntropy>(3, 3 * 1000, 3).run().off() == "");
  CHECK(RanLoss<MeanSquaredError>(3, 1 << 20).run().off() == "");  // 2048 blocks read 2,097,152 at once
}

TEST_CASE("a loss of a user's own needs no kernel") {
  const Card card;
  const Floats x = drawn(30, 1), target = drawn(30, 2);
  Floats gradient(30, conformance::nan);
  const float sum = run_room::LossKernelFor<Quartic, UploadedCuda>::sum({3, 10, 8, x.data(), target.data(), gradient.data()});
  double wanted = 0;
  for (std::size_t i = 0; i < 30; ++i) {
    wanted += Quartic::loss(x[i], target[i]) / 10;
    CHECK(std::abs(static_cast<double>(gradient[i] - Quartic::slope(x[i], target[i]) / 80)) <= 2 * 0x1p-24 * 32 / 80);
  }
  CHECK(std::abs(static_cast<double>(sum) - wanted) <= 3 * 0x1p-24 * wanted);
}

TEST_CASE("a step that was captured divides by the rows of the step in hand") {
  const Card all;
  const Floats x = drawn(50, 1), target = drawn(50, 2);
  Floats gradients[2];
  for (int replay = 0; replay < 2; ++replay) {
    Floats gradient(50, conformance::nan);
    float loss = 0;
    CardTensors card;
    CudaNumbers numbers;
    numbers.total_rows = 16;
    LossCallIn<CudaMemory> call{5, 10, 0, card.given(x.data(), 50)};
    call.targets = card.given(target.data(), 50);
    call.gradient = card.made(gradient.data(), 50);
    call.loss = card.made(&loss, 1);
    call.workspace = card.scratch(LossKernel<Huber<>, CudaCompute>::scratch().value);
    call.space = card.space(numbers);
    const cudaStream_t stream = call.space.queue->stream;
    const RunnableGraph step = captured(stream, [&] { LossKernel<Huber<>, CudaCompute>::sum(call); });
    check_cuda(cudaGraphLaunch(step.get(), stream), "cudaGraphLaunch");
    numbers.total_rows = 32;
    if (replay == 1) {
      check_cuda(cudaMemcpyAsync(const_cast<CudaNumbers*>(call.space.queue->numbers), &numbers, sizeof numbers, cudaMemcpyHostToDevice, stream),
                 "cudaMemcpyAsync");
      check_cuda(cudaGraphLaunch(step.get(), stream), "cudaGraphLaunch");
    }
    card.finish();
    gradients[replay] = gradient;
  }
  for (float& slope : gradients[1]) slope *= 2;
  CHECK(equal_bits(gradients[0], gradients[1]));
}
