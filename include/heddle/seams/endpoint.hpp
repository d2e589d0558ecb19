// SPDX-License-Identifier: MIT
// Room: seams. What a transport must offer a rank, and what a rank asks of it.
// Sees: core.  Does not see: layers, kernels, programs, any transport.
// In: pointers and run-time extents.  Out: RankNeeds, Ticket, TransportEndpoint, AddElements.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>

#include "heddle/core/ring_volume.hpp"
#include "heddle/core/units.hpp"

namespace heddle::seams_room {

/// How a transport adds two arrays: target = a + b, where target may be a or b. Null stands for floats. A backend whose elements are no floats names
/// another: the sums then run along the same tree.
using AddElements = void (*)(float* target, const float* a, const float* b, std::int64_t elements);

/// What a rank asks of a transport, the same for every rank of a plan: of DataParallel<4> x TensorParallel<2> 8 ranks, 6 groups, and of each rank two
/// groups, with 4 and 2 members.
struct RankNeeds {
  static constexpr int most_groups = 4;
  int ranks = 1;
  int all_groups = 0;                                ///< of all ranks
  std::array<int, most_groups> members{};            ///< of the groups of one rank; 0 where it has fewer
  int transfers = 1;                                 ///< starts of one step on the busiest channel
  int reductions = 1;                                ///< starts of one group that may be pending on one rank
  std::array<std::int64_t, most_groups> elements{};  ///< of the largest sum over each of these groups, in a list or in a body
};

/// What a rank has started and not waited for yet: the k-th send to a peer or receive from one, or the k-th collective of a group and its kind.
/// {Ticket::receive, 2, 5} is the sixth receive from rank 2.
struct Ticket {
  enum Kind : std::uint8_t { send, receive, all_reduce, reduce_scatter, all_gather };
  Kind kind = send;
  int with = 0;  // the peer, or the group
  std::int64_t k = 0;
  [[nodiscard]] constexpr bool collective() const { return kind >= all_reduce; }
};

/// What one rank holds of a transport: start/wait pairs. The k-th send to a peer meets the peer's k-th receive from this rank; the k-th
/// collective of a group, of whatever kind, meets the k-th of every member. start gives k (from 0). Completion depends on starts only, never on
/// another rank's wait. wait throws RankLost after the deadline, or at once when a rank it depends on was given up.
///
/// passable says of what was started whether its wait would return or throw at once; it throws nothing but what the wait would. A rank that asks it
/// before each wait leaves its thread to other ranks. Where a wait only queues work behind that of the others, as on a GPU, it is passable when all
/// of them have started.
///
/// Elements are floats; a send or receive moves any bytes, four for each element that it names. Sums run along one fixed binary tree over positions;
/// a transport may add in another order where `any` is asked for.
/// `elements` is the length of a whole; where it is divided into slices, a multiple of the members, and position j owns the j-th. A slice may be the
/// own place inside the whole or lie elsewhere; reduce_scatter changes nothing else of the whole.
template <class E>
concept TransportEndpoint = requires(E& e, Ticket ticket, int peer, int group, std::int64_t k, const float* source, float* target,
                                     std::int64_t elements, SumOrder order) {
  { e.passable(ticket) } -> std::same_as<bool>;
  { e.send_start(peer, source, elements) } -> std::same_as<std::int64_t>;
  e.send_wait(peer, k);
  { e.receive_start(peer, target, elements) } -> std::same_as<std::int64_t>;
  e.receive_wait(peer, k);
  { e.all_reduce_start(group, target, elements, order) } -> std::same_as<std::int64_t>;  // in place
  e.all_reduce_wait(group, k);
  { e.reduce_scatter_start(group, source, target, elements, order) } -> std::same_as<std::int64_t>;  // from a whole to a slice
  e.reduce_scatter_wait(group, k);
  { e.all_gather_start(group, source, target, elements) } -> std::same_as<std::int64_t>;  // from a slice to a whole
  e.all_gather_wait(group, k);
};

}  // namespace heddle::seams_room
