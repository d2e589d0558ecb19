// SPDX-License-Identifier: MIT
// Room: compute. Owners of what the CUDA runtime hands out, and waiting that can be given up.
// Sees: compute/cuda/launch.  Does not see: tensors, layers.
// In: nothing.  Out: Owner, CardMemory, PinnedMemory, Stream, Event, CapturedGraph, RunnableGraph, captured, is_done, wait_for.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

#include "heddle/compute/cuda/launch.hpp"
#include "heddle/core/grouped_digits.hpp"

namespace heddle::compute_room {

/// Gives back with `Release`; what that returns is dropped, since a destructor does not throw.
///
/// Tested  compute/cuda/resources_test
template <class Handle, class Release> class Owner {
 public:
  Owner() = default;
  explicit Owner(Handle handle) : handle_(handle) {}
  Owner(Owner&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owner& operator=(Owner&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    if (handle_ != Handle{}) static_cast<void>(Release{}(handle_));
  }
  [[nodiscard]] Handle get() const { return handle_; }
  [[nodiscard]] Handle* slot() { return &handle_; }

 private:
  Handle handle_{};
};

// A lambda as template argument in a header has no linkage with g++ 12: releases are types with names.
/// Gives back memory of a card.
struct FreeCard {
  cudaError_t operator()(void* p) const { return cudaFree(p); }
};
/// Gives back pinned memory of the host.
struct FreePinned {
  cudaError_t operator()(void* p) const { return cudaFreeHost(p); }
};
/// Ends a stream; what it has been given is done all the same.
struct DestroyStream {
  cudaError_t operator()(cudaStream_t s) const { return cudaStreamDestroy(s); }
};
/// Gives back an event.
struct DestroyEvent {
  cudaError_t operator()(cudaEvent_t e) const { return cudaEventDestroy(e); }
};
/// Gives back a graph that was captured; what was made of it to be run stays.
struct DestroyGraph {
  cudaError_t operator()(cudaGraph_t g) const { return cudaGraphDestroy(g); }
};
/// Gives back a graph that can be run.
struct DestroyRunnable {
  cudaError_t operator()(cudaGraphExec_t g) const { return cudaGraphExecDestroy(g); }
};
template <class T> using CardMemory = Owner<T*, FreeCard>;
template <class T> using PinnedMemory = Owner<T*, FreePinned>;
using Stream = Owner<cudaStream_t, DestroyStream>;
using Event = Owner<cudaEvent_t, DestroyEvent>;
using CapturedGraph = Owner<cudaGraph_t, DestroyGraph>;
using RunnableGraph = Owner<cudaGraphExec_t, DestroyRunnable>;

/// R14: the card has no room. `what` is what was to be made.
[[noreturn]] HEDDLE_COLD inline void refuse_card_memory(std::size_t bytes, const char* what) {
  static_cast<void>(cudaGetLastError());  // as refuse_cuda
  std::size_t free = 0, total = 0;
  std::string there = "the card does not say how much is free";
  if (cudaMemGetInfo(&free, &total) == cudaSuccess)
    there = grouped_digits(static_cast<std::int64_t>(free)) + " of " + grouped_digits(static_cast<std::int64_t>(total)) + " bytes are free";
  throw Error(Code{'R', 14}, std::string{"the card does not give the "} + grouped_digits(static_cast<std::int64_t>(bytes)) + " bytes of " + what +
                                 ": " + there + ". Fix: take smaller micro-batches, add Recompute, or put fewer devices on this card.");
}
/// n elements on the card of this thread, 256-byte aligned and unset. Errors  R14, R36
template <class T> [[nodiscard]] CardMemory<T> card_memory(std::size_t n, const char* what) {
  void* p = nullptr;
  const cudaError_t e = cudaMalloc(&p, n * sizeof(T));
  if (e == cudaErrorMemoryAllocation) refuse_card_memory(n * sizeof(T), what);
  check_cuda(e, "cudaMalloc");
  return CardMemory<T>{static_cast<T*>(p)};
}
/// n elements of the host that a card reads and writes without its help. Errors  R36
template <class T> [[nodiscard]] PinnedMemory<T> pinned_memory(std::size_t n) {
  void* p = nullptr;
  check_cuda(cudaMallocHost(&p, n * sizeof(T)), "cudaMallocHost");
  return PinnedMemory<T>{static_cast<T*>(p)};
}
[[nodiscard]] inline Stream make_stream() {
  Stream made;
  check_cuda(cudaStreamCreateWithFlags(made.slot(), cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return made;
}
[[nodiscard]] inline Event make_event() {
  Event made;
  check_cuda(cudaEventCreateWithFlags(made.slot(), cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return made;
}
/// What `later` is given from now on begins after all that `first` has been given.
inline void put_after(cudaStream_t first, const Event& between, cudaStream_t later) {
  check_cuda(cudaEventRecord(between.get(), first), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(later, between.get(), 0), "cudaStreamWaitEvent");
}

/// What work() queues on the stream, as a graph. Another thread may allocate meanwhile. Where work() throws the capture ends, and what the runtime
/// says of that is taken back, as is_done() does it. Errors  R36, and what work() throws
template <class Work> [[nodiscard]] RunnableGraph captured(cudaStream_t stream, Work&& work) {
  check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  CapturedGraph graph;
  try {
    work();
  } catch (...) {
    if (cudaStreamEndCapture(stream, graph.slot()) != cudaSuccess) static_cast<void>(cudaGetLastError());
    throw;
  }
  check_cuda(cudaStreamEndCapture(stream, graph.slot()), "cudaStreamEndCapture");
  RunnableGraph made;
  check_cuda(cudaGraphInstantiate(made.slot(), graph.get(), 0), "cudaGraphInstantiate");
  return made;
}

/// Whether all that the stream was given is done. That it is not yet is no error, but the runtime keeps it as the last one of the thread, where a
/// library or a kernel's author finds it at the next launch: it is taken back. Errors  R36
[[nodiscard]] inline bool is_done(cudaStream_t stream) {
  const cudaError_t e = cudaStreamQuery(stream);
  if (e != cudaErrorNotReady) check_cuda(e, "cudaStreamQuery");
  if (e == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
  return e == cudaSuccess;
}
/// Until all that the stream was given is done. Errors  R36
inline void wait_for(cudaStream_t stream) { check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }
/// The same, asked again and again with lost() in between: that throws where a peer is gone, which ends the wait, and may leave the processor to
/// another thread. Errors  R36, and what lost() throws
template <class Lost> void wait_for(cudaStream_t stream, Lost&& lost) {
  while (!is_done(stream)) lost();
}

}  // namespace heddle::compute_room
