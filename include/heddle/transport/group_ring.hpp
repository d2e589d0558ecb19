// SPDX-License-Identifier: MIT
// Room: transport. The collectives of one group of ranks in one address space: a ring of slots whose work is done by waiters.
// Sees: transport/collective_work, transport/mismatch, transport/spin_wait.  Does not see: deadlines, lost ranks, how anybody waits.
// In: the k-th start of every position.  Out: slices of work to claim; the result in every target, or a dead slot that nobody touches.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/units.hpp"
#include "heddle/transport/collective_work.hpp"
#include "heddle/transport/mismatch.hpp"
#include "heddle/transport/spin_wait.hpp"

namespace heddle::transport_room {

/// One group; its collectives share one numbering, whatever their kind. Each atomic of a slot carries the number k+1 above its count, so a slot of an
/// earlier round is never taken for the present one.
///
/// posts counts the positions that have started; the last one opens the slot. open counts the slices nobody has claimed, left those not finished:
/// when it is 0 no slice is read or written any more. Slots: two per pending start, for the reason given at PairRing.
///
/// A start marks its position in started_ after posts has counted it, never before and never without: a number that was ended has a position whose
/// mark is missing for good, and a position that has come too late for one number starts no later one.
/// Tested  transport/group_ring_test
class GroupRing {
 public:
  /// Fewer than 2^15 members: the count shares a word with the number.
  HEDDLE_COLD GroupRing(int members, int limit, AddElements add = nullptr)
      : members_(members), add_(add), slots_(2 * static_cast<std::size_t>(limit)), sources_(slots_.size() * count(members)),
        targets_(sources_.size()), posted_(sources_.size()), started_(count(members)) {}

  [[nodiscard]] static constexpr Bytes memory(int members, int limit) {
    constexpr auto of_a_start = static_cast<std::int64_t>(2 * sizeof(float*) + sizeof(StartedCollective));
    return Bytes{sizeof(GroupRing)} + 2 * limit * (Bytes{sizeof(Slot)} + Bytes{members * of_a_start}) + members * Bytes{sizeof(Started)};
  }
  [[nodiscard]] int members() const { return members_; }

