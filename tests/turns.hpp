// SPDX-License-Identifier: MIT
// Room: tests. Ranks that take turns in one thread, each on a stack of its own: to hand over costs a switch of stacks and no wait.
// Sees: the standard library.  Does not see: programs, transports, what the ranks do.
// In: a job for each rank, what a rank waits for.  Out: the job at its end on every rank, or that none can go on.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace heddle::tests {

/// Runs ranks by turns: each goes on until what it waits for is not there. One run at a time in a program, and the sanitizers do not know the stacks.
/// Of two ranks, of which 0 waits for what 1 sends, 0 runs to its wait, 1 to its end, then 0 to its end.
class Turns {
 public:
  static constexpr std::size_t stack_bytes = 256 * 1024;
  enum class End : unsigned char { all_done, stopped, stuck };

  /// Runs job(rank), which throws nothing, on every rank. `stuck`: all that have not ended wait for what is not there, and go_on() may be called
  /// after it is.
  template <class Job> End run(int ranks, Job job) {
    while (std::ssize(stacks_) < ranks) stacks_.push_back(std::make_unique_for_overwrite<char[]>(stack_bytes));
    places_.assign(static_cast<std::size_t>(ranks), {});
    job_ = std::move(job);
    stopped_ = false;
    left_ = ranks;
    for (int r = 0; r < ranks; ++r) prepare(r);
    return go_on();
  }
  End go_on() {
    here() = this;
    while (left_ > 0) {
      bool some = false;
      for (rank_ = 0; rank_ < static_cast<int>(places_.size()); ++rank_) {
        Place& place = places_[static_cast<std::size_t>(rank_)];
        if (place.done || (place.ready != nullptr && !place.ready(place.awaited))) continue;
        swapcontext(&home_, &place.context);
        if (stopped_) return End::stopped;
        some = true;
        if (place.done) --left_;
      }
      if (!some) return End::stuck;
    }
    return End::all_done;
  }
  /// In a job: the others have their turns until ready(). It is asked between turns as well, and changes nothing.
  template <class Ready> void wait(Ready ready) {
    if (ready()) return;
    Place& place = places_[static_cast<std::size_t>(rank_)];
    place.awaited = &ready;
    place.ready = [](void* awaited) { return static_cast<bool>((*static_cast<Ready*>(awaited))()); };
    swapcontext(&place.context, &home_);
    place.ready = nullptr;
  }
  /// In a job: the run ends here, and no rank goes on.
  void stop() { stopped_ = true; }

 private:
  struct Place {
    ucontext_t context{};
    bool done = false;
    bool (*ready)(void*) = nullptr;  // null: the rank can go on
    void* awaited = nullptr;
  };
  [[nodiscard]] static Turns*& here() {
    static Turns* turns = nullptr;
    return turns;
  }
  static void enter() {
    Turns& turns = *here();
    const int rank = turns.rank_;
    turns.job_(rank);
    Place& place = turns.places_[static_cast<std::size_t>(rank)];
    place.done = true;
    swapcontext(&place.context, &turns.home_);
  }
  void prepare(int rank) {
    ucontext_t& context = places_[static_cast<std::size_t>(rank)].context;
    getcontext(&context);
    context.uc_stack.ss_sp = stacks_[static_cast<std::size_t>(rank)].get();
    context.uc_stack.ss_size = stack_bytes;
    context.uc_link = nullptr;
    makecontext(&context, &Turns::enter, 0);
  }

  std::vector<std::unique_ptr<char[]>> stacks_;
  std::vector<Place> places_;
  ucontext_t home_{};
  std::function<void(int)> job_;
  bool stopped_ = false;
  int left_ = 0;  // ranks that have not ended
  int rank_ = 0;  // whose turn it is
};

}  // namespace heddle::tests
