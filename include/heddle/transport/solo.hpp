// SPDX-License-Identifier: MIT
// Room: transport. One rank alone: nothing moves.
// Sees: seams/concepts, seams/error, core.  Does not see: threads, policies, programs, kernels.
// In: a number of groups, each of this rank only.  Out: a TransportEndpoint; lane model: free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// The transport of one rank. A sum over one position is what is there already, and its slice is the whole.
///
/// Moves   nothing                                                                                              [bytes]
/// Errors  T04 for any transfer, since there is no peer; T02, T03, T05 as every transport
/// Tested  transport/solo_test, conformance/transport_solo_test
class Solo {
 public:
  /// The only rank: a collective of one is a copy, and a send or a receive has no peer and throws.
  class Endpoint {
   public:
    [[nodiscard]] Rank rank() const { return Rank{0}; }

    std::int64_t send_start(int peer, const float*, std::int64_t elements) { return no_peer(peer, elements); }
    void send_wait(int peer, std::int64_t) { no_peer(peer, 0); }
    std::int64_t receive_start(int peer, float*, std::int64_t elements) { return no_peer(peer, elements); }
    void receive_wait(int peer, std::int64_t) { no_peer(peer, 0); }

    std::int64_t all_reduce_start(int group, float* data, std::int64_t elements, SumOrder = SumOrder::tree) {
      return start(Movement::all_reduce, group, data, data, elements);
    }
    void all_reduce_wait(int group, std::int64_t k) { wait(Movement::all_reduce, group, k); }
    std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t elements, SumOrder = SumOrder::tree) {
      return start(Movement::reduce_scatter, group, whole, slice, elements);
    }
    void reduce_scatter_wait(int group, std::int64_t k) { wait(Movement::reduce_scatter, group, k); }
    std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t elements) {
      return start(Movement::all_gather, group, slice, whole, elements);
    }
    void all_gather_wait(int group, std::int64_t k) { wait(Movement::all_gather, group, k); }
    /// Nothing is ever waited for.
    [[nodiscard]] bool passable(const Ticket& ticket) const {
      if (!ticket.collective()) no_peer(ticket.with, 0);
      groups_.check_collective(0, ticket.with, 0);
      return true;
    }

   private:
    friend class Solo;
    Endpoint(int groups, PendingLimits limits)
        : groups_(1, std::vector<std::vector<int>>(static_cast<std::size_t>(groups), {0})),
          collectives_(static_cast<std::size_t>(groups), Window{limits.reductions}), traffic_(groups) {}

    std::int64_t no_peer(int peer, std::int64_t elements) const {
      groups_.check_transfer(0, peer, elements);  // throws: with one rank there is none
      return -1;
    }
    std::int64_t start(Movement kind, int group, const float* source, float* target, std::int64_t elements) {
      groups_.check_collective(0, group, elements);
      const std::int64_t k = window(group).open([&] { return describe_collective(kind, group); });
      traffic_.count_collective(group, kind, elements, 1, 0);
      if (target != source) std::copy_n(source, elements, target);
      return k;
    }
    void wait(Movement kind, int group, std::int64_t k) {
      groups_.check_collective(0, group, 0);
      window(group).close(k, [&] { return describe_collective(kind, group); });
    }
    [[nodiscard]] Window& window(int group) { return collectives_[static_cast<std::size_t>(group)]; }

    GroupsOfRanks groups_;
    std::vector<Window> collectives_;  // (groups)
    SentCounters traffic_;
  };

  explicit Solo(int groups = 1, PendingLimits limits = {}) : endpoint_(groups, limits) {}

  [[nodiscard]] int ranks() const { return 1; }
  [[nodiscard]] Endpoint& endpoint(Rank = Rank{0}) { return endpoint_; }
  [[nodiscard]] Sent sent(Rank, Movement kind) const { return endpoint_.traffic_.sent(kind); }
  [[nodiscard]] Sent sent(Rank, Movement kind, int group) const { return endpoint_.traffic_.sent(kind, group); }
  void clear_traffic() { endpoint_.traffic_.clear(); }
  void reset() {
    for (Window& window : endpoint_.collectives_) window.reset();
  }

 private:
  Endpoint endpoint_;
};

static_assert(TransportEndpoint<Solo::Endpoint>);

}  // namespace heddle::transport_room
