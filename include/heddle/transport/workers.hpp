// SPDX-License-Identifier: MIT
// Room: transport. One thread per rank that runs one job after the other; the caller's own is that of rank 0.
// Sees: transport/spin_wait, transport/float_environment, seams/system_limits, seams/error.  Does not see: transfers, programs, kernels.
// In: a callable that takes a rank.  Out: its run on every rank, and what each of them threw.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#if defined(__linux__)
#include <pthread.h>
#include <sched.h>
#endif

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/system_limits.hpp"
#include "heddle/transport/float_environment.hpp"
#include "heddle/transport/spin_wait.hpp"

namespace heddle::transport_room {

/// Keeps the calling thread on one core. A refusal costs speed, not correctness, and is therefore only reported.
inline bool pin_to_core([[maybe_unused]] int core) noexcept {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(core), &set);
  return pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0;
#else
  return false;
#endif
}

/// Moves the calling thread to a core that it may use and leaves it free there: a scheduler moves it again only if something else wants the core.
inline void move_to_core([[maybe_unused]] int core) noexcept {
#if defined(__linux__)
  if (sched_getcpu() == core) return;
  cpu_set_t allowed;
  if (pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed) != 0 || !CPU_ISSET(static_cast<unsigned>(core), &allowed)) return;
  if (pin_to_core(core)) pthread_setaffinity_np(pthread_self(), sizeof allowed, &allowed);
#endif
}

/// One thread per rank, the k-th on the k-th allowed core, again from the first where there are more ranks than cores. Threads of ranks from 1 on
/// are pinned; rank 0 is run by the thread that calls run(), so that a job is handed to one thread less and a single rank costs no hand-over. All
/// round as the caller does in this run, and flush denormals if it does.
///
/// run() allocates nothing and throws nothing of a job: what rank r threw is error(r) until the next run. One thread at a time calls run, and no
/// job does.
/// Errors  R15 if the system gives no more threads; those that had begun have ended then
/// Tested  transport/workers_test
class Workers {
 public:
  HEDDLE_APART explicit Workers(int ranks) : Workers(ranks, read_core_limits()) {}
  HEDDLE_APART Workers(int ranks, const CoreLimits& cores)
      : cores_(cores.allowed), errors_(static_cast<std::size_t>(ranks)), sleepers_(errors_.size()), spins_(have_a_core_each(ranks, cores) ? 4000 : 0),
        threads_(errors_.size()) {  // where ranks share cores a spin would be taken from a rank
    int started = 0;
    try {
      for (; started < ranks - 1; ++started) threads_[static_cast<std::size_t>(started)] = std::thread{[this, rank = started + 1] { serve(rank); }};
    } catch (const std::system_error& problem) {
      stop();
      const std::int64_t limit = thread_limit();
      throw Error(Code{'R', 15}, written({"the ", ranks, " ranks need ", ranks - 1, " threads beside the caller's, but only ", started,
                                          " could be started: ", problem.what(), "; ",
                                          (limit > 0 ? "the limits of user and control group allow " + std::to_string(limit)
                                                     : "user and control group set no limit of their own"),
                                          ". Fix: use a plan of fewer devices, or raise the limit (ulimit -u, pids.max) or the memory."}));
    } catch (...) {
      stop();
      throw;
    }
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { stop(); }

  [[nodiscard]] int ranks() const { return static_cast<int>(errors_.size()); }
  [[nodiscard]] const std::exception_ptr& error(int rank) const { return errors_[static_cast<std::size_t>(rank)]; }

  /// job(rank) on every rank's thread, rank 0 on this one; returns when all have returned or thrown.
  template <class Job> void run(Job&& job) {
    using Plain = std::remove_reference_t<Job>;
    run_plain(const_cast<void*>(static_cast<const void*>(std::addressof(job))),
              [](void* context, int rank) { (*static_cast<Plain*>(context))(rank); });
  }

  /// Throws what the lowest rank threw, if any did.
  void rethrow_first() const {
    for (const auto& error : errors_)
      if (error) std::rethrow_exception(error);
  }

 private:
  /// The same for every job: it is compiled once.
  void run_plain(void* context, void (*call)(void*, int)) {
    context_ = context;
    call_ = call;
    for (auto& error : errors_) error = nullptr;
    if (ranks() > 1) {
      environment_ = FloatEnvironment{};
      running_.store(ranks() - 1, std::memory_order_relaxed);
      announce();
      if (spins_ > 0 && !cores_.empty()) move_to_core(cores_.front());
    }
    work(0);
    if (ranks() > 1) caller_.wait(spins_, [&] { return running_.load(std::memory_order_seq_cst) == 0; });
  }

  void announce() {
    round_.fetch_add(1, std::memory_order_seq_cst);
    for (Sleeper& sleeper : sleepers_) sleeper.wake();
  }

  void serve(int rank) {
    if (!cores_.empty()) pin_to_core(cores_[static_cast<std::size_t>(rank) % cores_.size()]);
    for (std::uint64_t round = 1;; ++round) {
      sleepers_[static_cast<std::size_t>(rank)].wait(spins_, [&] { return round_.load(std::memory_order_seq_cst) >= round; });
      if (stopping_) return;
      environment_.adopt();
      work(rank);
      if (running_.fetch_sub(1, std::memory_order_seq_cst) == 1) caller_.wake();
    }
  }

  void work(int rank) noexcept {
    try {
      call_(context_, rank);
    } catch (...) {
      errors_[static_cast<std::size_t>(rank)] = std::current_exception();
    }
  }

  void stop() {
    stopping_ = true;
    announce();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

  std::vector<int> cores_;
  RowOf<std::exception_ptr> errors_;  // (ranks)
  RowOf<Sleeper> sleepers_;           // (ranks)
  Sleeper caller_;
  int spins_ = 0;
  FloatEnvironment environment_;  // of whoever called run()
  bool stopping_ = false;         // as environment_, call_ and context_: written before round_, read after it
  void (*call_)(void*, int) = nullptr;
  void* context_ = nullptr;
  alignas(cache_line_bytes) std::atomic<std::uint64_t> round_{0};
  alignas(cache_line_bytes) std::atomic<int> running_{0};
  RowOf<std::thread> threads_;
};

}  // namespace heddle::transport_room
