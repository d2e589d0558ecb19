// SPDX-License-Identifier: MIT
// Room: tests. What the sanitizers of compilers are told of fibers and of memory; nothing where a build has none of them.
// Sees: nothing.  Does not see: Heddle, the toolkit.
// In: CUDA_EMULATOR_TSAN, defined for all files of a build with -fsanitize=thread.  Out: CUDA_EMULATOR_ASAN, tsan, asan.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_EMULATOR_ASAN
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define CUDA_EMULATOR_ASAN
#endif

#if defined(CUDA_EMULATOR_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(CUDA_EMULATOR_TSAN)
extern "C" {
void* __tsan_get_current_fiber();
void* __tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void*);
void __tsan_switch_to_fiber(void*, unsigned);
void __tsan_acquire(void*);
void __tsan_release(void*);
void AnnotateIgnoreWritesBegin(const char*, int);
void AnnotateIgnoreWritesEnd(const char*, int);
}
#endif

/// The thread sanitizer takes every thread of a block, every stream and every node of a graph for a fiber of its own, and knows of no order between
/// two of them but what release(token) in one and acquire(token) in the other make: barriers, events, what is queued after something.
namespace cuda_emulator::tsan {

#if defined(CUDA_EMULATOR_TSAN)
inline constexpr bool on = true;
inline void* current() { return __tsan_get_current_fiber(); }
inline void* create() { return __tsan_create_fiber(0); }
inline void destroy(void* fiber) { __tsan_destroy_fiber(fiber); }
inline void become(void* fiber) { __tsan_switch_to_fiber(fiber, 1); }  // 1: the switch itself makes no order
inline void acquire(const void* token) { __tsan_acquire(const_cast<void*>(token)); }
inline void release(const void* token) { __tsan_release(const_cast<void*>(token)); }
/// Memory that is allocated or given back while one lives has no history.
class Silence {
 public:
  Silence() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~Silence() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
};
#else
inline constexpr bool on = false;
inline void* current() { return nullptr; }
inline void* create() { return nullptr; }
inline void destroy(void*) {}
inline void become(void*) {}
inline void acquire(const void*) {}
inline void release(const void*) {}
class Silence {
 public:
  Silence() {}  // NOLINT: a variable of a type without one counts as unused
};
#endif

/// Copies and fills without memcpy and memset, which the sanitizer watches even in files that are compiled without it.
inline void copy_unseen(void* to, const void* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile char*>(to)[i] = static_cast<const volatile char*>(from)[i];
}
inline void fill_unseen(void* to, unsigned char value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) static_cast<volatile unsigned char*>(to)[i] = value;
}

}  // namespace cuda_emulator::tsan

namespace cuda_emulator::asan {

#if defined(CUDA_EMULATOR_ASAN)
inline constexpr bool on = true;
inline void forbid(const void* begin, std::size_t bytes) { __asan_poison_memory_region(begin, bytes); }
inline void allow(const void* begin, std::size_t bytes) { __asan_unpoison_memory_region(begin, bytes); }
#else
inline constexpr bool on = false;
inline void forbid(const void*, std::size_t) {}
inline void allow(const void*, std::size_t) {}
#endif

}  // namespace cuda_emulator::asan
