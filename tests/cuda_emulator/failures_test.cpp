// SPDX-License-Identifier: MIT
// Every call of a small program is made to fail once: the program notices each, gives back everything, and nobody waits for ever.
#include <cublasLt.h>
#include <doctest/doctest.h>

#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

struct Doubled {
  static constexpr const char* name = "Doubled";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* x) const { x[b.thread()] *= 2; }
};
/// A stream beside another, a graph of a copy, a kernel and a copy back, replayed twice. It throws where a call fails.
float program() {
  const OneCard card;
  const OneCard side;
  const Event fork = make_event();
  const Event join = make_event();
  const auto in = pinned_memory<float>(32);
  const auto out = pinned_memory<float>(32);
  const auto x = card.unset(32);
  std::fill(in.get(), in.get() + 32, 3.0F);
  const RunnableGraph graph = captured(card.stream(), [&] {
    check_cuda(cudaMemcpyAsync(x.get(), in.get(), 128, cudaMemcpyHostToDevice, card.stream()), "in");
    put_after(card.stream(), fork, side.stream());
    launch<Doubled>(side.stream(), {1, 32}, x.get());
    put_after(side.stream(), join, card.stream());
    check_cuda(cudaMemcpyAsync(out.get(), x.get(), 128, cudaMemcpyDeviceToHost, card.stream()), "out");
  });
  for (int replay = 0; replay < 2; ++replay) {
    check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
    check_cuda(cudaStreamSynchronize(card.stream()), "cudaStreamSynchronize");
  }
  return *out.get();
}

TEST_CASE("no failure of a call goes unnoticed, and none leaves anything behind") {
  reset({});
  CHECK(program() == 6.0F);
  check_right();
  const long calls = counts().fallible_calls;
  CHECK(calls > 20);
  for (long number = 1; number <= calls; ++number) {
    reset({});
    fail_call(number);
    bool noticed = false;
    try {
      static_cast<void>(program());
    } catch (const heddle::seams_room::Error& error) {
      noticed = true;
      CHECK((failed_call() == "cudaMalloc" || std::string(error.what()).find(" failed with cudaError") != std::string::npos));
    }
    CHECK_MESSAGE(noticed, failed_call());
    check_right();
  }
}
TEST_CASE("a call that fails once has the code of its kind, and works the next time") {
  reset({});
  fail_call(1);
  void* p = nullptr;
  CHECK(cudaMalloc(&p, 4) == cudaErrorMemoryAllocation);
  CHECK(failed_call() == "cudaMalloc");
  CHECK(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError() == cudaSuccess);
  CHECK(cudaMalloc(&p, 4) == cudaSuccess);
  CHECK(cudaFree(p) == cudaSuccess);
  cublasLtHandle_t handle = nullptr;
  fail_call(1);
  CHECK(cublasLtCreate(&handle) == CUBLAS_STATUS_INTERNAL_ERROR);
  fail_call(1);
  fail_call(0);
  CHECK(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(alive() == "1 handles of cuBLASLt");
  CHECK(cublasLtDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  check_right();
}
}  // namespace
