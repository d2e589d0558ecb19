// SPDX-License-Identifier: MIT
// The kernels of CUDA as every Compute is asked, run by the emulator on this machine's processor.
#include <doctest/doctest.h>

#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "conformance/layers.hpp"
#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cuda.hpp"

using namespace heddle;

namespace {

/// A card that nothing of another test has touched; what the emulator found wrong is asked at the end.
struct OneCard {
  OneCard() { cuda_emulator::reset({.seed = 7}); }
  OneCard(const OneCard&) = delete;
  OneCard& operator=(const OneCard&) = delete;
  ~OneCard() {
    CHECK(cuda_emulator::violations().empty());
    CHECK(cuda_emulator::alive() == "");
  }
};

}  // namespace

TEST_CASE("every layer computes with CUDA, emulated on this machine, what loops in double compute, of any extents and rows") {
  const OneCard card;
  conformance::for_each_of<conformance::Layers>([]<class L> { CHECK(conformance::broken_law_of_layer<L, conformance::UploadedCuda>(3) == ""); });
}

TEST_CASE("every loss computes with CUDA, emulated, what loops in double compute, whole and in parts") {
  const OneCard card;
  conformance::for_each_of<conformance::Losses>([]<class Loss> { CHECK(conformance::broken_law_of_loss<Loss, conformance::UploadedCuda>(8) == ""); });
}

TEST_CASE("every optimizer steps with CUDA, emulated, as its description says, a shard as the whole") {
  const OneCard card;
  conformance::for_each_of<conformance::Optimizers>(
      []<class O> { CHECK(conformance::broken_law_of_optimizer<O, conformance::UploadedCuda>() == ""); });
}

TEST_CASE("sums, copies and zeros of CUDA, emulated, touch their elements alone") {
  const OneCard card;
  CHECK(conformance::broken_law_of_arrays<conformance::UploadedCuda>() == "");
}
