// SPDX-License-Identifier: MIT
// Room: tests. A transport that hides nothing: ranks take turns in one thread, and what is in flight can be neither read nor written.
// Sees: seams, transport/groups.  Does not see: programs, kernels, the checks.
// In: ranks, groups, the memory of each rank.  Out: World and its endpoints; what went wrong, in one word.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "heddle/transport/groups.hpp"
#include "mutants/unwritten.hpp"

namespace heddle::tests {

/// How a run ended.
enum class Ending : std::uint8_t {
  fine,
  deadlock,  ///< no rank can go on
  misuse,    ///< a wait without a start, a start without a wait, or two sides that start different things
  address    ///< bytes that nobody wrote are read, bytes in flight are read or written, or bytes outside the arena
};

/// Thrown in a rank: the run has ended.
struct Ended {
  Ending how;
};

/// The starts of all ranks. A transfer completes when both of its starts are the oldest of their ranks: one lane a device, the strictest model.
class World {
 public:
  World(int ranks, const std::vector<std::vector<int>>& groups)
      : groups_(ranks, groups), collectives_(static_cast<std::size_t>(ranks * groups_.count())),
        channels_(static_cast<std::size_t>(2 * ranks * ranks)), lanes_(static_cast<std::size_t>(ranks)), memory_(static_cast<std::size_t>(ranks)) {}

  struct Memory {
    float* begin = nullptr;
    float* end = nullptr;
  };
  void set_memory(int rank, Memory memory) { memory_[static_cast<std::size_t>(rank)] = memory; }
  /// Every start was waited for.
  [[nodiscard]] bool at_rest() const {
    const auto waited = [](const auto& starts) { return std::all_of(starts.begin(), starts.end(), [](const auto& s) { return s.waited; }); };
    return std::all_of(channels_.begin(), channels_.end(), waited) && std::all_of(collectives_.begin(), collectives_.end(), waited);
  }

  enum class Kind : std::uint8_t {  // as those of a Ticket
    send,
    receive,
    all_reduce,
    reduce_scatter,
    all_gather
  };

  struct Start {
    Kind kind = Kind::send;
    const float* source = nullptr;
    float* target = nullptr;
    std::int64_t source_elements = 0;
    std::int64_t target_elements = 0;
    std::int64_t elements = 0;
    std::vector<float> taken{};  // the source as it was at the start
    bool complete = false;
    bool waited = false;
  };

  std::int64_t start_transfer(Kind kind, int rank, int peer, const float* source, float* target, std::int64_t elements) {
    if (peer < 0 || peer >= groups_.ranks() || peer == rank) throw Ended{Ending::misuse};
    auto& starts = channel(kind, rank, peer);
    const bool sends = kind == Kind::send;
    starts.push_back(begin(rank, {kind, source, target, sends ? elements : 0, sends ? 0 : elements, elements}));
    lanes_[static_cast<std::size_t>(rank)].push_back({kind, peer, static_cast<std::int64_t>(starts.size()) - 1});
    advance_lanes();
    return static_cast<std::int64_t>(starts.size()) - 1;
  }
  void wait_for_transfer(Kind kind, int rank, int peer, std::int64_t k) {
    if (peer < 0 || peer >= groups_.ranks() || peer == rank) throw Ended{Ending::misuse};
    await(channel(kind, rank, peer), k);
    Start& own = channel(kind, rank, peer)[static_cast<std::size_t>(k)];
    end(own);
    if (kind == Kind::receive) std::copy(of_sender(rank, peer, k).begin(), of_sender(rank, peer, k).end(), own.target);
  }
  std::int64_t start_collective(Kind kind, int rank, int group, const float* source, float* target, std::int64_t elements) {
    if (group < 0 || group >= groups_.count() || groups_.position(group, rank) < 0) throw Ended{Ending::misuse};
    const int members = groups_.members(group);
    if (kind != Kind::all_reduce && elements % members != 0) throw Ended{Ending::misuse};
    const std::int64_t slice = elements / members;
    auto& starts = collectives(rank, group);
    starts.push_back(
        begin(rank, {kind, source, target, kind == Kind::all_gather ? slice : elements, kind == Kind::reduce_scatter ? slice : elements, elements}));
    return static_cast<std::int64_t>(starts.size()) - 1;
  }
  void wait_for_collective(Kind kind, int rank, int group, std::int64_t k) {
    if (group < 0 || group >= groups_.count() || groups_.position(group, rank) < 0) throw Ended{Ending::misuse};
    if (k < 0 || k >= std::ssize(collectives(rank, group))) throw Ended{Ending::misuse};
    if (collectives(rank, group)[static_cast<std::size_t>(k)].kind != kind) throw Ended{Ending::misuse};
    if (!all_started(group, k)) throw Ended{Ending::deadlock};
    collectives(rank, group)[static_cast<std::size_t>(k)].complete = true;
    await(collectives(rank, group), k);
    Start& own = collectives(rank, group)[static_cast<std::size_t>(k)];
    end(own);
    finish(own, rank, group, k);
  }
  /// Also where the wait has something to say of it.
  [[nodiscard]] bool passable(int rank, const Ticket& ticket) {
    if (ticket.collective()) {
      if (ticket.with < 0 || ticket.with >= groups_.count() || groups_.position(ticket.with, rank) < 0) return true;
      const std::vector<Start>& own = collectives(rank, ticket.with);
      if (ticket.k < 0 || ticket.k >= std::ssize(own) || own[static_cast<std::size_t>(ticket.k)].kind != kind_of(ticket)) return true;
      return all_started(ticket.with, ticket.k);
    }
    if (ticket.with < 0 || ticket.with >= groups_.ranks() || ticket.with == rank) return true;
    const std::vector<Start>& own = channel(kind_of(ticket), rank, ticket.with);
    return ticket.k < 0 || ticket.k >= std::ssize(own) || own[static_cast<std::size_t>(ticket.k)].waited ||
           own[static_cast<std::size_t>(ticket.k)].complete;
  }

