// SPDX-License-Identifier: MIT
// Ranks of NCCL as threads, a card of the emulator each: what tests of the transport share.
#pragma once

#include <doctest/doctest.h>
#include <nccl.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_lanes.hpp"
#include "heddle/transport/nccl.hpp"
#include "heddle/transport/workers.hpp"

namespace nccl_ranks {

using heddle::SumOrder;
using heddle::Ticket;
using heddle::backend_room::Card;
using heddle::backend_room::CardLanes;
using heddle::backend_room::CurrentCard;
using heddle::compute_room::CardMemory;
using heddle::compute_room::check_cuda;
using heddle::transport_room::check_nccl;
using heddle::transport_room::NcclEndpoint;
using heddle::transport_room::NcclPeers;
using heddle::transport_room::PendingLimits;
using heddle::transport_room::Workers;

inline ncclUniqueId new_id() {
  ncclUniqueId id{};
  check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
  return id;
}

/// An endpoint of a rank as bodies of the host use it: what they give is copied to the card before a start, and back after its wait.
class OnHost {
 public:
  OnHost(Card& card, NcclPeers& peers, int rank, const ncclUniqueId& id)
      : card_(card), endpoint_(peers, rank, CardLanes{card, peers.room_for_parts(rank)}, id, heddle::transport_room::until_of_thread(peers, rank)) {}

  std::int64_t send_start(int peer, const float* source, std::int64_t n) {
    Piece piece = up(source, n);
    const float* const there = piece.at();
    return started({Ticket::send, peer, endpoint_.send_start(peer, there, n)}, std::move(piece), [] {});
  }
  void send_wait(int peer, std::int64_t k) {
    endpoint_.send_wait(peer, k);
    finish({Ticket::send, peer, k});
  }
  std::int64_t receive_start(int peer, float* target, std::int64_t n) {
    Piece piece = up(target, n);
    float* const there = piece.at();
    return started({Ticket::receive, peer, endpoint_.receive_start(peer, there, n)}, std::move(piece), [=, this] { down(target, there, n); });
  }
  void receive_wait(int peer, std::int64_t k) {
    endpoint_.receive_wait(peer, k);
    finish({Ticket::receive, peer, k});
  }
  std::int64_t all_reduce_start(int group, float* data, std::int64_t n, SumOrder order = SumOrder::tree) {
    Piece piece = up(data, n);
    float* const there = piece.at();
    return started({Ticket::all_reduce, group, endpoint_.all_reduce_start(group, there, n, order)}, std::move(piece),
                   [=, this] { down(data, there, n); });
  }
  void all_reduce_wait(int group, std::int64_t k) {
    endpoint_.all_reduce_wait(group, k);
    finish({Ticket::all_reduce, group, k});
  }
  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t n, SumOrder order = SumOrder::tree) {
    Divided at = both(group, whole, slice, n);
    float *const all = at.whole, *const part = at.slice;
    const std::int64_t own = at.part;
    auto* const back = const_cast<float*>(whole);
    return started({Ticket::all_reduce, group, endpoint_.reduce_scatter_start(group, all, part, n, order)}, std::move(at.memory), [=, this] {
      down(back, all, n);
      down(slice, part, own);
    });
  }
  void reduce_scatter_wait(int group, std::int64_t k) {
    all_reduce_wait_as(group, k, [&] { endpoint_.reduce_scatter_wait(group, k); });
  }
  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t n) {
    Divided at = both(group, whole, const_cast<float*>(slice), n);
    float *const all = at.whole, *const part = at.slice;
    return started({Ticket::all_reduce, group, endpoint_.all_gather_start(group, part, all, n)}, std::move(at.memory),
                   [=, this] { down(whole, all, n); });
  }
  void all_gather_wait(int group, std::int64_t k) {
    all_reduce_wait_as(group, k, [&] { endpoint_.all_gather_wait(group, k); });
  }
  [[nodiscard]] bool passable(const Ticket& ticket) const { return endpoint_.passable(ticket); }
  [[nodiscard]] auto& endpoint() { return endpoint_; }

 private:
  struct Piece {
    CardMemory<float> memory, other;
    [[nodiscard]] float* at() const { return memory.get(); }
  };
  struct Divided {
    Piece memory;
    float *whole, *slice;
    std::int64_t part;
  };
  struct Started {
    Piece memory;
    std::function<void()> after;
  };
  using Key = std::tuple<int, int, std::int64_t>;

  /// Bodies may name impossible numbers of elements, which the endpoint refuses.
  [[nodiscard]] CardMemory<float> copied(const float* here, std::int64_t n) {
    auto there = heddle::compute_room::card_memory<float>(static_cast<std::size_t>(n < 1 ? 1 : n), "a test");
    if (n > 0) card_.upload(there.get(), here, static_cast<std::size_t>(n) * sizeof(float));
    return there;
  }
  [[nodiscard]] Piece up(const float* here, std::int64_t n) { return {copied(here, n), {}}; }
  [[nodiscard]] Divided both(int group, const float* whole, float* slice, std::int64_t n) {
    const int members = group < 0 || group >= groups() ? 1 : endpoint_members(group);
    const std::int64_t part = n < 0 ? 0 : n / members;
    const bool within = slice >= whole && slice < whole + (n < 0 ? 0 : n);
    Divided at{{copied(whole, n), {}}, nullptr, nullptr, part};
    at.whole = at.memory.memory.get();
    if (!within) at.memory.other = copied(slice, part);
    at.slice = within ? at.whole + (slice - whole) : at.memory.other.get();
    return at;
  }
  void down(float* here, const float* there, std::int64_t n) {
    if (n > 0) card_.download(here, there, static_cast<std::size_t>(n) * sizeof(float));
  }
  std::int64_t started(const Ticket& ticket, Piece memory, std::function<void()> after) {
    started_[Key{ticket.kind, ticket.with, ticket.k}] = {std::move(memory), std::move(after)};
    return ticket.k;
  }
  void finish(const Ticket& ticket) {
    const auto found = started_.find(Key{ticket.kind, ticket.with, ticket.k});
    card_.wait();
    found->second.after();
    started_.erase(found);
  }
  /// All kinds of collectives of a group share their numbers.
  template <class Wait> void all_reduce_wait_as(int group, std::int64_t k, Wait wait) {
    wait();
    finish({Ticket::all_reduce, group, k});
  }
  [[nodiscard]] int groups() const { return groups_->count(); }
  [[nodiscard]] int endpoint_members(int group) const { return groups_->members(group); }

 public:
  const heddle::transport_room::GroupsOfRanks* groups_ = nullptr;

 private:
  Card& card_;
  NcclEndpoint<CardLanes> endpoint_;
  std::map<Key, Started> started_;
};

