// SPDX-License-Identifier: MIT
// What the programs of tools/gpu_check share: checked calls, memory that is given back, times by events, one table.
#pragma once

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace gpu_check {

inline bool stop_throws = false;  // of a program whose other rows go on: Rows says what was thrown
[[noreturn]] inline void stop(const char* call, const char* why, const char* file, int line) {
  if (stop_throws) throw std::runtime_error(std::string{call} + " in line " + std::to_string(line) + ": " + why);
  std::fflush(stdout);
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, why);
  std::exit(1);
}
inline void check(cudaError_t error, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (error != cudaSuccess) stop(call, cudaGetErrorString(error), file, line);
}
inline void check(cublasStatus_t status, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (status != CUBLAS_STATUS_SUCCESS) stop(call, cublasLtGetStatusString(status), file, line);
}
inline void check(ncclResult_t result, const char* call, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (result != ncclSuccess) stop(call, ncclGetErrorString(result), file, line);
}

/// Device memory of `count` numbers, filled with NaN (bytes 0xFF), so that what no one wrote is seen.
template <class T> class Memory {
 public:
  explicit Memory(std::size_t count) : count_(count) {
    check(cudaMalloc(&data_, count * sizeof(T)), "cudaMalloc");
    poison();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { cudaFree(data_); }

  [[nodiscard]] T* get() const { return static_cast<T*>(data_); }
  [[nodiscard]] std::size_t count() const { return count_; }
  void poison() { check(cudaMemset(data_, 0xFF, count_ * sizeof(T)), "cudaMemset"); }
  void write(const std::vector<T>& from) { check(cudaMemcpy(data_, from.data(), from.size() * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy"); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> to(count_);
    check(cudaMemcpy(to.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return to;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_;
};

inline cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  return stream;
}

/// The median of `rounds` times of `work(stream)` by events, after two that are not counted.          [microseconds]
template <class Work> float microseconds(cudaStream_t stream, int rounds, Work&& work) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  std::vector<float> times;
  for (int round = -2; round < rounds; ++round) {
    check(cudaEventRecord(begin, stream), "cudaEventRecord");
    work(stream);
    check(cudaEventRecord(end, stream), "cudaEventRecord");
    check(cudaEventSynchronize(end), "cudaEventSynchronize");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    if (round >= 0) times.push_back(milliseconds * 1e3F);
  }
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds / 2)];
}

inline int wrong = 0;
/// A row of the table whose claim the card contradicts makes the program end with 1.
inline const char* verdict(bool holds) {
  if (!holds) ++wrong;
  return holds ? "yes" : "NO";
}

}  // namespace gpu_check
