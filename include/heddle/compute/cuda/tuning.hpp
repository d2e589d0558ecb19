// SPDX-License-Identifier: MIT
// Room: compute. What is tried on a card before the first step, so that the fastest way is taken: times, memory to try with, and what was found.
// Sees: compute/cuda/resources, seams/error, core.  Does not see: cuBLASLt, layers, policies, programs, files.
// In: runs of what may be taken.  Out: TunedChoices, CudaTuning.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/resources.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::compute_room {

/// What was found on a card, by the numbers that describe a product: algorithms as cuBLASLt keeps them, opaque and for one version of it, and
/// whether a product and what follows it are one call. Of Linear<4, 3> that trains there are three algorithms.
struct TunedChoices {
  using Algorithm = std::array<std::uint64_t, 8>;
  std::map<std::string, Algorithm> algorithms;
  std::map<std::string, bool> together;

  [[nodiscard]] bool empty() const { return algorithms.empty() && together.empty(); }
  friend bool operator==(const TunedChoices&, const TunedChoices&) = default;
};

/// While kernels prepare for the first step: what they try runs in the queue of the card, with memory that is given back behind it.
///
/// Errors  R36; R43 of what an earlier run has found and cannot be
/// Tested  compute/cuda/tuning_test
class CudaTuning {
 public:
  /// What is kept must be faster than the first choice by this share of its time: what is nearer may be noise, and the first choice stays.
  static constexpr float least_gain = 0.03F;
  explicit CudaTuning(cudaStream_t stream, TunedChoices known = {}, std::string known_from = {})
      : stream_(stream), known_(std::move(known)), known_from_(std::move(known_from)) {
    for (Event& event : events_) check_cuda(cudaEventCreateWithFlags(event.slot(), cudaEventDefault), "cudaEventCreateWithFlags");
  }

  /// What an earlier run has found; there nothing is timed.
  [[nodiscard]] const TunedChoices& known() const { return known_; }
  [[nodiscard]] TunedChoices& found() { return found_; }
  /// What is found now, and what is known of products that this run has not met: one of another backend may.
  [[nodiscard]] TunedChoices all() const {
    TunedChoices both = found_;
    both.algorithms.insert(known_.algorithms.begin(), known_.algorithms.end());
    both.together.insert(known_.together.begin(), known_.together.end());
    return both;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }

  /// Memory of the card, numbered from 0, every byte of it 0x3c: 0.0115 in bfloat16 and in float32. Null where the card has no room for it.
  [[nodiscard]] std::byte* room(std::size_t number, std::size_t bytes) {
    Room& room = rooms_.at(number);
    if (room.bytes < bytes) {
      room = {};
      void* made = nullptr;
      const cudaError_t e = cudaMalloc(&made, bytes);
      if (e == cudaErrorMemoryAllocation) {
        static_cast<void>(cudaGetLastError());
        return nullptr;
      }
      check_cuda(e, "cudaMalloc");
      room = {CardMemory<std::byte>{static_cast<std::byte*>(made)}, bytes};
    }
    check_cuda(cudaMemsetAsync(room.memory.get(), 0x3c, bytes, stream_), "cudaMemsetAsync");
    return room.memory.get();
  }
  /// How long run() takes the card, of what it queues: the least of three times of three runs, behind one that is not counted.
  template <class Run> [[nodiscard]] float microseconds(const Run& run) const {
    constexpr int times = 3, runs = 3;
    run();
    float least = 0;
    for (int t = 0; t < times; ++t) {
      check_cuda(cudaEventRecord(events_[0].get(), stream_), "cudaEventRecord");
      for (int r = 0; r < runs; ++r) run();
      check_cuda(cudaEventRecord(events_[1].get(), stream_), "cudaEventRecord");
      check_cuda(cudaEventSynchronize(events_[1].get()), "cudaEventSynchronize");
      float milliseconds = 0;
      check_cuda(cudaEventElapsedTime(&milliseconds, events_[0].get(), events_[1].get()), "cudaEventElapsedTime");
      if (const float each = 1000 * milliseconds / runs; t == 0 || each < least) least = each;
    }
    return least;
  }
  /// The first number that lies there, once the queue has made it.
  [[nodiscard]] bool is_nan(const void* there, ElementType type) const {
    const PinnedMemory<std::byte> here = pinned_memory<std::byte>(sizeof(float));
    check_cuda(cudaMemcpyAsync(here.get(), there, static_cast<std::size_t>(bytes_of(type)), cudaMemcpyDeviceToHost, stream_), "cudaMemcpyAsync");
    wait_for(stream_);
    std::uint32_t bits = 0;
    std::memcpy(&bits, here.get(), static_cast<std::size_t>(bytes_of(type)));
    if (type == ElementType::bfloat16) bits <<= 16U;
    return (bits & 0x7fffffffU) > 0x7f800000U;
  }
  /// R43: what an earlier run has found cannot be of this card, or of this cuBLASLt.
  [[noreturn]] HEDDLE_COLD void refuse_known(const std::string& what) const {
    throw Error(Code{'R', 43},
                "the tuned choices of '" + known_from_ + "' have " + what + ". Fix: remove the file; the next trainer writes it anew.");
  }
  [[nodiscard]] static bool is_faster(float time, float usual) { return time < usual * (1 - least_gain); }
  /// Of `count` ways the fastest, and what it and the first take: of 40, 39.5 and 30 us {2, 30, 40}.
  struct Fastest {
    int way;
    float microseconds, first;
  };
  template <class Run> [[nodiscard]] Fastest fastest(int count, const Run& run) const {
    Fastest best{};
    for (int way = 0; way < count; ++way) {
      const float time = microseconds([&] { run(way); });
      if (way == 0) best = Fastest{0, time, time};
      if (time < best.microseconds) best = Fastest{way, time, best.first};
    }
    return is_faster(best.microseconds, best.first) ? best : Fastest{0, best.first, best.first};
  }

 private:
  /// So many bytes of the card: 64 x 784 floats are 200,704.
  struct Room {
    CardMemory<std::byte> memory;
    std::size_t bytes = 0;
  };
  cudaStream_t stream_;
  TunedChoices known_, found_;
  std::string known_from_;  // a file
  std::array<Event, 2> events_;
  std::array<Room, 7> rooms_;
  std::vector<std::string> notes_;
};

/// 38.25 us are "38.3 us".
[[nodiscard]] inline std::string in_microseconds(float time) {
  char text[32];
  static_cast<void>(std::snprintf(text, sizeof text, "%.1f us", static_cast<double>(time)));
  return text;
}

}  // namespace heddle::compute_room
