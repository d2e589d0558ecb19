// SPDX-License-Identifier: MIT
// Room: transport. How a thread rounds and what it does with denormals: a thread keeps what it was born with unless it is told.
// Sees: the standard library.  Does not see: ranks, transfers, every other room.
// In: the thread that calls.  Out: its floating-point environment, for another thread to adopt.
#pragma once

#include <cfenv>
#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::transport_room {

/// Rounding, flush-to-zero, denormals-are-zero and the masks of exceptions, as they are now in the calling thread. Flags that were raised belong to
/// each thread alone and are not handed on. On x86-64 MXCSR 0x1fa0, whose last six bits are flags, is kept as 0x1f80.
///
/// Tested  transport/float_environment_test, transport/workers_test
class FloatEnvironment {
 public:
#if defined(__x86_64__)
  FloatEnvironment() noexcept : vectors_(__builtin_ia32_stmxcsr() & control) { asm volatile("fnstcw %0" : "=m"(x87_)); }
  void adopt() const noexcept {
    const FloatEnvironment own;
    if (own.vectors_ != vectors_) __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~control) | vectors_);
    if (own.x87_ != x87_) asm volatile("fldcw %0" : : "m"(x87_));
  }

 private:
  static constexpr std::uint32_t control = 0xffc0;  // MXCSR without the flags
  std::uint32_t vectors_;
  std::uint16_t x87_ = 0;
#elif defined(__aarch64__)
  FloatEnvironment() noexcept { asm volatile("mrs %0, fpcr" : "=r"(control_)); }
  void adopt() const noexcept {
    if (FloatEnvironment{}.control_ != control_) asm volatile("msr fpcr, %0" : : "r"(control_));
  }

 private:
  std::uint64_t control_ = 0;
#else
  FloatEnvironment() noexcept { std::fegetenv(&all_); }
  void adopt() const noexcept { std::fesetenv(&all_); }

 private:
  std::fenv_t all_{};
#endif
};

}  // namespace heddle::transport_room
