// SPDX-License-Identifier: MIT
// Room: transport. Which ranks were lost and why, readable in every wait at the price of one shared load.
// Sees: run/error, transport/spin_wait.  Does not see: transfers, memory.
// In: ranks given up.  Out: the first of them, and the RankLost that names it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "heddle/run/error.hpp"
#include "heddle/transport/spin_wait.hpp"

namespace heddle::inline transport_room {

/// The first rank lost is the cause; the others mostly follow from it, so every error names the first.
///
/// Tested  transport/lost_ranks_test
class LostRanks {
 public:
  explicit LostRanks(int ranks) : lost_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] bool any() const { return any_.load(std::memory_order_seq_cst); }
  [[nodiscard]] bool contains(int rank) const { return any() && lost_[static_cast<std::size_t>(rank)].load(std::memory_order_seq_cst); }

  void add(int rank, std::string why) {
    const std::lock_guard lock{mutex_};
    insert(rank, std::move(why));
  }
  /// As add, unless some rank is lost already.
  void add_if_first(int rank, std::string why) {
    const std::lock_guard lock{mutex_};
    if (first_ < 0) insert(rank, std::move(why));
  }

  /// The cause of it all, -1 if nobody is lost; and its reason.
  [[nodiscard]] int first() const {
    const std::lock_guard lock{mutex_};
    return first_;
  }
  [[nodiscard]] std::string why() const {
    const std::lock_guard lock{mutex_};
    return why_;
  }

  /// What a wait throws that cannot complete. Only when any().
  [[nodiscard]] RankLost error(std::string operation, std::int64_t sequence) const {
    const std::lock_guard lock{mutex_};
    return {Rank{first_}, std::move(operation), sequence, why_};
  }

  void clear() {
    const std::lock_guard lock{mutex_};
    for (auto& lost : lost_) lost.store(false, std::memory_order_relaxed);
    first_ = -1;
    why_.clear();
    any_.store(false, std::memory_order_seq_cst);
  }

 private:
  void insert(int rank, std::string why) {
    if (first_ < 0) {
      first_ = rank;
      why_ = std::move(why);
    }
    lost_[static_cast<std::size_t>(rank)].store(true, std::memory_order_seq_cst);
    any_.store(true, std::memory_order_seq_cst);
  }

  std::atomic<bool> any_{false};
  std::vector<std::atomic<bool>> lost_;
  mutable std::mutex mutex_;
  int first_ = -1;
  std::string why_;
};

/// What a rank is waiting for, -1 for nothing: a rank that is late because of another is not blamed for it.
struct alignas(cache_line_bytes) Awaited {
  std::atomic<int> peer{-1};
  std::atomic<int> group{-1};
  std::atomic<std::int64_t> sequence{0};
};

}  // namespace heddle::inline transport_room
