// SPDX-License-Identifier: MIT
// Room: transport. The starts of one side that are not waited for yet, numbered from 0.
// Sees: seams.  Does not see: threads, buffers, peers.
// In: the most starts that may be pending.  Out: sequence numbers; a sentence when there are too many or a wait has no start.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::transport_room {

/// The most starts that may be pending at once, per ordered pair of ranks and per group; the memory of a transport follows from it.
/// With the default a rank may have 8 sends to one peer pending.
struct PendingLimits {
  int transfers = 8;
  int reductions = 8;
  std::array<std::int64_t, 4> elements{};  ///< of the largest sum over each group of a rank, in their order, where a transport sums in its own memory
  AddElements add = nullptr;               ///< how collectives add, of a backend whose elements are no floats
};

/// Sequence numbers of one kind of start of one rank. Pending is what lies between the oldest start not waited for and the newest.
/// With a limit of 2 the starts 0 and 1 may be pending, and start 2 needs the wait for 0.
///
/// Errors  T02 if more starts are pending than the limit; T03 if a wait names no pending start
/// Tested  transport/window_test
class Window {
 public:
  explicit Window(int limit) : limit_(limit), waited_(static_cast<std::size_t>(limit), false) {}

  /// Of a window outside the heap, and of its bits.
  [[nodiscard]] static constexpr Bytes memory(int limit) { return Bytes{static_cast<std::int64_t>(sizeof(Window)) + limit / 8 + 8}; }

  /// The number of the next start.
  template <class Describe> std::int64_t open(Describe describe) {
    if (next_ - oldest_ >= limit_)
      throw Error{Code{'T', 2},
                  written({limit_, " starts are pending already at ", std::string{describe()}, ". The oldest not waited for is sequence ", oldest_,
                           ". Fix: wait for it first, or give the transport a higher limit."})};
    waited_[slot(next_)] = false;
    return next_++;
  }

  /// Ends the start with this number: a second wait for it is an error.
  template <class Describe> void close(std::int64_t sequence, Describe describe) {
    if (!pending(sequence))
      throw Error{Code{'T', 3}, written({"sequence ", sequence, " is not pending at ", std::string{describe()}, ". ", next_,
                                         " were started. Fix: wait once for each start, with the number it gave."})};
    waited_[slot(sequence)] = true;
    while (oldest_ < next_ && waited_[slot(oldest_)]) ++oldest_;
  }

  /// Whether close would take this number.
  [[nodiscard]] bool pending(std::int64_t sequence) const { return sequence >= oldest_ && sequence < next_ && !waited_[slot(sequence)]; }
  [[nodiscard]] std::int64_t next() const { return next_; }
  void reset() { next_ = oldest_ = 0; }

 private:
  [[nodiscard]] std::size_t slot(std::int64_t sequence) const { return static_cast<std::size_t>(sequence % limit_); }

  std::int64_t limit_;
  std::int64_t next_ = 0;
  std::int64_t oldest_ = 0;
  std::vector<bool> waited_;
};

}  // namespace heddle::transport_room