/// Ranks with a card each, and a thread each.
class World {
 public:
  static constexpr int most_ranks = 7;
  World(int ranks, std::vector<std::vector<int>> groups, std::chrono::nanoseconds deadline = std::chrono::minutes{2})
      : peers_(ranks, std::move(groups), PendingLimits{4, 4, {20001 * 7, 20001 * 7}, nullptr}, deadline), workers_(ranks),
        cards_(static_cast<std::size_t>(ranks)), ends_(static_cast<std::size_t>(ranks)) {
    cuda_emulator::reset({.seed = static_cast<std::uint64_t>(ranks), .devices = ranks});
    const ncclUniqueId id = new_id();
    workers_.run([&](int rank) {
      const CurrentCard here{rank};
      const auto r = static_cast<std::size_t>(rank);
      cards_[r] = std::make_unique<Card>(rank);
      ends_[r] = std::make_unique<OnHost>(*cards_[r], peers_, rank, id);
      ends_[r]->groups_ = &peers_.groups();
    });
    workers_.rethrow_first();
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (auto& end : ends_) end->endpoint().communicators().retire();
    ends_.clear();
    cards_.clear();
    CHECK(cuda_emulator::violations() == std::vector<std::string>{});
    CHECK(cuda_emulator::alive() == "");
  }
  template <class Body> std::string run(Body body) {
    std::vector<std::string> faults(cards_.size());
    workers_.run([&](int rank) {
      const CurrentCard here{rank};
      faults[static_cast<std::size_t>(rank)] = body(*ends_[static_cast<std::size_t>(rank)], rank);
    });
    workers_.rethrow_first();
    for (const std::string& fault : faults)
      if (!fault.empty()) return fault;
    return "";
  }
  [[nodiscard]] heddle::Sent sent(int rank, heddle::Movement kind) const { return peers_.traffic(rank).sent(kind); }
  [[nodiscard]] NcclPeers& peers() { return peers_; }

 private:
  NcclPeers peers_;
  Workers workers_;
  std::vector<std::unique_ptr<Card>> cards_;
  std::vector<std::unique_ptr<OnHost>> ends_;
};

}  // namespace nccl_ranks
