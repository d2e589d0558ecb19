// SPDX-License-Identifier: MIT
// Order between streams: what has none differs under seeds, what has one does not, and what waits for ever is named.
#include <doctest/doctest.h>

#include <set>

#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

/// 2 (1 + 3) = 8 where the second stream comes after the first.
float result_of_two_streams(std::uint64_t seed, bool with_event) {
  reset({.seed = seed});
  float got = 0;
  {
    const OneCard first;
    const OneCard second;
    const Event between = make_event();
    const auto x = first.up(32, 1.0F);
    CHECK(first.synchronize() == cudaSuccess);
    launch<Line>(first.stream(), {1, 32}, x.get(), 1.0F, 3.0F);
    if (with_event) put_after(first.stream(), between, second.stream());
    launch<Line>(second.stream(), {1, 32}, x.get(), 2.0F, 0.0F);
    wait_for(second.stream());
    wait_for(first.stream());
    got = first.down(x, 1)[0];
  }
  check_right();
  return got;
}

TEST_CASE("two streams without an event give different results under different seeds, with one the same") {
  std::set<float> without;
  std::set<float> with;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!tsan::on) without.insert(result_of_two_streams(seed, false));  // races_test
    with.insert(result_of_two_streams(seed, true));
  }
  CHECK(with == std::set<float>{8.0F});
  if (tsan::on) return;
  CHECK(without == std::set<float>{5.0F, 8.0F});
  CHECK(result_of_two_streams(7, false) == result_of_two_streams(7, false));
}
TEST_CASE("an event is done when all before it is, and may be destroyed while it is waited for") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed, .eager = 0});
    {
      const OneCard first;
      const OneCard second;
      const auto x = first.up(32, 1.0F);
      cudaEvent_t begin = nullptr;
      cudaEvent_t end = nullptr;
      CHECK(cudaEventCreate(&begin) == cudaSuccess);
      CHECK(cudaEventCreate(&end) == cudaSuccess);
      CHECK(cudaEventQuery(begin) == cudaSuccess);  // never recorded
      CHECK(cudaEventRecord(begin, first.stream()) == cudaSuccess);
      launch<Line>(first.stream(), {1, 32}, x.get(), 1.0F, 3.0F);
      CHECK(cudaEventRecord(end, first.stream()) == cudaSuccess);
      while (cudaEventQuery(end) == cudaErrorNotReady) {
      }
      CHECK(counts().kernels == 1);
      float milliseconds = -1;
      CHECK(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess);
      CHECK(milliseconds >= 0);
      launch<Line>(first.stream(), {1, 32}, x.get(), 2.0F, 0.0F);
      CHECK(cudaEventRecord(end, first.stream()) == cudaSuccess);
      CHECK(cudaStreamWaitEvent(second.stream(), end, 0) == cudaSuccess);
      CHECK(cudaEventDestroy(end) == cudaSuccess);
      CHECK(cudaEventDestroy(begin) == cudaSuccess);
      launch<Line>(second.stream(), {1, 32}, x.get(), 1.0F, 1.0F);
      CHECK(second.down(x, 1)[0] == 9.0F);
    }
    check_right();
  }
}
TEST_CASE("nothing is done before somebody waits where calls are not eager, and all at once where they are") {
  for (const double eager : {0.0, 1.0}) {
    reset({.eager = eager});
    const OneCard card;
    const auto x = card.up(32, 1.0F);
    launch<Line>(card.stream(), {1, 32}, x.get(), 1.0F, 3.0F);
    CHECK(counts().kernels == (eager == 0.0 ? 0 : 1));
    CHECK(card.synchronize() == cudaSuccess);
    CHECK(counts().kernels == 1);
  }
}
TEST_CASE("the default stream, a stream that is gone and a stream of another card are mistakes") {
  reset({.devices = 2});
  const auto x = OneCard::unset(32);
  CHECK(cudaMemsetAsync(x.get(), 0, 4, nullptr) == cudaErrorInvalidResourceHandle);
  CHECK(says(violations(), {"The default stream is used."}));
  cudaStream_t gone = nullptr;
  CHECK(cudaStreamCreateWithFlags(&gone, cudaStreamNonBlocking) == cudaSuccess);
  CHECK(cudaStreamDestroy(gone) == cudaSuccess);
  CHECK(cudaStreamQuery(gone) == cudaErrorInvalidResourceHandle);
  CHECK(says(violations(), {"A stream is used that does not exist."}));
  const OneCard card;
  CHECK(cudaSetDevice(1) == cudaSuccess);
  CHECK_THROWS_AS(launch<Line>(card.stream(), {1, 32}, x.get(), 1.0F, 3.0F), heddle::seams_room::Error);
  CHECK(says(violations(), {"Line is queued on a stream of device 0 while device 1 is set."}));
  const Event event = make_event();
  CHECK(cudaEventRecord(event.get(), card.stream()) == cudaErrorInvalidResourceHandle);
  CHECK(cudaSetDevice(2) == cudaErrorInvalidDevice);
}
TEST_CASE("cards that are not there, and drivers that are too old, are said to be so") {
  reset({.devices = 0});
  int number = 7;
  CHECK(cudaGetDeviceCount(&number) == cudaErrorNoDevice);
  CHECK(number == 0);
  reset({.driver_version = 12040});
  CHECK(cudaGetDeviceCount(&number) == cudaErrorInsufficientDriver);
  int version = 0;
  CHECK(cudaDriverGetVersion(&version) == cudaSuccess);
  CHECK(version == 12040);
  CHECK(std::string(cudaGetErrorName(cudaErrorInsufficientDriver)) == "cudaErrorInsufficientDriver");
  reset({});
  CHECK(cudaGetDeviceCount(&number) == cudaSuccess);
  CHECK(number == 2);
}
TEST_CASE("a card says what it is") {
  reset({.devices = 2});
  int value = 0;
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1) == cudaSuccess);
  CHECK(value == 9);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0) == cudaSuccess);
  CHECK(value == 227 << 10);
  CHECK(cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 2) == cudaErrorInvalidDevice);
  char address[16];
  CHECK(cudaDeviceGetPCIBusId(address, sizeof address, 1) == cudaSuccess);
  CHECK(std::string(address) == "0000:11:00.0");
  CHECK(cudaRuntimeGetVersion(&value) == cudaSuccess);
  CHECK(value == CUDART_VERSION);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&value, entry_of<Line, float*, float, float>(), 256, 64 << 10) == cudaSuccess);
  CHECK(value == 3);
  int greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&value, &greatest) == cudaSuccess);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamDefault) == cudaSuccess);
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(violations() == std::vector<std::string>{"A stream is created that waits for the default stream."});
}
}  // namespace
