// SPDX-License-Identifier: MIT
// Room: plan. Lists of communication events, as a lowering or a person writes them: what the rendezvous check reads.
// Sees: core.  Does not see: policies, processes, threads.
// In: events per role.  Out: EventLists, a view.
#pragma once

#include <cstdint>

#include "heddle/core/rooms.hpp"

namespace heddle::plan_room {

enum class EventKind : std::uint8_t { compute, send_start, send_wait, receive_start, receive_wait, reduce_start, reduce_wait };

/// One event of a role. A wait names the position in its own list where its start stands.
/// The start of a send of 16 rows of 50 features to role 1 has peer 1 and 800 elements.
struct Event {
  EventKind kind = EventKind::compute;
  std::int32_t peer = -1;     ///< role at the other end; reductions along axes that roles share have none
  std::int32_t start = -1;    ///< waits: index in the same list
  std::int64_t elements = 0;  ///< payload, compared between the two sides
};

[[nodiscard]] constexpr bool is_start(EventKind k) { return k == EventKind::send_start || k == EventKind::receive_start; }
[[nodiscard]] constexpr bool is_wait(EventKind k) { return k == EventKind::send_wait || k == EventKind::receive_wait; }

/// A blocking send under rendezvous is its start and its wait; so is a receive.
/// Of 2 roles with 4 events each the begins are 0, 4 and 8.
struct EventLists {
  const Event* events = nullptr;
  const int* begins = nullptr;  ///< roles + 1 entries
  int roles = 0;

  [[nodiscard]] constexpr int begin(int role) const { return begins[role]; }
  [[nodiscard]] constexpr int end(int role) const { return begins[role + 1]; }
  [[nodiscard]] constexpr EventKind kind(int index) const { return events[index].kind; }
  [[nodiscard]] constexpr int peer(int index) const { return events[index].peer; }
  [[nodiscard]] constexpr int start(int index) const { return events[index].start; }
  [[nodiscard]] constexpr std::int64_t elements(int index) const { return events[index].elements; }
};

/// How transfers of one device are completed by a transport.
enum class Lanes : std::uint8_t {
  free,              ///< each as soon as both sides have posted it (MPI, threads)
  per_communicator,  ///< in the order of starts on each device with one peer, both directions: a communicator and a stream per pair (NCCL)
  one_per_device,    ///< in the order of starts on each device (NCCL on one stream)
};

}  // namespace heddle::plan_room
