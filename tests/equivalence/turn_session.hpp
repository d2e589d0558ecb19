// SPDX-License-Identifier: MIT
// The ranks of a plan by turns in one thread, on the executor and the transport that threads have: where thousands of small plans run, threads
// that wait for each other would take more seconds than what they compute.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "heddle/run/transport_needs.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/threads.hpp"
#include "turns.hpp"

namespace equivalence {

using namespace heddle;

/// One rank's side: the endpoint of a thread, which is asked to wait only for what is there, or will never be.
class TurnEndpoint {
 public:
  /// What all ranks have started: transfers by sender, receiver and side, collectives by group and rank.
  struct Started {
    Started(int ranks, const std::vector<std::vector<int>>& of_groups)
        : groups(ranks, of_groups), sends(static_cast<std::size_t>(ranks * ranks)), receives(sends.size()),
          collectives(static_cast<std::size_t>(ranks * groups.count())) {}
    [[nodiscard]] std::size_t pair(int from, int to) const { return static_cast<std::size_t>(from * groups.ranks() + to); }
    [[nodiscard]] std::size_t member(int group, int rank) const { return static_cast<std::size_t>(group * groups.ranks() + rank); }
    [[nodiscard]] bool by_all(int group, std::int64_t k) const {
      for (int m = 0; m < groups.members(group); ++m)
        if (collectives[member(group, groups.rank_at(group, m))] <= k) return false;
      return true;
    }
    transport_room::Groups groups;
    std::vector<std::int64_t> sends, receives;  // (from, to)
    std::vector<std::int64_t> collectives;      // (group, rank)
    bool lost = false;                          // a rank was given up, or none can go on
    tests::Turns turns;
  };

  TurnEndpoint(Threads::Endpoint& own, Started& all) : own_(&own), all_(&all) {}

  std::int64_t send_start(int peer, const float* data, std::int64_t n) {
    const std::int64_t k = own_->send_start(peer, data, n);
    ++all_->sends[all_->pair(rank(), peer)];
    return k;
  }
  void send_wait(int peer, std::int64_t k) {
    wait([&] { return all_->receives[all_->pair(rank(), peer)] > k; });
    own_->send_wait(peer, k);
  }
  std::int64_t receive_start(int peer, float* data, std::int64_t n) {
    const std::int64_t k = own_->receive_start(peer, data, n);
    ++all_->receives[all_->pair(peer, rank())];
    return k;
  }
  void receive_wait(int peer, std::int64_t k) {
    wait([&] { return all_->sends[all_->pair(peer, rank())] > k; });
    own_->receive_wait(peer, k);
  }
  std::int64_t all_reduce_start(int group, float* data, std::int64_t n) { return counted(group, own_->all_reduce_start(group, data, n)); }
  void all_reduce_wait(int group, std::int64_t k) {
    wait([&] { return all_->by_all(group, k); });
    own_->all_reduce_wait(group, k);
  }
  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t n) {
    return counted(group, own_->reduce_scatter_start(group, whole, slice, n));
  }
  void reduce_scatter_wait(int group, std::int64_t k) {
    wait([&] { return all_->by_all(group, k); });
    own_->reduce_scatter_wait(group, k);
  }
  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t n) {
    return counted(group, own_->all_gather_start(group, slice, whole, n));
  }
  void all_gather_wait(int group, std::int64_t k) {
    wait([&] { return all_->by_all(group, k); });
    own_->all_gather_wait(group, k);
  }

 private:
  [[nodiscard]] int rank() const { return own_->rank().value; }
  template <class There> void wait(There there) {
    all_->turns.wait([&] { return all_->lost || there(); });
  }
  std::int64_t counted(int group, std::int64_t k) {
    ++all_->collectives[all_->member(group, rank())];
    return k;
  }

  Threads::Endpoint* own_;
  Started* all_;
};
static_assert(TransportEndpoint<TurnEndpoint>);

/// What ThreadSession is, without its threads: DataParallel<4> has four ranks that take turns.
class TurnSession {
 public:
  using Endpoint = TurnEndpoint;

  /// A rank that waits for what nobody will start waits for it a second.
  TurnSession(const TransportNeeds& needs, std::chrono::nanoseconds)
      : world_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, {}, needs.add}, std::chrono::seconds{1}),
        started_(needs.ranks, needs.groups), errors_(static_cast<std::size_t>(needs.ranks)) {
    for (int r = 0; r < needs.ranks; ++r) endpoints_.emplace_back(world_.endpoint(Rank{r}), started_);
  }
  TurnSession(const TurnSession&) = delete;
  TurnSession& operator=(const TurnSession&) = delete;

  template <class Job> void run(Job&& job) {
    errors_.assign(errors_.size(), nullptr);
    started_.lost = false;
    const auto caught = [&](int rank) {
      try {
        job(rank);
      } catch (...) {
        errors_[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    };
    if (started_.turns.run(static_cast<int>(errors_.size()), caught) == tests::Turns::End::all_done) return;
    started_.lost = true;
    started_.turns.go_on();
  }
  void rethrow_first() const {
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
  }
  [[nodiscard]] std::exception_ptr error(int rank) const { return errors_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool failed() const {
    for (const std::exception_ptr& error : errors_)
      if (error) return true;
    return false;
  }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return endpoints_[static_cast<std::size_t>(rank.value)]; }
  void give_up(Rank rank, const std::string& why) {
    started_.lost = true;
    world_.give_up(rank, why);
  }
  [[nodiscard]] static bool local(Rank) { return true; }
  [[nodiscard]] static bool first_process() { return true; }
  static void share(Rank, std::span<std::byte>) {}
  bool reset() {
    world_.reset();
    for (auto* counts : {&started_.sends, &started_.receives, &started_.collectives}) counts->assign(counts->size(), 0);
    return true;
  }

 private:
  Threads world_;
  TurnEndpoint::Started started_;
  std::vector<TurnEndpoint> endpoints_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace equivalence
