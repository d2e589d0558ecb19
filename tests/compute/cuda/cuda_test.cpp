// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/cuda.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "cuda_emulator/one_card.hpp"

using namespace heddle;
using cuda_emulator::tests::OneCard;
using on_card::Card;

static_assert(std::is_same_v<seams_room::SpaceOf<CudaCompute>, CudaMemory>);
static_assert(std::is_trivially_copyable_v<CudaNumbers>);

namespace {
std::vector<float> drawn(std::size_t n, std::uint64_t seed) {
  const Floats numbers = conformance::drawn(static_cast<std::int64_t>(n), seed);
  return {numbers.begin(), numbers.end()};
}
}  // namespace

TEST_CASE("sums, copies and zeros touch their elements alone, also where the target is an operand") {
  const Card emulated;
  CHECK(conformance::broken_law_of_arrays<conformance::UploadedCuda>() == "");
}

TEST_CASE("a sum of many blocks has the bits of a loop, wherever its arrays begin") {
  const Card emulated;
  const OneCard card;
  const CudaQueue queue{card.stream(), nullptr, nullptr};
  const std::size_t room = 5003;
  const std::vector<float> a = drawn(room, 1), b = drawn(room, 2), before = drawn(room, 3);
  const auto on_card_a = card.up(a), on_card_b = card.up(b);
  for (const int shift : {0, 1, 4})
    for (const std::int64_t n : {1023, 1024, 1025, 4999}) {
      const auto target = card.up(before);
      CudaCompute::add({&queue}, target.get() + shift, on_card_a.get() + shift, on_card_b.get(), n);
      std::vector<float> wanted = before;
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
        wanted[i + static_cast<std::size_t>(shift)] = a[i + static_cast<std::size_t>(shift)] + b[i];
      CHECK(card.down(target, room) == wanted);
    }
}

TEST_CASE("nothing is queued for no element, nor for a copy to its own place") {
  const Card emulated;
  const OneCard card;
  const CudaQueue queue{card.stream(), nullptr, nullptr};
  const auto x = card.up(8, 1.0F);
  const long calls = cuda_emulator::calls();
  CudaCompute::add({&queue}, x.get(), x.get(), x.get(), 0);
  CudaCompute::copy({&queue}, x.get() + 4, x.get(), 0);
  CudaCompute::copy({&queue}, x.get(), x.get(), 8);
  CudaCompute::zero({&queue}, x.get(), 0);
  CHECK(cuda_emulator::calls() == calls);
  CHECK(card.down(x, 8) == std::vector<float>(8, 1.0F));
}

TEST_CASE("sums, copies and zeros can be captured, and are in the order of the queue") {
  const Card emulated;
  const OneCard card;
  const CudaQueue queue{card.stream(), nullptr, nullptr};
  const auto x = card.up(8, 1.0F), y = card.up(8, 5.0F);
  const RunnableGraph graph = captured(card.stream(), [&] {
    CudaCompute::add({&queue}, x.get(), x.get(), x.get(), 8);
    CudaCompute::copy({&queue}, y.get(), x.get(), 8);
    CudaCompute::zero({&queue}, x.get(), 4);
  });
  check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
  check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
  CHECK(card.down(y, 8) == std::vector<float>{0, 0, 0, 0, 4, 4, 4, 4});
  CHECK(card.down(x, 8) == std::vector<float>{0, 0, 0, 0, 4, 4, 4, 4});
}
