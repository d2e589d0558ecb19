// SPDX-License-Identifier: MIT
// Room: transport. Ranks that one thread conducts, in memory that all of them reach: what moves is queued when the last of its ranks has started it.
// Sees: seams/endpoint, seams/error, core.  Does not see: threads, policies, programs, kernels, whose memory it is.
// In: groups, and a mover that copies and sums.  Out: a TransportEndpoint for each rank; lane model: free.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/endpoint.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/mismatch.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// A transport of one thread. `Mover` has
///   copy(to, from, elements)
///   sum(to, from, members, elements)   to[k] = the sum of from[0 .. members) along the tree of tree_sum_to_all, for each k whose to[k] is not null;
///                                      an element is read from all before it is written anywhere
/// and does both in the order in which it is asked, now or behind what was asked before: several logical devices of one card have the queue of that
/// card. A wait returns when that is queued. Of two ranks that exchange 8 floats the second to start makes the copy of 8.
///
/// A graph that replays a step moves the same again and counts nothing: sent() is that of steps that were queued.
///
/// Moves   as every transport: what the ledger says                                                              [bytes]
/// Errors  R01 RankLost of a wait for a rank that was given up, or for one that starts nothing (a wait that is not passable); T01 to T05
/// Tested  transport/conducted_test, equivalence/cuda_test
template <class Mover> class Conducted {
 public:
  /// What one rank holds: rank 1 of 4 sends to rank 2 and is in the groups of its axes.
  class Endpoint {
   public:
    Endpoint(Conducted& world, int rank) : world_(&world), rank_(rank) {}
    [[nodiscard]] Rank rank() const { return Rank{rank_}; }
    [[nodiscard]] Mover& mover() { return world_->mover_; }

    std::int64_t send_start(int peer, const float* source, std::int64_t elements) { return world_->transfer(rank_, peer, source, nullptr, elements); }
    void send_wait(int peer, std::int64_t k) { world_->wait_transfer(rank_, peer, true, k); }
    std::int64_t receive_start(int peer, float* target, std::int64_t elements) { return world_->transfer(rank_, peer, nullptr, target, elements); }
    void receive_wait(int peer, std::int64_t k) { world_->wait_transfer(rank_, peer, false, k); }

    std::int64_t all_reduce_start(int group, float* data, std::int64_t elements, SumOrder = SumOrder::tree) {
      return world_->collect(Movement::all_reduce, rank_, group, data, data, elements);
    }
    void all_reduce_wait(int group, std::int64_t k) { world_->wait_collective(Movement::all_reduce, rank_, group, k); }
    std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t elements, SumOrder = SumOrder::tree) {
      return world_->collect(Movement::reduce_scatter, rank_, group, whole, slice, elements);
    }
    void reduce_scatter_wait(int group, std::int64_t k) { world_->wait_collective(Movement::reduce_scatter, rank_, group, k); }
    std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t elements) {
      return world_->collect(Movement::all_gather, rank_, group, slice, whole, elements);
    }
    void all_gather_wait(int group, std::int64_t k) { world_->wait_collective(Movement::all_gather, rank_, group, k); }
    [[nodiscard]] bool passable(const Ticket& ticket) const { return world_->passable(rank_, ticket); }

   private:
    Conducted* world_;
    int rank_;
  };

  HEDDLE_COLD Conducted(int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, Mover mover)
      : groups_(ranks, std::move(groups)), mover_(std::move(mover)), limits_(limits), lost_(ranks) {
    for (int r = 0; r < ranks; ++r) {
      endpoints_.emplace_back(*this, r);
      traffic_.emplace_back(groups_.count());
    }
    make_windows();
  }
  Conducted(const Conducted&) = delete;
  Conducted& operator=(const Conducted&) = delete;

  [[nodiscard]] int ranks() const { return groups_.ranks(); }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return endpoints_[static_cast<std::size_t>(rank.value)]; }
  [[nodiscard]] Sent sent(Rank rank, Movement kind) const { return traffic_[static_cast<std::size_t>(rank.value)].sent(kind); }
  [[nodiscard]] Sent sent(Rank rank, Movement kind, int group) const { return traffic_[static_cast<std::size_t>(rank.value)].sent(kind, group); }
  void clear_traffic() {
    for (SentCounters& of_rank : traffic_) of_rank.clear();
  }
  /// What waits for this rank, or for one that waits for it, throws from now on.
  void give_up(Rank rank, std::string why) { lost_.add(rank.value, std::move(why)); }
  /// After a failure: nothing is pending, nobody is lost.
  void reset() {
    make_windows();
    lost_.clear();
  }

 private:
  /// One side of a transfer that has started, of 8 elements for instance.
  struct Side {
    const float* source = nullptr;
    float* target = nullptr;
    std::int64_t elements = 0;
    bool there = false;
  };
  /// From one rank to another: a window and a row of sides for the sender, and for the receiver; `met` transfers have been queued, 2 of 3 that were
  /// sent.
  struct Channel {
    Window sends, receives;
    std::vector<Side> sent, received;
    std::int64_t met = 0;
  };
  /// One collective of a group, as far as its members have started it: 2 of 3 are there.
  struct Round {
    StartedCollective started;
    std::vector<const float*> sources;
    std::vector<float*> targets;
    int first = -1;  // the rank that started it first
    int there = 0;
  };
  /// The collectives of one group: of 3 members there are 3 windows.
  struct Meeting {
    std::vector<Window> windows;  // by position
    std::vector<Round> rounds;
    std::int64_t met = 0;
  };

  [[nodiscard]] Channel& channel(int from, int to) { return channels_[static_cast<std::size_t>(from * ranks() + to)]; }
  [[nodiscard]] Window& window(int group, int rank) {
    return meetings_[static_cast<std::size_t>(group)].windows[static_cast<std::size_t>(groups_.position(group, rank))];
  }
  HEDDLE_COLD void make_windows() {
    const auto of = [](int limit) { return std::vector<Side>(static_cast<std::size_t>(limit)); };
    channels_.assign(static_cast<std::size_t>(ranks()) * static_cast<std::size_t>(ranks()),
                     Channel{Window{limits_.transfers}, Window{limits_.transfers}, of(limits_.transfers), of(limits_.transfers)});
    meetings_.clear();
    for (int g = 0; g < groups_.count(); ++g) {
      const auto members = static_cast<std::size_t>(groups_.members(g));
      Meeting meeting;
      meeting.windows.assign(members, Window{limits_.reductions});
      meeting.rounds.assign(static_cast<std::size_t>(limits_.reductions),
                            Round{{}, std::vector<const float*>(members), std::vector<float*>(members)});
      meetings_.push_back(std::move(meeting));
    }
  }

  // ---- transfers
  std::int64_t transfer(int rank, int peer, const float* source, float* target, std::int64_t elements) {
    groups_.check_transfer(rank, peer, elements);
    const bool sends = target == nullptr;
    Channel& c = sends ? channel(rank, peer) : channel(peer, rank);
    const std::int64_t k = (sends ? c.sends : c.receives).open([&] { return described(rank, peer, sends); });
    (sends ? c.sent : c.received)[static_cast<std::size_t>(k % limits_.transfers)] = {source, target, elements, true};
    if (sends) traffic_[static_cast<std::size_t>(rank)].count_send(elements);
    meet(c, sends ? rank : peer, sends ? peer : rank);
    return k;
  }
  void meet(Channel& c, int from, int to) {
    while (c.met < std::min(c.sends.next(), c.receives.next())) {
      const auto at = static_cast<std::size_t>(c.met % limits_.transfers);
      const Side& sent = c.sent[at];
      const Side& received = c.received[at];
      if (sent.elements != received.elements)
        throw counts_differ(written({"rank ", from, " sends rank ", to}), sent.elements, written({"rank ", to, " takes"}), received.elements, c.met);
      mover_.copy(received.target, sent.source, sent.elements);
      ++c.met;
    }
  }
  void wait_transfer(int rank, int peer, bool sends, std::int64_t k) {
    Channel& c = sends ? channel(rank, peer) : channel(peer, rank);
    if (c.met <= k) refuse_wait(described(rank, peer, sends), k);
    (sends ? c.sends : c.receives).close(k, [&] { return described(rank, peer, sends); });
  }

  // ---- collectives
  std::int64_t collect(Movement kind, int rank, int group, const float* source, float* target, std::int64_t elements) {
    kind == Movement::all_reduce ? groups_.check_collective(rank, group, elements) : groups_.check_slices(rank, group, elements);
    const std::int64_t k = window(group, rank).open([&] { return describe_collective(kind, group); });
    const int members = groups_.members(group), position = groups_.position(group, rank);
    Round& round = meetings_[static_cast<std::size_t>(group)].rounds[static_cast<std::size_t>(k % limits_.reductions)];
    if (round.there == 0) {
      round.started = {kind, elements};
      round.first = rank;
    } else if (const StartedCollective mine{kind, elements}; mine != round.started) {
      throw collectives_differ(round.first, round.started, rank, mine, k);
    }
    round.sources[static_cast<std::size_t>(position)] = source;
    round.targets[static_cast<std::size_t>(position)] = target;
    traffic_[static_cast<std::size_t>(rank)].count_collective(group, kind, elements, members, position);
    if (++round.there == members) {
      move(round, members);
      round.there = 0;
      ++meetings_[static_cast<std::size_t>(group)].met;
    }
    return k;
  }
  void move(Round& round, int members) {
    const std::int64_t all = round.started.elements, part = all / members;
    switch (round.started.kind) {
      case Movement::all_reduce: return mover_.sum(round.targets.data(), round.sources.data(), members, all);
      case Movement::reduce_scatter:
        for (int j = 0; j < members; ++j) {
          parts_.assign(round.sources.begin(), round.sources.end());
          for (const float*& from : parts_) from += j * part;
          into_.assign(static_cast<std::size_t>(members), nullptr);
          into_[static_cast<std::size_t>(j)] = round.targets[static_cast<std::size_t>(j)];
          mover_.sum(into_.data(), parts_.data(), members, part);
        }
        return;
      case Movement::all_gather:
        for (int j = 0; j < members; ++j)
          for (int k = 0; k < members; ++k) {
            float* const to = round.targets[static_cast<std::size_t>(k)] + j * part;
            const float* const from = round.sources[static_cast<std::size_t>(j)];
            if (to != from) mover_.copy(to, from, part);
          }
        return;
      default: return;
    }
  }
  void wait_collective(Movement kind, int rank, int group, std::int64_t k) {
    groups_.check_collective(rank, group, 0);
    if (meetings_[static_cast<std::size_t>(group)].met <= k) refuse_wait(describe_collective(kind, group), k);
    window(group, rank).close(k, [&] { return describe_collective(kind, group); });
  }

  [[nodiscard]] bool passable(int rank, const Ticket& ticket) {
    if (lost_.any()) return true;
    if (ticket.collective()) {
      groups_.check_collective(rank, ticket.with, 0);
      return meetings_[static_cast<std::size_t>(ticket.with)].met > ticket.k;
    }
    groups_.check_transfer(rank, ticket.with, 0);
    return (ticket.kind == Ticket::send ? channel(rank, ticket.with) : channel(ticket.with, rank)).met > ticket.k;
  }
  /// A wait that is not passable: the thread that waits is the one that others would need.
  [[noreturn]] HEDDLE_COLD void refuse_wait(const std::string& operation, std::int64_t k) const {
    if (lost_.any()) throw lost_.error(operation, k);
    throw Error{Code{'T', 3},
                written({"sequence ", k, " of ", operation,
                         " is waited for before all of its ranks have started it, by the thread that runs them. Fix: ask passable() first."})};
  }
  [[nodiscard]] HEDDLE_COLD static std::string described(int rank, int peer, bool sends) {
    return written({"rank ", rank, sends ? " sends to rank " : " receives from rank ", peer});
  }

  GroupsOfRanks groups_;
  Mover mover_;
  PendingLimits limits_;
  LostRanks lost_;
  std::vector<Endpoint> endpoints_;
  std::vector<SentCounters> traffic_;  // by rank
  std::vector<Channel> channels_;      // (from, to)
  std::vector<Meeting> meetings_;      // by group
  std::vector<const float*> parts_;    // of the reduce-scatter that is moved
  std::vector<float*> into_;
};

}  // namespace heddle::transport_room
