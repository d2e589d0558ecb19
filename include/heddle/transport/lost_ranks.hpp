// SPDX-License-Identifier: MIT
// Room: transport. Which ranks were lost and why, readable in every wait at the price of one shared load.
// Sees: seams/error, transport/spin_wait.  Does not see: transfers, memory.
// In: ranks given up.  Out: the first of them, and the RankLost that names it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/spin_wait.hpp"

namespace heddle::transport_room {

/// The first rank lost is the cause; the others mostly follow from it, so every error names the first.
/// If rank 2 is lost, and rank 0 after it, cause() is 2.
///
/// Tested  transport/lost_ranks_test
class LostRanks {
 public:
  explicit LostRanks(int ranks) : lost_(static_cast<std::size_t>(ranks)) {}

  [[nodiscard]] bool any() const { return any_.load(std::memory_order_seq_cst); }
  [[nodiscard]] bool contains(int rank) const { return any() && lost_[static_cast<std::size_t>(rank)].load(std::memory_order_seq_cst); }

  HEDDLE_COLD void add(int rank, std::string why) {
    const std::lock_guard lock{mutex_};
    insert(rank, std::move(why));
  }
  /// As add, unless some rank is lost already.
  HEDDLE_COLD void add_if_first(int rank, std::string why) {
    const std::lock_guard lock{mutex_};
    if (first_ < 0) insert(rank, std::move(why));
  }

  /// The cause of it all, -1 if nobody is lost; and its reason.
  [[nodiscard]] int cause() const {
    const std::lock_guard lock{mutex_};
    return first_;
  }
  [[nodiscard]] std::string why() const {
    const std::lock_guard lock{mutex_};
    return why_;
  }

  /// What a wait throws that cannot complete. Only when any().
  [[nodiscard]] HEDDLE_COLD RankLost error(std::string operation, std::int64_t sequence) const {
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
    auto& lost = lost_.at(static_cast<std::size_t>(rank));
    if (first_ < 0) {
      first_ = rank;
      why_ = std::move(why);
    }
    lost.store(true, std::memory_order_seq_cst);
    any_.store(true, std::memory_order_seq_cst);
  }

  std::atomic<bool> any_{false};
  RowOf<std::atomic<bool>> lost_;
  mutable std::mutex mutex_;
  int first_ = -1;
  std::string why_;
};

/// What is said of a rank that does not answer others that ask: at the deadline, or half of it after a connection of theirs has broken.
[[nodiscard]] HEDDLE_COLD inline std::string silence(std::chrono::nanoseconds deadline, bool broken) {
  return broken ? "a connection is broken, and it answered nothing within half of the deadline of " + milliseconds_of(deadline)
                : "it started nothing within the deadline of " + milliseconds_of(deadline);
}

/// What a rank is waiting for: a rank that is late because of another is not blamed for it. One word, so that whoever reads it while it changes
/// sees one wait or the other, never the group of one with the number of the other.
///
/// Tested  transport/lost_ranks_test
class alignas(cache_line_bytes) Awaited {
 public:
  /// A transfer of a peer, or a collective of a group; -1 where it is none.
  struct Wait {
    int peer = -1;
    int group = -1;
    std::int64_t sequence = 0;
  };

  void set_peer(int peer) { word_.store(static_cast<std::uint64_t>(peer) << kind_bits | transfer, std::memory_order_release); }
  void set_collective(int group, std::int64_t sequence) {
    const auto number = static_cast<std::uint64_t>(sequence) << (kind_bits + index_bits);
    word_.store(number | static_cast<std::uint64_t>(group) << kind_bits | collective, std::memory_order_release);
  }
  void clear() { word_.store(0, std::memory_order_release); }

  [[nodiscard]] Wait read() const {
    const std::uint64_t word = word_.load(std::memory_order_acquire);
    const auto index = static_cast<int>(word >> kind_bits & ((1U << index_bits) - 1));
    if ((word & transfer) != 0) return {index, -1, 0};
    if ((word & collective) != 0) return {-1, index, static_cast<std::int64_t>(word >> (kind_bits + index_bits))};
    return {};
  }

 private:
  static constexpr int kind_bits = 2;
  static constexpr int index_bits = 22;  // ranks and groups; 40 bits are left for the number
  static constexpr std::uint64_t transfer = 1;
  static constexpr std::uint64_t collective = 2;
  std::atomic<std::uint64_t> word_{0};  // 0: nothing
};

}  // namespace heddle::transport_room
