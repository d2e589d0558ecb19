// SPDX-License-Identifier: MIT
// Room: transport. Memory that one process takes for a transport over MPI, known before there is one.
// Sees: seams/concepts, transport/mpi_lanes, transport/mpi_transfer.  Does not see: deadlines, lost ranks, programs.
// In: RankNeeds.  Out: mpi_memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/mpi_lanes.hpp"
#include "heddle/transport/mpi_transfer.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// Scratch for the sums of each group, and a place for everything that may be pending: two ranks that sum 1000 floats take 4096 bytes of scratch.
/// Names, small lists and what MPI takes itself are left out.
///
/// Tested  transport/mpi_memory_test, equivalence/memory_mpi_test
[[nodiscard]] constexpr Bytes mpi_memory(const RankNeeds& needs) {
  const std::int64_t channels = 2 * std::int64_t{needs.ranks};
  Bytes sum = channels * (Window::memory(needs.transfers) + needs.transfers * (MpiTransfer::memory() + Bytes{sizeof(MpiTransfer*)}));
  for (std::size_t own = 0; own < needs.members.size(); ++own)
    if (needs.members[own] > 0) sum += MpiLanes::memory(needs.members[own], needs.reductions, needs.elements[own]);
  return sum + GroupsOfRanks::memory(needs.ranks, needs.all_groups) + SentCounters::memory(needs.all_groups);
}

}  // namespace heddle::transport_room
