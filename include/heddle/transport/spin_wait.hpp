// SPDX-License-Identifier: MIT
// Room: transport. How a thread waits: it spins briefly, then sleeps until it is woken or late.
// Sees: seams/system_limits.  Does not see: ranks, transfers, every other room.
// In: a condition on atomics, a number of spins, a deadline.  Out: Sleeper, Deadline, spin_pause.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "heddle/seams/system_limits.hpp"

namespace heddle::transport_room {

inline constexpr std::size_t cache_line_bytes = 64;

/// Tells the core that this is a spin: the sibling thread runs, and leaving the loop costs no mis-speculation.
inline void spin_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Spins before sleeping. Where threads have a core each, a partner is usually there within microseconds and sleeping would cost more;
/// where they share cores, every spin is taken from the thread that is waited for.
[[nodiscard]] inline int spins_before_sleep(int threads, const CoreLimits& cores = read_core_limits()) {
  return have_a_core_each(threads, cores) ? 4000 : 20;
}

/// A point in time that is fixed by the first look at it: waits that end while spinning never read the clock.
class Deadline {
 public:
  explicit Deadline(std::chrono::nanoseconds length) noexcept : length_(std::min<std::chrono::nanoseconds>(length, std::chrono::hours{24 * 365})) {}
  [[nodiscard]] std::chrono::steady_clock::time_point point() {
    if (point_ == std::chrono::steady_clock::time_point{}) point_ = std::chrono::steady_clock::now() + length_;
    return point_;
  }

 private:
  std::chrono::nanoseconds length_;  // at most a year: a sum with the clock must not overflow
  std::chrono::steady_clock::time_point point_{};
};

/// Where one thread sleeps; any number of others may wake it.
///
/// No wake-up is lost if `ready` reads with memory_order_seq_cst what the waker wrote with memory_order_seq_cst before wake(): either the waker
/// sees that somebody sleeps, or the sleeper, who says so before it looks again, sees what was written.
/// Tested  transport/spin_wait_test
class alignas(cache_line_bytes) Sleeper {
 public:
  /// True as soon as ready(); false when the deadline has passed before.
  template <class Ready> bool wait(int spins, Deadline& deadline, Ready ready) {
    if (spin(spins, ready)) return true;
    const auto point = deadline.point();
    return sleep(ready, [&](std::unique_lock<std::mutex>& lock) { return wake_.wait_until(lock, point) == std::cv_status::no_timeout; });
  }

  /// Returns as soon as ready(), however long it takes.
  template <class Ready> void wait(int spins, Ready ready) {
    if (spin(spins, ready)) return;
    sleep(ready, [&](std::unique_lock<std::mutex>& lock) {
      wake_.wait(lock);
      return true;
    });
  }

  void wake() {
    if (!sleeping_.load(std::memory_order_seq_cst)) return;
    { const std::lock_guard lock{mutex_}; }  // the sleeper is now either inside its wait or past its last look
    wake_.notify_one();
  }

 private:
  template <class Ready> static bool spin(int spins, Ready& ready) {
    for (int i = 0; i < spins; ++i) {
      if (ready()) return true;
      spin_pause();
    }
    return false;
  }

  template <class Ready, class Block> bool sleep(Ready& ready, Block block) {
    std::unique_lock lock{mutex_};
    sleeping_.store(true, std::memory_order_seq_cst);
    bool is_ready = ready();
    bool in_time = true;
    while (!is_ready && in_time) {
      in_time = block(lock);
      is_ready = ready();
    }
    sleeping_.store(false, std::memory_order_seq_cst);
    return is_ready;
  }

  std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

}  // namespace heddle::transport_room
