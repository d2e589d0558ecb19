// SPDX-License-Identifier: MIT
// Counts every operator new of the program, and makes Eigen report its own allocations. Include it first, once per program.
// noinline: GCC 12 warns of a mismatched pair where it inlines only one of the two.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace counted_allocations {
inline long count = 0;
inline bool eigen_failed = false;
inline void* take(std::size_t bytes) {
  ++count;
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
}  // namespace counted_allocations

#define EIGEN_RUNTIME_NO_MALLOC
#define eigen_assert(condition)                                 \
  do {                                                          \
    if (!(condition)) counted_allocations::eigen_failed = true; \
  } while (false)

[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted_allocations::take(bytes); }
[[gnu::noinline]] void* operator new[](std::size_t bytes) { return counted_allocations::take(bytes); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
