// SPDX-License-Identifier: MIT
// Room: transport. What a rank has sent, counted by the convention of the ledger.
// Sees: core/units, core/ring_volume, transport/movement.  Does not see: buffers, peers, every other room.
// In: sends and collectives as they start.  Out: messages and bytes per kind.
#pragma once

#include <atomic>
#include <cstdint>

#include "heddle/core/ring_volume.hpp"
#include "heddle/core/units.hpp"
#include "heddle/transport/movement.hpp"

namespace heddle::inline transport_room {

/// Messages and bytes that one rank has sent by one kind of movement.
struct Sent {
  std::int64_t messages = 0;
  Bytes bytes;
  friend constexpr bool operator==(const Sent&, const Sent&) = default;
};

/// The counters of one rank: written by its own thread, read by any.
///
/// Tested  transport/sent_counters_test
class alignas(64) SentCounters {
 public:
  void count_send(std::int64_t elements) noexcept { tally(Movement::point_to_point).add(1, 4 * elements); }
  /// One message of a collective, where a transport sends messages.
  void count_message(Movement kind, std::int64_t elements) noexcept { tally(kind).add(1, 4 * elements); }
  void count_collective(Movement kind, std::int64_t elements, int members, int position) noexcept {
    if (kind == Movement::all_reduce)
      tally(kind).add(ring_messages_sent(members), ring_bytes_sent(elements, members, position).value);
    else
      tally(kind).add(half_ring_messages_sent(members), half_ring_bytes_sent(elements, members).value);
  }
  [[nodiscard]] Sent sent(Movement kind) const noexcept {
    const Tally& tally = tallies_[static_cast<int>(kind)];
    return {tally.messages.load(std::memory_order_relaxed), Bytes{tally.bytes.load(std::memory_order_relaxed)}};
  }
  void clear() noexcept {
    for (Tally& tally : tallies_) {
      tally.messages.store(0, std::memory_order_relaxed);
      tally.bytes.store(0, std::memory_order_relaxed);
    }
  }

 private:
  struct Tally {
    std::atomic<std::int64_t> messages{0};
    std::atomic<std::int64_t> bytes{0};
    // One writer: a load and a store do, and cost less than a locked addition.
    void add(std::int64_t more_messages, std::int64_t more_bytes) noexcept {
      messages.store(messages.load(std::memory_order_relaxed) + more_messages, std::memory_order_relaxed);
      bytes.store(bytes.load(std::memory_order_relaxed) + more_bytes, std::memory_order_relaxed);
    }
  };
  [[nodiscard]] Tally& tally(Movement kind) noexcept { return tallies_[static_cast<int>(kind)]; }

  Tally tallies_[movements];
};

}  // namespace heddle::inline transport_room