 private:
  [[nodiscard]] static Kind kind_of(const Ticket& ticket) { return static_cast<Kind>(ticket.kind); }
  struct InLane {
    Kind kind;
    int peer;
    std::int64_t k;
  };

  [[nodiscard]] std::vector<Start>& channel(Kind kind, int rank, int peer) {
    const int at = kind == Kind::send ? rank * groups_.ranks() + peer : peer * groups_.ranks() + rank;
    return channels_[static_cast<std::size_t>(2 * at + (kind == Kind::send ? 0 : 1))];
  }
  [[nodiscard]] std::vector<Start>& collectives(int rank, int group) {
    return collectives_[static_cast<std::size_t>(rank * groups_.count() + group)];
  }
  [[nodiscard]] const std::vector<float>& of_sender(int rank, int peer, std::int64_t k) {
    return channel(Kind::send, peer, rank)[static_cast<std::size_t>(k)].taken;
  }

  void check_inside(int rank, const float* data, std::int64_t elements) const {
    const Memory& memory = memory_[static_cast<std::size_t>(rank)];
    if (elements < 0) throw Ended{Ending::misuse};
    if (data < memory.begin || data + elements > memory.end) throw Ended{Ending::address};
  }
  /// Takes the source as it is and leaves nothing to read where the result will be.
  Start begin(int rank, Start start) const {
    check_inside(rank, start.source != nullptr ? start.source : start.target, start.source != nullptr ? start.source_elements : 0);
    check_inside(rank, start.target != nullptr ? start.target : start.source, start.target != nullptr ? start.target_elements : 0);
    if (start.source != nullptr) start.taken.assign(start.source, start.source + start.source_elements);
    if (start.target != nullptr && !in_place(start)) std::fill_n(start.target, start.target_elements, unwritten());
    return start;
  }
  /// A slice at its own place inside the whole: the whole is not taken away.
  [[nodiscard]] static bool in_place(const Start& s) {
    if (s.kind == Kind::all_gather) return s.source >= s.target && s.source < s.target + s.target_elements;
    return s.kind == Kind::reduce_scatter && s.target >= s.source && s.target < s.source + s.source_elements;
  }
  /// What was in flight has stayed as it was.
  static void end(const Start& s) {
    const auto same = [](float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); };
    const bool in_its_place = s.kind == Kind::all_reduce;
    if (s.source != nullptr && !in_its_place && !std::equal(s.taken.begin(), s.taken.end(), s.source, same)) throw Ended{Ending::address};
    if (s.target != nullptr && !in_place(s))
      for (std::int64_t i = 0; i < s.target_elements; ++i)
        if (!same(s.target[i], unwritten())) throw Ended{Ending::address};
  }

