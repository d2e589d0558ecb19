// SPDX-License-Identifier: MIT
// Room: backend. What sessions have in common all of whose ranks live in this process.
// Sees: core/units.  Does not see: threads, cards, transports.
// In: a number of ranks.  Out: RanksHere.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "heddle/core/units.hpp"

namespace heddle::backend_room {

/// What each rank threw in the last call, and that there is nothing to share. Of 4 ranks of which 2 has thrown, failed() is true and error(2) is
/// that.
///
/// Tested  backend/ranks_here_test
class RanksHere {
 public:
  [[nodiscard]] std::exception_ptr error(int rank) const { return errors_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool failed() const {
    return std::any_of(errors_.begin(), errors_.end(), [](const std::exception_ptr& error) { return error != nullptr; });
  }
  /// That of the lowest rank, if some rank has thrown.
  void rethrow_first() const {
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
  }
  [[nodiscard]] static bool local(Rank) { return true; }
  [[nodiscard]] static bool first_process() { return true; }
  static void share(Rank, std::span<std::byte>) {}

 protected:
  explicit RanksHere(int ranks) : errors_(static_cast<std::size_t>(ranks)) {}
  std::vector<std::exception_ptr> errors_;  // by rank
};

}  // namespace heddle::backend_room
