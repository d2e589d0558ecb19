// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/launch.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "cuda_emulator/one_card.hpp"
#include "says.hpp"

using namespace heddle;
using namespace compute_room;
using cuda_emulator::tests::OneCard;
using on_card::Card;
using tests::sentence;

static_assert(extents_of(0).blocks == 0);
static_assert(extents_of(1).blocks == 1 && extents_of(1).threads == 256 && extents_of(1).shared_bytes == 0);
static_assert(extents_of(1000, 4).blocks == 1 && extents_of(1024, 4).blocks == 1 && extents_of(1025, 4).blocks == 2);
static_assert(extents_of(65, 1, 32).blocks == 3 && extents_of(65, 1, 32).threads == 32);
static_assert(extents_of(std::int64_t{1} << 40, 4, 1024).blocks == std::int64_t{1} << 28);

namespace {

/// Three numbers that travel in one argument.
struct Line {
  float scale, by;
  std::int64_t n;
};
/// to = scale from + by.
struct DrawLine {
  static constexpr const char* name = "DrawLine";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, Line line, const float* from, float* to) const {
    const std::int64_t i = first_of_thread<1>(b);
    if (i < line.n) to[i] = line.scale * from[i] + line.by;
  }
};

}  // namespace

TEST_CASE("arguments travel by value, and every thread of every block runs once") {
  const Card emulated({.eager = 0});  // nothing runs before it is waited for
  const OneCard card;
  const auto from = card.up(1000, 3.0F), to = card.up(1000, -1.0F);
  {
    Line line{2, 1, 999};
    launch<DrawLine>(card.stream(), extents_of(line.n), line, static_cast<const float*>(from.get()), to.get());
    line = {};
  }
  std::vector<float> wanted(1000, 7.0F);
  wanted[999] = -1;
  CHECK(card.down(to, 1000) == wanted);
  CHECK(cuda_emulator::counts().blocks == 4);
}

TEST_CASE("nothing is launched for 0 blocks") {
  const Card emulated;
  const OneCard card;
  const long calls = cuda_emulator::calls();
  launch<DrawLine>(card.stream(), extents_of(0), Line{}, static_cast<const float*>(nullptr), static_cast<float*>(nullptr));
  CHECK(cuda_emulator::calls() == calls);
}

TEST_CASE("a launch that fails is R36 with the name of the kernel, and the next one is not disturbed") {
  const Card emulated;
  const OneCard card;
  const auto from = card.up(8, 3.0F), to = card.up(8, -1.0F);
  CHECK(card.synchronize() == cudaSuccess);
  const auto draw = [&] { launch<DrawLine>(card.stream(), extents_of(8), Line{1, 1, 8}, static_cast<const float*>(from.get()), to.get()); };
  cuda_emulator::fail_call(1);
  const std::string said = sentence(draw);
  CHECK(cuda_emulator::failed_call() == "cudaLaunchKernel");
  CHECK(said.find("[heddle.R36] DrawLine failed with cudaError") == 0);
  CHECK(said.find("Fix: ") != std::string::npos);
  CHECK(card.down(to, 8) == std::vector<float>(8, -1.0F));
  draw();
  CHECK(card.down(to, 8) == std::vector<float>(8, 4.0F));
}

TEST_CASE("a call that fails is R36 with its name and that of the error") {
  CHECK_NOTHROW(check_cuda(cudaSuccess, "cudaMalloc"));
  CHECK(sentence([] { check_cuda(cudaErrorInvalidValue, "cudaMalloc"); }).find("[heddle.R36] cudaMalloc failed with cudaErrorInvalidValue: ") == 0);
  try {
    check_cuda(cudaErrorNoDevice, "cudaSetDevice");
    CHECK(false);
  } catch (const Error& error) {
    CHECK(error.code() == Code{'R', 36});
  }
}

TEST_CASE("a kernel that the program does not have for this card is R41 with the card's capability, and what compiles it") {
  const Card emulated;
  const OneCard card;
  const std::string other_card = sentence([] { check_cuda(cudaErrorNoKernelImageForDevice, "DrawLine"); });
  CHECK(other_card.find("[heddle.R41] the kernel DrawLine is not compiled for this card, which is sm_90: ") == 0);
  CHECK(other_card.find("Fix: give nvcc -arch=sm_90.") != std::string::npos);
  CHECK(sentence([] { check_cuda(cudaErrorInvalidDeviceFunction, "DrawLine"); }).find("[heddle.R41] ") == 0);
  const std::string of_old_card = "take a card of compute capability 8.0 or newer; Heddle's kernels run on no older one";
  CHECK(remedy_of_kernel(75) == of_old_card);
  CHECK(remedy_of_kernel(120) == "give nvcc -arch=sm_120");
  CHECK(remedy_of_kernel(0) == "give nvcc -arch=native");
  CHECK(sentence([] { check_cuda(cudaErrorUnsupportedPtxVersion, "DrawLine"); }).find("[heddle.R41] ") == 0);
}
