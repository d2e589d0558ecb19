// SPDX-License-Identifier: MIT
// Room: transport. The sentences for sides of one transfer or collective that differ in count or kind.
// Sees: seams/error, transport/movement.  Does not see: rings, threads, programs.
// In: ranks, counts, kinds, sequence.  Out: Error T01.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/movement.hpp"

namespace heddle::transport_room {

/// Tested  transport/mismatch_test
[[nodiscard]] HEDDLE_COLD inline Error counts_differ(const std::string& first, std::int64_t first_count, const std::string& second,
                                                     std::int64_t second_count, std::int64_t sequence) {
  return Error{Code{'T', 1}, written({first, ' ', first_count, " elements, ", second, ' ', second_count, ", sequence ", sequence,
                                      ". Nothing was moved. Fix: start both with the same count, in the same order."})};
}

/// What one member of a group has started. An all-reduce of 512 elements differs from one of 500, and from an all-gather of 512.
struct StartedCollective {
  Movement kind = Movement::all_reduce;
  std::int64_t elements = 0;
  friend bool operator==(const StartedCollective&, const StartedCollective&) = default;
};

/// Tested  transport/mismatch_test
[[nodiscard]] HEDDLE_COLD inline Error collectives_differ(int first_rank, StartedCollective first, int second_rank, StartedCollective second,
                                                          std::int64_t sequence) {
  const auto starts = [](int rank, Movement kind) { return written({"rank ", rank, " starts ", name_of(kind), " of"}); };
  return counts_differ(starts(first_rank, first.kind), first.elements, starts(second_rank, second.kind), second.elements, sequence);
}

}  // namespace heddle::transport_room
