// SPDX-License-Identifier: MIT
// The CUDA runtime, memory:
//   cudaMalloc cudaFree cudaMallocHost cudaHostAlloc cudaFreeHost cudaMemGetInfo
//   cudaMemcpyAsync cudaMemcpy2DAsync cudaMemcpyPeerAsync cudaMemsetAsync cudaMemcpy cudaMemset
#include <cuda_runtime_api.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "queues.hpp"
#include "sanitizers.hpp"
#include "state.hpp"
#include "touch.hpp"

namespace cuda_emulator {
namespace {

constexpr std::size_t most_pitch = 0x7FFFFFFF;  // cudaDevAttrMaxPitch

cudaError_t allocate(Call& call, const char* name, void** data, std::size_t bytes, bool pinned) {
  *data = nullptr;
  if (forbidden_in_capture(name)) return cudaErrorStreamCaptureUnsupported;
  if (bytes == 0) return cudaSuccess;
  may_wait_for_all_cards(call, name);
  State& all = state();
  Device& card = device(current_device());
  const std::size_t total = all.options.device_bytes;
  if (!pinned && bytes > total - std::min(total, card.held_bytes)) {
    refusal(std::string(name) + " of " + std::to_string(bytes) + " bytes: device " + std::to_string(current_device()) + " holds " +
            std::to_string(card.held_bytes) + " of " + std::to_string(total) + " bytes.");
    return cudaErrorMemoryAllocation;
  }
  *data = all.memory.allocate(bytes, current_device(), pinned);
  if (*data == nullptr) return cudaErrorMemoryAllocation;
  ++all.counts.allocations;
  if (pinned) return cudaSuccess;
  card.held_bytes += bytes;
  card.peak_bytes = std::max(card.peak_bytes, card.held_bytes);
  return cudaSuccess;
}
/// As the real one does, it waits for all that its card has been given.
cudaError_t give_back(Call& call, const char* name, void* data, bool pinned) {
  if (data == nullptr) return cudaSuccess;
  if (forbidden_in_capture(name)) return cudaErrorStreamCaptureUnsupported;
  may_wait_for_all_cards(call, name);
  Memory& memory = state().memory;
  const Allocation* allocation = memory.starting_at(data, pinned);
  if (allocation == nullptr) {
    violation(std::string(name) + " is given an address that was not allocated, or was given back.");
    return cudaErrorInvalidValue;
  }
  const int number = allocation->device;
  static_cast<void>(wait_until(call, [number] { return device_is_idle(number); }));
  allocation = memory.starting_at(data, pinned);  // another thread may have given it back while this one waited
  if (allocation == nullptr) return cudaErrorInvalidValue;
  if (!pinned) device(number).held_bytes -= allocation->bytes;
  memory.give_back(*allocation);
  return cudaSuccess;
}

/// One side of a copy.
enum class Side : unsigned char { card, pinned, pageable, unusable };
struct Sides {
  Side target, source;
};
Side side_of(const void* data, std::size_t bytes) {
  const Memory& memory = state().memory;
  if (const Allocation* const a = memory.around(data, bytes)) return a->pinned ? Side::pinned : Side::card;
  return memory.around(data, 1) != nullptr ? Side::unusable : Side::pageable;
}
bool on_host(Side side) { return side == Side::pinned || side == Side::pageable; }
bool kind_fits(cudaMemcpyKind kind, Sides sides) {
  if (sides.target == Side::unusable || sides.source == Side::unusable) return false;
  switch (kind) {
    case cudaMemcpyHostToHost: return on_host(sides.target) && on_host(sides.source);
    case cudaMemcpyHostToDevice: return sides.target == Side::card && on_host(sides.source);
    case cudaMemcpyDeviceToHost: return on_host(sides.target) && sides.source == Side::card;
    case cudaMemcpyDeviceToDevice: return sides.target == Side::card && sides.source == Side::card;
    case cudaMemcpyDefault: return true;
  }
  return false;
}
cudaError_t wrong_copy(const char* name, const void* target, const void* source, std::size_t bytes) {
  char to[160];
  char from[160];
  state().memory.describe(target, to, sizeof to);
  state().memory.describe(source, from, sizeof from);
  violation(std::string(name) + " of " + std::to_string(bytes) + " bytes from " + from + ", to " + to + ": they do not lie where it is told.");
  return cudaErrorInvalidValue;
}

/// What a copy moves: 3 rows of 8 bytes that lie 32 bytes apart in the target and one behind the other in the source are {t, 32, s, 8, 8, 3}.
struct Rows {
  void* target;
  std::size_t target_pitch;
  const void* source;
  std::size_t source_pitch;
  std::size_t width, height;
  [[nodiscard]] std::size_t target_bytes() const { return (height - 1) * target_pitch + width; }
  [[nodiscard]] std::size_t source_bytes() const { return (height - 1) * source_pitch + width; }
  [[nodiscard]] Sides sides() const { return {side_of(target, target_bytes()), side_of(source, source_bytes())}; }
  void move() const {
    for (std::size_t row = 0; row < height; ++row)
      touch_copy(static_cast<char*>(target) + row * target_pitch, static_cast<const char*>(source) + row * source_pitch, width);
  }
};
cudaError_t copy(Call& call, const char* name, const Rows& rows, Sides sides, Stream& stream) {
  ++state().counts.copies;
  Work work{name, {}};
  work.on_current_device = false;
  if (stream.capture != nullptr && (sides.target == Side::pageable || sides.source == Side::pageable)) {
    spoil_capture(stream, std::string(name) + " is given pageable memory while the stream captures.");
    return cudaErrorStreamCaptureUnsupported;
  }
  if (sides.source == Side::pageable) {  // it is read before the call returns
    const auto* const begin = static_cast<const char*>(rows.source);
    auto staged = std::make_shared<std::vector<char>>(begin, begin + rows.source_bytes());
    Rows from_staged = rows;
    from_staged.source = staged->data();
    work.start = [from_staged, staged = std::move(staged)] { return from_staged.move(), nullptr; };
  } else {
    work.start = [rows] { return rows.move(), nullptr; };
    work.ranges.push_back({rows.source, rows.source_bytes()});
    if (sides.source == Side::pinned) work.host_reads.push_back({rows.source, rows.source_bytes()});
  }
  if (sides.target != Side::pageable) work.ranges.push_back({rows.target, rows.target_bytes()});
  const bool without_gaps = rows.height == 1 || rows.target_pitch == rows.width;
  if (sides.target == Side::pinned && without_gaps) work.host_written = {rows.target, rows.target_bytes()};
  const cudaError_t error = enqueue(stream, std::move(work));
  if (error != cudaSuccess || sides.target != Side::pageable) return error;
  const cudaError_t waited = wait_until(call, [&stream] { return stream.items.empty(); });
  tsan::acquire(&stream);
  return waited;
}
/// Of the calls without a stream: they run at once and wait for no stream, as those of a real card do not wait for streams that do not block.
template <class Touch> cudaError_t at_once(const char* name, std::initializer_list<const void*> touched, Touch&& touch) {
  if (forbidden_in_capture(name)) return cudaErrorStreamCaptureImplicit;
  const OpenMemory open(state().memory);
  for (const void* const address : touched) OpenMemory::also(address);
  touch();
  return cudaSuccess;
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call& call) { return allocate(call, "cudaMalloc", data, bytes, false); });
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call& call) { return allocate(call, "cudaMallocHost", data, bytes, true); });
}
cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call& call) { return allocate(call, "cudaHostAlloc", data, bytes, true); });
}
cudaError_t cudaFree(void* data) {
  return runtime_release(__func__, [&](Call& call) { return give_back(call, "cudaFree", data, false); });
}
cudaError_t cudaFreeHost(void* data) {
  return runtime_release(__func__, [&](Call& call) { return give_back(call, "cudaFreeHost", data, true); });
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    *total_bytes = state().options.device_bytes;
    *free_bytes = *total_bytes - std::min(*total_bytes, device(current_device()).held_bytes);
    return cudaSuccess;
  });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    const Rows rows{target, bytes, source, bytes, bytes, 1};
    if (!kind_fits(kind, rows.sides())) return wrong_copy("cudaMemcpyAsync", target, source, bytes);
    return copy(call, "cudaMemcpyAsync", rows, rows.sides(), *stream);
  });
}
cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (width > target_pitch || width > source_pitch) {
      violation("cudaMemcpy2DAsync is given rows of " + std::to_string(width) + " bytes that lie fewer bytes apart.");
      return cudaErrorInvalidPitchValue;
    }
    if (target_pitch > most_pitch || source_pitch > most_pitch) {
      violation("cudaMemcpy2DAsync is given rows that lie 2,147,483,648 bytes apart, or more, which no card copies.");
      return cudaErrorInvalidPitchValue;
    }
    if (width == 0 || height == 0) return cudaSuccess;
    const Rows rows{target, target_pitch, source, source_pitch, width, height};
    if (!kind_fits(kind, rows.sides())) return wrong_copy("cudaMemcpy2DAsync", target, source, std::max(rows.target_bytes(), rows.source_bytes()));
    return copy(call, "cudaMemcpy2DAsync", rows, rows.sides(), *stream);
  });
}
cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device, size_t bytes, cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    const Memory& memory = state().memory;
    if (!memory.on_device(target, bytes, target_device) || !memory.on_device(source, bytes, source_device))
      return wrong_copy("cudaMemcpyPeerAsync", target, source, bytes);
    return copy(call, "cudaMemcpyPeerAsync", {target, bytes, source, bytes, bytes, 1}, {Side::card, Side::card}, *stream);
  });
}
cudaError_t cudaMemsetAsync(void* target, int value, size_t bytes, cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (bytes == 0) return cudaSuccess;
    if (side_of(target, bytes) != Side::card) return wrong_copy("cudaMemsetAsync", target, target, bytes);
    Work work{"cudaMemsetAsync", [=] { return touch_fill(target, value, bytes), nullptr; }};
    work.on_current_device = false;
    work.ranges = {{target, bytes}};
    return enqueue(*stream, std::move(work));
  });
}
cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    if (bytes != 0 && !kind_fits(kind, {side_of(target, bytes), side_of(source, bytes)})) return wrong_copy("cudaMemcpy", target, source, bytes);
    ++state().counts.copies;
    return at_once("cudaMemcpy", {target, source}, [&] { touch_copy(target, source, bytes); });
  });
}
cudaError_t cudaMemset(void* target, int value, size_t bytes) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    if (bytes != 0 && side_of(target, bytes) != Side::card) return wrong_copy("cudaMemset", target, target, bytes);
    return at_once("cudaMemset", {target}, [&] { touch_fill(target, value, bytes); });
  });
}

}  // extern "C"
