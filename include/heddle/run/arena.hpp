// SPDX-License-Identifier: MIT
// Room: run. One allocation per device, made at construction; every tensor lies at the offset that the Program gives.
// Sees: seams, plan/program, core.  Does not see: threads, compute, transport.
// In: an ArenaMap.  Out: pointers, and the highest byte that was ever used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "heddle/core/host_device.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/system_limits.hpp"

namespace heddle::run_room {

/// R14: what needs so many bytes does not get them.
[[noreturn]] HEDDLE_COLD inline void refuse_memory(const std::string& what, std::int64_t bytes, const char* remedy) {
  const Bytes there = read_memory_limits().usable();
  throw Error(Code{'R', 14}, written({what, " needs ", bytes, " bytes, but the system gives no such memory",
                                      (there.value > 0 ? ": " + std::to_string(there.value) + " bytes are free" : ""), ". Fix: ", remedy,
                                      ", free memory, or raise the limit (ulimit -v)."}));
}
[[noreturn]] HEDDLE_COLD inline void refuse_memory(std::int64_t bytes) {
  refuse_memory("a device", bytes, "use a smaller batch, Recompute, Sharded or more devices");
}

/// Zeroed memory at a multiple of 64 bytes.
///
/// Errors  R14 if the system does not give it
/// Tested  run/arena_test
class Arena {
 public:
  explicit Arena(std::int64_t bytes) : bytes_(bytes), memory_(allocate(bytes)) { std::memset(memory_.get(), 0, static_cast<std::size_t>(bytes)); }
  /// Memory of others, of a card for instance, which nobody here reads or writes; it outlives the arena.
  Arena(std::byte* there, std::int64_t bytes) : bytes_(bytes), memory_(there, Free{}) {}

  /// Floats from `offset` [bytes] on; notes that `elements` of them are in use.
  [[nodiscard]] float* floats(std::int64_t offset, std::int64_t elements) {
    const std::int64_t end = offset + float_bytes * elements;
    if (end > high_water_) high_water_ = end;
    return reinterpret_cast<float*>(memory_.get() + offset);
  }
  [[nodiscard]] std::byte* bytes(std::int64_t offset) { return memory_.get() + offset; }
  [[nodiscard]] Bytes size() const { return Bytes{bytes_}; }
  [[nodiscard]] Bytes high_water() const { return Bytes{high_water_}; }

 private:
  static constexpr std::align_val_t line{64};
  static constexpr std::align_val_t huge_page{2 * 1024 * 1024};
  static constexpr auto huge_page_bytes = static_cast<std::int64_t>(huge_page);

  /// Frees memory of the alignment with which it was taken: 64 bytes, or 2 MiB for an arena of at least 2 MiB.
  struct Free {
    std::align_val_t alignment{0};  // 0: of others
    void operator()(std::byte* memory) const {
      if (alignment != std::align_val_t{0}) ::operator delete(memory, alignment);
    }
  };
  using Memory = std::unique_ptr<std::byte, Free>;

  static Memory allocate(std::int64_t bytes) {
    const std::align_val_t alignment = bytes >= huge_page_bytes ? huge_page : line;
    auto* const memory = static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes > 0 ? bytes : 64), alignment, std::nothrow));
    if (memory == nullptr) refuse_memory(bytes);
#if defined(__linux__)
    // A product walks many rows at once, each on a page of its own: few huge pages cost fewer translations. A refusal costs only speed.
    if (bytes >= huge_page_bytes) madvise(memory, static_cast<std::size_t>(bytes / huge_page_bytes * huge_page_bytes), MADV_HUGEPAGE);
#endif
    return Memory{memory, Free{alignment}};
  }

  std::int64_t bytes_;
  std::int64_t high_water_ = 0;
  Memory memory_;
};

/// Starts at a multiple of 64 bytes, as kernels are promised their tensors.
template <class T> struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t line{64};
  LineAllocator() = default;
  template <class U> explicit LineAllocator(const LineAllocator<U>&) {}
  [[nodiscard]] T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), line)); }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory, line); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};

/// A tensor outside the arena: of a diagnosis or a test, never of a step.
using Floats = std::vector<float, LineAllocator<float>>;

}  // namespace heddle::run_room
