// SPDX-License-Identifier: MIT
// Counts every operator new of the program, and the bytes that are live. Include it once per program.
// noinline: g++ 12 takes an inlined replacement for a mismatched pair.
#pragma once

#include <malloc.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace counted {
inline std::atomic<long> allocations{0};
inline std::atomic<long> live{0};  // [bytes]
inline std::atomic<long> most{0};
/// What one thread has taken since it began: 96 bytes in 2 pieces.
struct Taken {
  long pieces = 0;
  long bytes = 0;
};
inline constinit thread_local Taken by_this_thread{};

inline void* take(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  allocations.fetch_add(1);
  const auto bytes = static_cast<long>(malloc_usable_size(memory));
  ++by_this_thread.pieces;
  by_this_thread.bytes += bytes;
  const long now = live.fetch_add(bytes) + bytes;
  for (long seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
  }
  return memory;
}
inline void give(void* memory) {
  live -= static_cast<long>(malloc_usable_size(memory));
  std::free(memory);
}
inline void* take_lines(std::size_t bytes, std::align_val_t alignment) {
  const auto multiple = static_cast<std::size_t>(alignment);
  return take(std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple));
}
}  // namespace counted

[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted::take(std::malloc(bytes)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted::take_lines(bytes, alignment); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted::take_lines(bytes, alignment);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { counted::give(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { counted::give(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { counted::give(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { counted::give(memory); }
