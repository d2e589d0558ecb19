// SPDX-License-Identifier: MIT
// Room: transport. The transfers from one rank to another in one address space: a ring of slots, matched by number.
// Sees: transport/spin_wait.  Does not see: deadlines, lost ranks, how anybody waits.
// In: the k-th send and the k-th receive.  Out: one copy, done by whoever posts last, or a dead slot that nobody copies to.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <thread>

#include "heddle/core/row_of.hpp"
#include "heddle/core/units.hpp"
#include "heddle/transport/spin_wait.hpp"

namespace heddle::transport_room {

/// One ordered pair of ranks. A slot's state is (k+1) << 4 | bits, so a slot of an earlier round is never taken for the present one.
///
/// The ring has two slots per pending start: whoever starts k has seen k - limit complete, hence the other side has posted k - limit, hence the
/// other side has waited for k - 2 limit. No slot is reused before both have waited for it.
/// Tested  transport/pair_ring_test
class PairRing {
 public:
  enum Side : std::uint64_t { send = 1, receive = 2 };

  [[nodiscard]] static constexpr Bytes memory(int limit) { return Bytes{sizeof(PairRing)} + 2 * limit * Bytes{sizeof(Slot)}; }
  explicit PairRing(int limit) : slots_(2 * static_cast<std::size_t>(limit)) {}

  /// Posts the send (the receive) number k. True if this completed the transfer: the other side may sleep and must be woken.
  bool post_send(std::int64_t k, const float* source, std::int64_t elements) {
    Slot& slot = at(k);
    slot.source = source;
    slot.sent = elements;
    return post(slot, k, send);
  }
  bool post_receive(std::int64_t k, float* target, std::int64_t elements) {
    Slot& slot = at(k);
    slot.target = target;
    slot.received = elements;
    return post(slot, k, receive);
  }

  [[nodiscard]] bool done(std::int64_t k) const { return at(k).state.load(std::memory_order_seq_cst) == (stamp(k) | both | copied); }
  [[nodiscard]] bool dead(std::int64_t k) const { return (at(k).state.load(std::memory_order_seq_cst) & killed) != 0; }

  /// Counts of a transfer that is done; they differ if nothing was copied.
  [[nodiscard]] std::int64_t sent(std::int64_t k) const { return at(k).sent; }
  [[nodiscard]] std::int64_t received(std::int64_t k) const { return at(k).received; }

  /// Ends number k if one side only has posted it: true if no copy has begun and none ever will, false if both have posted.
  bool kill(std::int64_t k) { return kill(at(k), send) || kill(at(k), receive); }

  /// Ends whatever this side alone has posted, and returns when no copy that it takes part in is under way.
  void kill_all(Side side) {
    for (Slot& slot : slots_) {
      if (kill(slot, side)) continue;
      while (under_way(slot)) std::this_thread::yield();  // the last poster is copying: it needs nobody to finish
    }
  }

  void reset() {
    for (Slot& slot : slots_) slot.state.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t both = send | receive;
  static constexpr std::uint64_t copied = 4;
  static constexpr std::uint64_t killed = 8;
  static constexpr std::uint64_t bits = 15;

  /// One transfer in flight from one rank to another: its state, the two addresses, and the elements of each end.
  /// If rank 0 sends 512 elements and rank 1 expects 500, the slot has sent 512 and received 500, and nothing is copied.
  struct alignas(cache_line_bytes) Slot {
    std::atomic<std::uint64_t> state{0};
    const float* source = nullptr;
    float* target = nullptr;
    std::int64_t sent = 0;
    std::int64_t received = 0;
  };

  static std::uint64_t stamp(std::int64_t k) { return static_cast<std::uint64_t>(k + 1) << 4; }
  [[nodiscard]] Slot& at(std::int64_t k) { return slots_[static_cast<std::size_t>(k) % slots_.size()]; }
  [[nodiscard]] const Slot& at(std::int64_t k) const { return slots_[static_cast<std::size_t>(k) % slots_.size()]; }
  static bool under_way(const Slot& slot) { return (slot.state.load(std::memory_order_acquire) & bits) == both; }

  static bool post(Slot& slot, std::int64_t k, Side side) {
    std::uint64_t seen = slot.state.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      const bool other_is_here = (seen & ~bits) == stamp(k);
      if (other_is_here && (seen & killed) != 0) return false;
      next = (other_is_here ? seen : stamp(k)) | side;
    } while (!slot.state.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    if ((next & both) != both) return false;
    if (slot.sent == slot.received && slot.sent > 0) std::memcpy(slot.target, slot.source, static_cast<std::size_t>(slot.sent) * sizeof(float));
    slot.state.exchange(next | copied, std::memory_order_seq_cst);
    return true;
  }

  static bool kill(Slot& slot, Side side) {
    std::uint64_t seen = slot.state.load(std::memory_order_acquire);
    do {
      if ((seen & killed) != 0) return true;
      if ((seen & both) != side) return false;
    } while (!slot.state.compare_exchange_weak(seen, seen | killed, std::memory_order_seq_cst, std::memory_order_acquire));
    return true;
  }

  RowOf<Slot> slots_;
};

}  // namespace heddle::transport_room
