// SPDX-License-Identifier: MIT
// Room: transport. What a rank has sent, counted by the convention of the ledger.
// Sees: core/units, core/ring_volume, transport/movement.  Does not see: buffers, peers, every other room.
// In: sends and collectives as they start.  Out: messages and bytes per kind.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/core/ring_volume.hpp"
#include "heddle/core/units.hpp"
#include "heddle/transport/movement.hpp"

namespace heddle::transport_room {

/// Messages and bytes that one rank has sent by one kind of movement. An all-reduce of 256 floats by 2 members is 2 messages and 1,024 bytes of each.
struct Sent {
  std::int64_t messages = 0;
  Bytes bytes;
  friend constexpr bool operator==(const Sent&, const Sent&) = default;
};

/// What one rank sends, to single peers and in the collectives of each group apart: its own thread writes the counters, any thread reads them.
/// The counters of 2 groups are 3 lines of 64 bytes.
///
/// Tested  transport/sent_counters_test
class SentCounters {
 public:
  [[nodiscard]] static constexpr Bytes memory(int groups) { return (groups + 1) * Bytes{sizeof(Line)}; }
  explicit SentCounters(int groups = 1) : groups_(groups), lines_(std::make_unique<Line[]>(static_cast<std::size_t>(groups) + 1)) {}

  void count_send(std::int64_t elements) noexcept { tally(-1, Movement::point_to_point).add(1, float_bytes * elements); }
  /// One message of a collective, where a transport sends messages.
  void count_message(int group, Movement kind, std::int64_t elements) noexcept { tally(group, kind).add(1, float_bytes * elements); }
  void count_collective(int group, Movement kind, std::int64_t elements, int members, int position) noexcept {
    if (kind == Movement::all_reduce)
      tally(group, kind).add(ring_messages_sent(members), ring_bytes_sent(elements, members, position).value);
    else
      tally(group, kind).add(half_ring_messages_sent(members), half_ring_bytes_sent(elements, members).value);
  }
  /// In the collectives of one group.
  [[nodiscard]] Sent sent(Movement kind, int group) const noexcept { return tally(group, kind).seen(); }
  /// In all groups together, or to peers.
  [[nodiscard]] Sent sent(Movement kind) const noexcept {
    Sent sum;
    for (int group = -1; group < groups_; ++group) {
      const Sent one = sent(kind, group);
      sum.messages += one.messages;
      sum.bytes += one.bytes;
    }
    return sum;
  }
  void clear() noexcept {
    for (int line = 0; line <= groups_; ++line)
      for (Tally& tally : lines_[static_cast<std::size_t>(line)].tallies) tally.set(0, 0);
  }

 private:
  /// Messages and bytes that have been sent, of one kind: 2 messages of 512 bytes are 2 and 1024.
  struct Tally {
    std::atomic<std::int64_t> messages{0};
    std::atomic<std::int64_t> bytes{0};
    [[nodiscard]] Sent seen() const noexcept { return {messages.load(std::memory_order_relaxed), Bytes{bytes.load(std::memory_order_relaxed)}}; }
    void set(std::int64_t new_messages, std::int64_t new_bytes) noexcept {
      messages.store(new_messages, std::memory_order_relaxed);
      bytes.store(new_bytes, std::memory_order_relaxed);
    }
    // One writer: a load and a store do, and cost less than a locked addition.
    void add(std::int64_t more_messages, std::int64_t more_bytes) noexcept {
      set(messages.load(std::memory_order_relaxed) + more_messages, bytes.load(std::memory_order_relaxed) + more_bytes);
    }
  };
  /// The tallies of one group, on cache lines that no other group writes to.
  struct alignas(64) Line {
    Tally tallies[movements];
  };
  [[nodiscard]] Tally& tally(int group, Movement kind) const noexcept {
    return lines_[static_cast<std::size_t>(group + 1)].tallies[static_cast<int>(kind)];
  }

  int groups_;
  std::unique_ptr<Line[]> lines_;  // to peers, then by group
};

}  // namespace heddle::transport_room
