// SPDX-License-Identifier: MIT
// The ranks of a plan by turns in one thread, on the executor and the transport that threads have: where thousands of small plans run, threads
// that wait for each other would take more seconds than what they compute.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/run/conductor.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/transport/threads.hpp"

namespace equivalence {

using namespace heddle;

/// What ThreadSession is, without its threads: DataParallel<4> has four ranks that take turns in the order of `Order`.
template <class Order> class ConductedSession {
 public:
  using Endpoint = Threads::Endpoint;

  ConductedSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline)
      : world_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, {}, needs.add}, deadline),
        errors_(static_cast<std::size_t>(needs.ranks)) {}

  /// What waits for no other rank.
  template <class Job> void run(Job&& job) {
    errors_.assign(errors_.size(), nullptr);
    for (std::size_t rank = 0; rank < errors_.size(); ++rank) {
      try {
        job(static_cast<int>(rank));
      } catch (...) {
        errors_[rank] = std::current_exception();
      }
    }
  }
  template <class Executors> void conduct(Executors& executors) {
    run_room::conduct(executors, order_, errors_, [&](int rank) { world_.give_up(Rank{rank}, words_of(error(rank))); });
  }
  void set_order(Order order) { order_ = std::move(order); }
  [[nodiscard]] const Order& order() const { return order_; }

  void rethrow_first() const {
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
  }
  [[nodiscard]] std::exception_ptr error(int rank) const { return errors_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool failed() const {
    return std::any_of(errors_.begin(), errors_.end(), [](const std::exception_ptr& error) { return error != nullptr; });
  }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return world_.endpoint(rank); }
  void give_up(Rank rank, const std::string& why) { world_.give_up(rank, why); }
  [[nodiscard]] static bool local(Rank) { return true; }
  [[nodiscard]] static bool first_process() { return true; }
  static void share(Rank, std::span<std::byte>) {}
  bool reset() {
    world_.reset();
    return true;
  }
  [[nodiscard]] Threads& transport() { return world_; }

 private:
  Threads world_;
  Order order_{};
  std::vector<std::exception_ptr> errors_;
};

}  // namespace equivalence
