// SPDX-License-Identifier: MIT
// The kernels of CUDA as every Compute is asked, run by the emulator on this machine's processor.
#include <doctest/doctest.h>

#include "conformance/bfloat16.hpp"
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

TEST_CASE("layers that take bfloat16 make of it, emulated, what they make of the same floats, rounded once") {
  const OneCard card;
  int taking = 0;
  conformance::for_each_of<conformance::Layers>([&]<class L> {
    if constexpr (run_room::TakesBFloat16<L, CudaCompute>) {
      ++taking;
      CHECK(conformance::broken_law_of_bfloat16<L, conformance::UploadedCuda, conformance::UploadedHalves>(5) == "");
    }
  });
  MESSAGE(taking, " of ", std::tuple_size_v<conformance::Layers>, " layers take bfloat16");
  CHECK(taking >= 40);
}

TEST_CASE("so do losses, whole and in parts, and sums of values") {
  const OneCard card;
  conformance::for_each_of<conformance::Losses>([]<class Loss> {
    static_assert(run_room::LossTakesBFloat16<Loss, CudaCompute>);
    CHECK(conformance::broken_law_of_loss_in_bfloat16<Loss, conformance::UploadedCuda, conformance::UploadedHalves>(9) == "");
  });
  Floats a = conformance::drawn(77, 1), b = conformance::drawn(77, 2), sum(77), made(77, conformance::nan);
  conformance::keep_as_bfloat16(a);
  conformance::keep_as_bfloat16(b);
  for (std::size_t i = 0; i < a.size(); ++i) sum[i] = conformance::kept_as_bfloat16(a[i] + b[i]);
  conformance::UploadedHalves::add(made.data(), a.data(), b.data(), 77);
  CHECK(made == sum);
}

TEST_CASE("products that round their factors to TF32, emulated, are as near to loops in double as that allows, and no nearer") {
  const OneCard card;
  conformance::for_each_of<conformance::Layers>([]<class L> {
    if constexpr (conformance::asks_for_products<L>)
      CHECK(conformance::broken_law_of_layer<L, conformance::UploadedTF32>(3, conformance::Asked::all, conformance::precision_of_tf32) == "");
  });
  CHECK(conformance::broken_law_of_layer<Linear<4, 3>, conformance::UploadedTF32>(3) != "");
}
