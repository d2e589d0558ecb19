// SPDX-License-Identifier: MIT
// What may be captured and what may not, with the error codes of the real runtime, and how a graph is replayed.
#include <doctest/doctest.h>

#include <set>
#include <thread>

#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

/// What the body returns within a capture, and what the capture's end returns.
template <class Body> std::pair<cudaError_t, cudaError_t> in_capture(Body&& body, cudaStreamCaptureMode mode = cudaStreamCaptureModeThreadLocal) {
  reset({});
  const OneCard card;
  const auto x = card.up(32, 1.0F);
  CHECK(card.synchronize() == cudaSuccess);
  CHECK(cudaStreamBeginCapture(card.stream(), mode) == cudaSuccess);
  const cudaError_t inside = body(card, x.get());
  cudaGraph_t graph = nullptr;
  const cudaError_t end = cudaStreamEndCapture(card.stream(), &graph);
  if (graph != nullptr) CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  return {inside, end};
}
using Codes = std::pair<cudaError_t, cudaError_t>;
constexpr Codes refused{cudaErrorStreamCaptureUnsupported, cudaErrorStreamCaptureInvalidated};

TEST_CASE("allocation, waiting and pageable copies are refused in a capture, which is invalid then") {
  CHECK(in_capture([](const OneCard&, float*) {
          void* p = nullptr;
          return cudaMalloc(&p, 4);
        }) == refused);
  CHECK(says(violations(), {"cudaMalloc is called while a stream captures."}));
  CHECK(in_capture([](const OneCard& card, float*) { return cudaStreamSynchronize(card.stream()); }) == refused);
  CHECK(says(violations(), {"cudaStreamSynchronize asks about a stream that captures."}));
  CHECK(in_capture([](const OneCard& card, float*) { return cudaStreamQuery(card.stream()); }) == refused);
  CHECK(in_capture([](const OneCard&, float*) { return cudaDeviceSynchronize(); }) == refused);
  CHECK(in_capture([](const OneCard& card, float* x) {
          float host = 0;
          return cudaMemcpyAsync(x, &host, 4, cudaMemcpyHostToDevice, card.stream());
        }) == refused);
  CHECK(says(violations(), {"cudaMemcpyAsync is given pageable memory while the stream captures."}));
  CHECK(in_capture([](const OneCard&, float* x) { return cudaMemset(x, 0, 4); }).first == cudaErrorStreamCaptureImplicit);
  CHECK(in_capture([](const OneCard& card, float* x) { return cudaMemsetAsync(x, 0, 4, card.stream()); }) == Codes{cudaSuccess, cudaSuccess});
  CHECK(violations().empty());
}
TEST_CASE("events of a capture stay in it, and streams that came in lead back") {
  CHECK(in_capture([](const OneCard& card, float*) {
          const Event event = make_event();
          check_cuda(cudaEventRecord(event.get(), card.stream()), "record");
          return cudaEventQuery(event.get());
        }) == Codes{cudaErrorCapturedEvent, cudaErrorStreamCaptureInvalidated});
  CHECK(in_capture([](const OneCard& card, float*) {
          const OneCard outside;
          const Event event = make_event();
          check_cuda(cudaEventRecord(event.get(), outside.stream()), "record");
          return cudaStreamWaitEvent(card.stream(), event.get(), 0);
        }) == Codes{cudaErrorStreamCaptureIsolation, cudaErrorStreamCaptureInvalidated});
  reset({});
  const OneCard card;
  const OneCard side;
  const auto x = card.up(32, 1.0F);
  const Event fork = make_event();
  CHECK(cudaStreamBeginCapture(card.stream(), cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(cudaStreamBeginCapture(card.stream(), cudaStreamCaptureModeThreadLocal) == cudaErrorIllegalState);
  put_after(card.stream(), fork, side.stream());
  launch<Line>(side.stream(), {1, 32}, x.get(), 1.0F, 1.0F);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(card.stream(), &graph) == cudaErrorStreamCaptureUnjoined);
  CHECK(graph == nullptr);
  CHECK(says(refusals(), {"does not lead back"}));  // as after an exception in a capture
  CHECK(cudaStreamEndCapture(card.stream(), &graph) == cudaErrorIllegalState);
}
TEST_CASE("an event of a capture that has ended is recorded anew before anybody waits for it or asks about it") {
  reset({});
  const OneCard card;
  const OneCard side;
  const Event event = make_event();
  const auto x = card.up(32, 1.0F);
  CHECK(card.synchronize() == cudaSuccess);
  CHECK(cudaEventRecord(event.get(), card.stream()) == cudaSuccess);
  static_cast<void>(captured(card.stream(), [&] {
    launch<Line>(card.stream(), {1, 32}, x.get(), 1.0F, 1.0F);
    check_cuda(cudaEventRecord(event.get(), card.stream()), "record");
  }));
  CHECK(cudaStreamWaitEvent(side.stream(), event.get(), 0) == cudaErrorCapturedEvent);
  CHECK(cudaEventQuery(event.get()) == cudaErrorCapturedEvent);
  CHECK(cudaEventSynchronize(event.get()) == cudaErrorCapturedEvent);
  CHECK(says(violations(), {"cudaStreamWaitEvent is given an event that was recorded last in a capture, which has ended."}));
  CHECK(cudaEventRecord(event.get(), card.stream()) == cudaSuccess);
  CHECK(cudaStreamWaitEvent(side.stream(), event.get(), 0) == cudaSuccess);
  CHECK(cudaEventSynchronize(event.get()) == cudaSuccess);
}
TEST_CASE("a capture of this thread leaves other threads alone unless its mode is global, and ends where it began") {
  for (const auto mode : {cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeGlobal}) {
    cudaError_t elsewhere = cudaSuccess;
    const Codes codes = in_capture(
        [&](const OneCard&, float*) {
          std::thread([&] {
            void* p = nullptr;
            elsewhere = cudaMalloc(&p, 4);
            if (p != nullptr) elsewhere = cudaFree(p);
          }).join();
          return cudaSuccess;
        },
        mode);
    const bool global = mode == cudaStreamCaptureModeGlobal;
    CHECK(elsewhere == (global ? cudaErrorStreamCaptureUnsupported : cudaSuccess));
    CHECK(codes.second == (global ? cudaErrorStreamCaptureInvalidated : cudaSuccess));
  }
  const Codes codes = in_capture([](const OneCard& card, float*) {
    cudaError_t there = cudaSuccess;
    std::thread([&] {
      cudaGraph_t graph = nullptr;
      there = cudaStreamEndCapture(card.stream(), &graph);
    }).join();
    return there;
  });
  CHECK(codes == Codes{cudaErrorStreamCaptureWrongThread, cudaErrorStreamCaptureInvalidated});
}

/// x becomes 2 (x + 3) on two streams; whether the second waits for the first.
float replayed(std::uint64_t seed, bool with_event, int times) {
  reset({.seed = seed});
  float got = 0;
  {
    const OneCard card;
    const OneCard side;
    const Event fork = make_event();
    const Event between = make_event();
    const Event join = make_event();
    const auto in = pinned_memory<float>(32);
    const auto out = pinned_memory<float>(32);
    const auto x = card.unset(32);
    const RunnableGraph graph = captured(card.stream(), [&] {
      check_cuda(cudaMemcpyAsync(x.get(), in.get(), 32 * sizeof(float), cudaMemcpyHostToDevice, card.stream()), "in");
      put_after(card.stream(), fork, side.stream());
      launch<Line>(card.stream(), {1, 32}, x.get(), 1.0F, 3.0F);
      if (with_event) put_after(card.stream(), between, side.stream());
      launch<Line>(side.stream(), {1, 32}, x.get(), 2.0F, 0.0F);
      put_after(side.stream(), join, card.stream());
      check_cuda(cudaMemcpyAsync(out.get(), x.get(), 32 * sizeof(float), cudaMemcpyDeviceToHost, card.stream()), "out");
    });
    CHECK(counts().kernels == 0);
    for (int time = 1; time <= times; ++time) {
      std::fill(in.get(), in.get() + 32, static_cast<float>(time));
      check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
      wait_for(card.stream());
      got = out.get()[31];
    }
    CHECK(counts().graph_launches == times);
    CHECK(counts().kernels == 2 * times);
  }
  check_right();
  return got;
}
TEST_CASE("nodes without an edge run in any order, and each replay reads what pinned memory holds now") {
  std::set<float> without;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!tsan::on) without.insert(replayed(seed, false, 1));  // races_test
    CHECK(replayed(seed, true, 3) == 12.0F);
  }
  if (!tsan::on) CHECK(without == std::set<float>{5.0F, 8.0F});
}
TEST_CASE("launches of one graph do not overlap, whatever their streams are") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed});
    {
      const OneCard card;
      const OneCard other;
      const auto x = card.up(32, 1.0F);
      CHECK(card.synchronize() == cudaSuccess);
      const RunnableGraph graph = captured(card.stream(), [&] {
        launch<Line>(card.stream(), {1, 32}, x.get(), 1.0F, 3.0F);
        launch<Line>(card.stream(), {1, 32}, x.get(), 2.0F, 0.0F);
      });
      for (const OneCard* const on : {&card, &other, &card}) CHECK(cudaGraphLaunch(graph.get(), on->stream()) == cudaSuccess);
      wait_for(other.stream());
      CHECK(card.down(x, 1)[0] == 50.0F);
    }
    check_right();
  }
}
TEST_CASE("a graph counts its nodes, and is used only while it is there") {
  reset({});
  const OneCard card;
  const auto x = card.unset(32);
  CHECK(cudaStreamBeginCapture(card.stream(), cudaStreamCaptureModeRelaxed) == cudaSuccess);
  cudaStreamCaptureStatus status{};
  CHECK(cudaStreamIsCapturing(card.stream(), &status) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(cudaMemsetAsync(x.get(), 0, 128, card.stream()) == cudaSuccess);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(card.stream(), &graph) == cudaSuccess);
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes) == cudaSuccess);
  CHECK(nodes == 1);
  CHECK(alive() == "1 allocations, 1 graphs, 1 streams");
  CHECK(cudaGraphDestroy(graph) == cudaSuccess);
  CHECK(cudaGraphDestroy(graph) == cudaErrorInvalidValue);
  cudaGraphExec_t runnable = nullptr;
  CHECK(cudaGraphInstantiate(&runnable, graph, 0) == cudaErrorInvalidValue);
  CHECK(cudaGraphLaunch(runnable, card.stream()) == cudaErrorInvalidResourceHandle);
  CHECK(says(violations(), {"A runnable graph is used that does not exist."}));
}
}  // namespace