  /// Posts number k of `position`. True if this opened the slot: sleeping members must be woken. What is too small to share the last one does.
  bool post(std::int64_t k, int position, StartedCollective what, const float* source, float* target) {
    if (!started(k - 1, position)) return false;  // an earlier start found its slot dead, so this rank is about to be lost
    Slot& slot = at(k);
    const std::size_t mine = row(k) + count(position);
    sources_[mine] = source;
    targets_[mine] = target;
    posted_[mine] = what;
    std::uint64_t seen = slot.posts.load(std::memory_order_relaxed);
    std::uint64_t next = 0;
    do {
      const bool others_are_here = (seen & ~post_bits) == stamp(k, post_shift);
      if (others_are_here && (seen & killed) != 0) return false;
      next = (others_are_here ? seen : stamp(k, post_shift)) + 1;
    } while (!slot.posts.compare_exchange_weak(seen, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    started_[count(position)].value.store(k + 1, std::memory_order_release);
    if ((next & (killed - 1)) != static_cast<std::uint64_t>(members_)) return false;
    open(slot, k);
    return true;
  }

  [[nodiscard]] bool done(std::int64_t k) const { return at(k).left.load(std::memory_order_seq_cst) == stamp(k, work_shift); }
  [[nodiscard]] bool has_work(std::int64_t k) const {
    const std::uint64_t open = at(k).open.load(std::memory_order_seq_cst);
    return (open & ~work_bits) == stamp(k, work_shift) && (open & work_bits) != 0;
  }
  [[nodiscard]] bool dead(std::int64_t k) const { return (at(k).posts.load(std::memory_order_seq_cst) & killed) != 0; }

  /// Claims slices and does their work until none is left. True if this finished the last one: sleeping members must be woken.
  /// Safe from any thread, for any k that was ever posted.
  bool work(std::int64_t k) {
    Slot& slot = at(k);
    std::uint64_t open = slot.open.load(std::memory_order_acquire);
    bool finished = false;
    while ((open & ~work_bits) == stamp(k, work_shift) && (open & work_bits) != 0) {
      if (!slot.open.compare_exchange_weak(open, open - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      const auto slice = static_cast<std::int64_t>((open & work_bits) - 1);
      const std::int64_t first = slice * slot.slice_elements;
      work_on_range(slot.buffers, first, std::min(slot.buffers.elements, first + slot.slice_elements));
      finished = slot.left.fetch_sub(1, std::memory_order_seq_cst) == (stamp(k, work_shift) | 1);
      open = slot.open.load(std::memory_order_acquire);
    }
    return finished;
  }

  /// The first position that started another kind or count than position 0, 0 if all agree. Only for a k that is done; nothing moves if they
  /// differ.
  [[nodiscard]] int odd_position(std::int64_t k) const { return at(k).odd; }
  [[nodiscard]] StartedCollective posted(std::int64_t k, int position) const { return posted_[row(k) + count(position)]; }

  /// Whether `position` has started number k.
  [[nodiscard]] bool started(std::int64_t k, int position) const { return started_[count(position)].value.load(std::memory_order_acquire) > k; }
  /// The first position that has not started number k, -1 if all have. Of a number that was ended there is one, and it never will.
  [[nodiscard]] int first_missing(std::int64_t k) const {
    if (dead(k)) settle(k);
    for (int q = 0; q < members_; ++q)
      if (!started(k, q)) return q;
    return -1;
  }

  /// Ends number k if some position has not started it: true if no work has begun and none ever will.
  HEDDLE_COLD bool kill(std::int64_t k) {
    Slot& slot = at(k);
    std::uint64_t seen = slot.posts.load(std::memory_order_acquire);
    std::uint64_t next = 0;
    do {
      if ((seen & killed) != 0) return true;
      if ((seen & ~post_bits) > stamp(k, post_shift)) return false;  // long done
      const bool somebody_is_here = (seen & ~post_bits) == stamp(k, post_shift);
      if (somebody_is_here && (seen & (killed - 1)) == static_cast<std::uint64_t>(members_)) return false;
      next = (somebody_is_here ? seen : stamp(k, post_shift)) | killed;
    } while (!slot.posts.compare_exchange_weak(seen, next, std::memory_order_seq_cst, std::memory_order_acquire));
    return true;
  }

  /// Ends what `position` has started and cannot complete, completes the rest. Afterwards nobody touches a buffer it has given.
  HEDDLE_COLD void kill_all(int position) {
    for (Slot& slot : slots_) {
      const std::uint64_t seen = slot.posts.load(std::memory_order_acquire);
      const std::int64_t k = static_cast<std::int64_t>(seen >> post_shift) - 1;
      if (k < 0) continue;
      settle(k);
      if (!started(k, position) || kill(k)) continue;
      for (; !over(slot, k); std::this_thread::yield()) work(k);
    }
  }

  HEDDLE_COLD void reset() {
    for (Slot& slot : slots_) {
      slot.posts.store(0, std::memory_order_relaxed);
      slot.open.store(0, std::memory_order_relaxed);
      slot.left.store(0, std::memory_order_relaxed);
    }
    for (Started& started : started_) started.value.store(0, std::memory_order_relaxed);
  }

 private:
  static constexpr int post_shift = 16;
  static constexpr std::uint64_t post_bits = (1U << post_shift) - 1;
  static constexpr std::uint64_t killed = 1U << 15;
  static constexpr int work_shift = 20;
  static constexpr std::uint64_t work_bits = (1U << work_shift) - 1;
  static constexpr std::int64_t least_slice = 4096;   // elements: below, claiming costs more than a second core gives
  static constexpr std::int64_t usual_slice = 65536;  // elements

  /// One collective in flight: who has posted, which slices are open, who has left; each counter has a cache line of its own.
  /// A sum of 131,072 elements by 2 members opens 8 slices of 16,384.
  struct Slot {
    alignas(cache_line_bytes) std::atomic<std::uint64_t> posts{0};
    alignas(cache_line_bytes) std::atomic<std::uint64_t> open{0};
    CollectiveBuffers buffers;
    std::int64_t slice_elements = 0;
    int odd = 0;
    alignas(cache_line_bytes) std::atomic<std::uint64_t> left{0};
  };
  /// How many collectives one member has started, on a cache line of its own.
  struct alignas(cache_line_bytes) Started {
    std::atomic<std::int64_t> value{0};
  };

  static std::size_t count(int n) { return static_cast<std::size_t>(n); }
  static std::uint64_t stamp(std::int64_t k, int shift) { return static_cast<std::uint64_t>(k + 1) << shift; }
  [[nodiscard]] std::size_t index(std::int64_t k) const { return static_cast<std::size_t>(k) % slots_.size(); }
  [[nodiscard]] std::size_t row(std::int64_t k) const { return index(k) * count(members_); }
  [[nodiscard]] Slot& at(std::int64_t k) { return slots_[index(k)]; }
  [[nodiscard]] const Slot& at(std::int64_t k) const { return slots_[index(k)]; }

  /// Done, or so long ago that the slot serves a later number.
  static bool over(const Slot& slot, std::int64_t k) {
    const std::uint64_t left = slot.left.load(std::memory_order_seq_cst);
    return left == stamp(k, work_shift) || left >> work_shift > static_cast<std::uint64_t>(k + 1);
  }

  /// Returns when every start of number k that is counted is marked as well.
  void settle(std::int64_t k) const {
    for (;; std::this_thread::yield()) {
      const std::uint64_t seen = at(k).posts.load(std::memory_order_acquire);
      if ((seen & ~post_bits) != stamp(k, post_shift)) return;  // the slot serves a later number
      std::uint64_t marked = 0;
      for (int q = 0; q < members_; ++q) marked += started(k, q) ? 1U : 0U;
      if (marked >= (seen & (killed - 1))) return;
    }
  }

  // Run by the last poster: everybody's entries are visible to it, and through `open` to whoever claims a slice.
  void open(Slot& slot, std::int64_t k) {
    slot.odd = 0;
    for (int q = members_ - 1; q > 0; --q)
      if (posted(k, q) != posted(k, 0)) slot.odd = q;
    const std::int64_t elements = posted(k, 0).elements;
    slot.buffers = {posted(k, 0).kind, members_, elements, sources_.begin() + row(k), targets_.begin() + row(k), add_};
    const std::int64_t even = elements / (4 * static_cast<std::int64_t>(members_));
    std::int64_t slice = std::clamp(even, least_slice, usual_slice);
    slice = std::max(slice, elements >> (work_shift - 1));
    slot.slice_elements = (slice + 15) / 16 * 16;
    std::int64_t slices = slot.odd != 0 ? 0 : (elements + slot.slice_elements - 1) / slot.slice_elements;
    if (slices <= 1) {
      if (slices == 1) work_on_range(slot.buffers, 0, elements);
      slices = 0;
    }
    const std::uint64_t word = stamp(k, work_shift) | static_cast<std::uint64_t>(slices);
    slot.left.store(word, std::memory_order_seq_cst);
    if (slices > 0) slot.open.store(word, std::memory_order_seq_cst);
  }

  int members_;
  AddElements add_;
  RowOf<Slot> slots_;
  RowOf<const float*> sources_;      // (slots, members)
  RowOf<float*> targets_;            // (slots, members)
  RowOf<StartedCollective> posted_;  // (slots, members)
  RowOf<Started> started_;           // (members)
};

}  // namespace heddle::transport_room