  void await(const std::vector<Start>& starts, std::int64_t k) {
    const auto at = static_cast<std::size_t>(k);
    if (k < 0 || k >= std::ssize(starts) || starts[at].waited) throw Ended{Ending::misuse};
    if (!starts[at].complete) throw Ended{Ending::deadlock};
    const_cast<Start&>(starts[at]).waited = true;
  }
  /// Completes transfers whose two starts are the oldest of their ranks.
  void advance_lanes() {
    for (bool any = true; any;) {
      any = false;
      for (int rank = 0; rank < groups_.ranks(); ++rank) {
        auto& lane = lanes_[static_cast<std::size_t>(rank)];
        if (lane.empty()) continue;
        const InLane here = lane.front();
        auto& other = lanes_[static_cast<std::size_t>(here.peer)];
        if (other.empty() || other.front().peer != rank || other.front().k != here.k || other.front().kind == here.kind) continue;
        Start& a = channel(here.kind, rank, here.peer)[static_cast<std::size_t>(here.k)];
        Start& b = channel(other.front().kind, here.peer, rank)[static_cast<std::size_t>(here.k)];
        if (a.elements != b.elements) throw Ended{Ending::misuse};
        a.complete = b.complete = any = true;
        lane.erase(lane.begin());
        other.erase(other.begin());
      }
    }
  }
  [[nodiscard]] bool all_started(int group, std::int64_t k) {
    const Start* first = nullptr;
    for (int m = 0; m < groups_.members(group); ++m) {
      const auto& starts = collectives(groups_.rank_at(group, m), group);
      if (k >= std::ssize(starts)) return false;
      const Start& start = starts[static_cast<std::size_t>(k)];
      if (first == nullptr) first = &start;
      if (start.kind != first->kind || start.elements != first->elements) throw Ended{Ending::misuse};
    }
    return true;
  }
  void finish(const Start& own, int rank, int group, std::int64_t k) {
    const int members = groups_.members(group);
    const std::int64_t slice = own.elements / members;
    const auto taken = [&](int m) -> const std::vector<float>& {
      return collectives(groups_.rank_at(group, m), group)[static_cast<std::size_t>(k)].taken;
    };
    if (own.kind == Kind::all_gather) {
      for (int m = 0; m < members; ++m) std::copy(taken(m).begin(), taken(m).end(), own.target + m * slice);
      return;
    }
    const std::int64_t first = own.kind == Kind::reduce_scatter ? groups_.position(group, rank) * slice : 0;
    for (std::int64_t i = 0; i < own.target_elements; ++i) {
      float sum = 0;
      for (int m = 0; m < members; ++m) sum += taken(m)[static_cast<std::size_t>(first + i)];
      own.target[i] = is_unwritten(sum) ? unwritten() : sum;
    }
  }

  GroupsOfRanks groups_;
  std::vector<std::vector<Start>> collectives_;  // (ranks, groups)
  std::vector<std::vector<Start>> channels_;     // (ranks, ranks, sends and receives)
  std::vector<std::vector<InLane>> lanes_;       // (ranks)
  std::vector<Memory> memory_;                   // (ranks)
};

/// One rank's side of a World: a TransportEndpoint.
class WorldEndpoint {
 public:
  WorldEndpoint(World& world, int rank) : world_(&world), rank_(rank) {}
  using Kind = World::Kind;

  std::int64_t send_start(int peer, const float* data, std::int64_t n) { return world_->start_transfer(Kind::send, rank_, peer, data, nullptr, n); }
  void send_wait(int peer, std::int64_t k) { world_->wait_for_transfer(Kind::send, rank_, peer, k); }
  std::int64_t receive_start(int peer, float* data, std::int64_t n) { return world_->start_transfer(Kind::receive, rank_, peer, nullptr, data, n); }
  void receive_wait(int peer, std::int64_t k) { world_->wait_for_transfer(Kind::receive, rank_, peer, k); }
  std::int64_t all_reduce_start(int group, float* data, std::int64_t n, SumOrder = SumOrder::tree) {
    return world_->start_collective(Kind::all_reduce, rank_, group, data, data, n);
  }
  void all_reduce_wait(int group, std::int64_t k) { world_->wait_for_collective(Kind::all_reduce, rank_, group, k); }
  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t n, SumOrder = SumOrder::tree) {
    return world_->start_collective(Kind::reduce_scatter, rank_, group, whole, slice, n);
  }
  void reduce_scatter_wait(int group, std::int64_t k) { world_->wait_for_collective(Kind::reduce_scatter, rank_, group, k); }
  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t n) {
    return world_->start_collective(Kind::all_gather, rank_, group, slice, whole, n);
  }
  void all_gather_wait(int group, std::int64_t k) { world_->wait_for_collective(Kind::all_gather, rank_, group, k); }
  [[nodiscard]] bool passable(const Ticket& ticket) { return world_->passable(rank_, ticket); }

 private:
  World* world_;
  int rank_;
};

}  // namespace heddle::tests
