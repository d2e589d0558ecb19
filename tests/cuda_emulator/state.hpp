// SPDX-License-Identifier: MIT
// Room: tests. All that the emulator knows, behind one lock, and what every function of the three C APIs begins with.
// Sees: work, memory.  Does not see: kernels, cuBLASLt, NCCL.
// In: calls of the C APIs.  Out: State, Call, violation, refusal, fault, runtime_call, runtime_release.
#pragma once

#include <cuda_runtime_api.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cuda_emulator.hpp"
#include "memory.hpp"
#include "work.hpp"

namespace cuda_emulator {

/// One card. After a fault every call that names it returns `error`, as those of a real card do.
struct Device {
  cudaError_t error = cudaSuccess;
  std::string why;                // it has that error
  std::vector<void*> identities;  // of the thread sanitizer, for nodes of graphs
  int collectives_running = 0;
  std::size_t held_bytes = 0;
  std::size_t peak_bytes = 0;
  std::set<int> peers;  // whose memory its kernels may touch
};

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  bool there = false;  // reset() has been called, or a call of the C APIs has done so
  Options options;
  std::mt19937_64 random{1};
  Counts counts;
  std::vector<std::string> violations, refusals;
  std::vector<Device> devices;
  Memory memory;
  std::vector<std::unique_ptr<Stream>> streams;
  std::map<Event*, std::shared_ptr<Event>> events;
  std::map<Graph*, std::unique_ptr<Graph>> graphs;
  std::map<RunnableGraph*, std::shared_ptr<RunnableGraph>> runnable_graphs;
  std::set<std::shared_ptr<Capture>> captures;
  std::map<const void*, const char*> library_objects;  // handles, descriptors and communicators that are alive, and what they are
  std::map<const void*, std::size_t> shared_limits;    // of kernels
  long calls_to_failure = 0;
  std::string failed_call;
  bool communicators_fail = false;
  int numbers = 0;     // of streams and communicators, for sentences
  double busy_ms = 0;  // of all cards, where times are known
  std::chrono::steady_clock::time_point last_progress = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_question;  // of a query of a stream or an event
};
[[nodiscard]] State& state();

/// The card that this thread has set.
[[nodiscard]] int& current_device();
[[nodiscard]] Device& device(int number);
[[nodiscard]] double chance();  // from 0 to 1
/// What every call returns: that there is no card, that the driver is too old, or the fault of the current card.
[[nodiscard]] cudaError_t error_of_card();

/// The lock of a call. Call("cudaMalloc") counts it, and failed() says whether fail_call() has chosen it.
class Call {
 public:
  enum class Kind : unsigned char { fallible, release };
  explicit Call(const char* name, Kind kind = Kind::fallible);
  [[nodiscard]] bool failed() const { return failed_; }
  std::unique_lock<std::mutex> lock;

 private:
  bool failed_ = false;
};

/// What the last call of this thread was told, as violation or refusal, or why its card answers nothing; or "". Texts of errors have it in brackets.
[[nodiscard]] std::string why_last_call_failed();
void violation(const std::string& sentence);
void refusal(const std::string& sentence);
/// A violation after which the card answers nothing but `error`.
void fault(int device, const std::string& sentence, cudaError_t error = cudaErrorLaunchFailure);

/// What cudaGetLastError returns next on this thread.
cudaError_t noted(cudaError_t error);
cudaError_t take_last_error();
[[nodiscard]] cudaError_t last_error();

/// The body of a function of the CUDA runtime: it returns `when_chosen` where fail_call() has chosen it, or the error of the current card.
template <class Body> cudaError_t runtime_call(const char* name, cudaError_t when_chosen, Body&& body) {
  Call call(name);
  if (call.failed()) return noted(when_chosen);
  if (const cudaError_t error = error_of_card(); error != cudaSuccess) return noted(error);
  return noted(body(call));
}
/// The same of a function that gives something back, which no test makes fail: destructors call it.
template <class Body> cudaError_t runtime_release(const char* name, Body&& body) {
  Call call(name, Call::Kind::release);
  return noted(body(call));
}

}  // namespace cuda_emulator
