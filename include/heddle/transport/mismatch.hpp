// SPDX-License-Identifier: MIT
// Room: transport. The sentence for two sides of one transfer that name different counts.
// Sees: run/error.  Does not see: rings, threads, programs.
// In: ranks, counts, sequence.  Out: Error T01.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/run/error.hpp"

namespace heddle::inline transport_room {

/// Tested  transport/mismatch_test
[[nodiscard]] inline Error counts_differ(const std::string& first, std::int64_t first_count, const std::string& second, std::int64_t second_count,
                                         std::int64_t sequence) {
  return Error{Code{'T', 1}, first + ' ' + std::to_string(first_count) + " elements, " + second + ' ' + std::to_string(second_count) + ", sequence " +
                                 std::to_string(sequence) + ". Nothing was moved. Fix: start both with the same count, in the same order."};
}

}  // namespace heddle::inline transport_room
