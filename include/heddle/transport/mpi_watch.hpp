// SPDX-License-Identifier: MIT
// Room: transport. How a process waits for others: it listens, it tells whom it waits for, and it leaves when a rank is lost or late.
// Sees: transport/mpi_control, transport/lost_ranks.  Does not see: transfers, collectives, groups.
// In: a communicator, a deadline, an operation.  Out: the operation is complete, or the rank that was lost is known.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_control.hpp"

namespace heddle::inline transport_room {

/// What one process knows of the others. An operation has done(), needs(rank) and missing(), a rank that it still expects something from.
///
/// Tested  transport/mpi_watch_test
class MpiWatch {
 public:
  MpiWatch(MPI_Comm world, std::chrono::nanoseconds deadline)
      : deadline_(std::min<std::chrono::nanoseconds>(positive_deadline(deadline), std::chrono::hours{24 * 365})), comm_(world, deadline_),
        control_(comm_), lost_(comm_.size()), awaited_(static_cast<std::size_t>(comm_.size()), -1) {}

  [[nodiscard]] MpiCommunicator& comm() { return comm_; }
  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int size() const { return comm_.size(); }
  [[nodiscard]] const LostRanks& lost() const { return lost_; }
  /// Whether this rank was lost, by its own word or by that of others.
  [[nodiscard]] bool out() const { return lost_.contains(rank()); }

  /// Until the operation is complete: true. False when it cannot be any more, and lost() says why.
  template <class Operation, class Progress> bool await(Operation& operation, Progress progress) {
    const auto begin = std::chrono::steady_clock::now();
    auto lost_since = std::chrono::steady_clock::time_point::max();
    for (bool told = false;; std::this_thread::yield()) {
      progress();
      if (operation.done()) {
        if (told) control_.tell_waiting(-1);
        return true;
      }
      listen();
      const auto now = std::chrono::steady_clock::now();
      const auto waited = now - begin;
      if (hopeless(operation)) {
        lost_since = std::min(lost_since, now);
        if (out() || now - lost_since > std::min(deadline_, last_messages)) return false;
      }
      if (waited > deadline_) {
        lost_.add_if_first(culprit(operation.missing()), "it started nothing within the deadline of " + milliseconds());
        return false;
      }
      if (!told && waited > deadline_ / 2) {
        control_.tell_waiting(operation.missing());
        told = true;
      }
    }
  }

  /// Hears what has arrived.
  void listen() {
    control_.listen([&](int from, const ControlMessage& message) {
      if (message.kind == ControlMessage::waiting) {
        awaited_[static_cast<std::size_t>(from)] = message.rank;
        return;
      }
      lost_.add_if_first(message.rank, message.why);
      lost_.add(from, "");
    });
  }
  /// Tells the others that this rank starts nothing more, for the first reason there was.
  void say_farewell(const std::string& why) {
    lost_.add_if_first(rank(), why);
    control_.tell_lost(lost_.first(), lost_.why());
    lost_.add(rank(), "");
  }
  /// Listens until quiet() and the farewell has left, or every other rank has said its own, or `length` has passed.
  template <class Quiet> void linger(std::chrono::nanoseconds length, Quiet quiet) {
    const auto begin = std::chrono::steady_clock::now();
    for (; std::chrono::steady_clock::now() - begin < std::min(deadline_, length) && !control_.all_gone(); std::this_thread::yield()) {
      listen();
      const bool left = control_.farewell_has_left();
      if (quiet() && left) return;
    }
  }
  [[nodiscard]] bool all_gone() const { return control_.all_gone(); }
  /// Whether the rank that was lost first has said its farewell itself: then its process lives.
  [[nodiscard]] bool heard_of_the_first() const { return lost_.first() == rank() || control_.gone(lost_.first()); }

 private:
  /// Messages of a rank that has stopped may still be on their way for so long.
  static constexpr std::chrono::nanoseconds last_messages = std::chrono::milliseconds{50};

  [[nodiscard]] std::string milliseconds() const {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(deadline_).count()) + " ms";
  }
  template <class Operation> [[nodiscard]] bool hopeless(const Operation& operation) const {
    if (!lost_.any()) return false;
    for (int other = 0; other < size(); ++other)
      if (lost_.contains(other) && (other == rank() || operation.needs(other))) return true;
    return false;
  }
  /// The rank at the end of the chain of waits that others have told of; `awaited` itself if the chain is a circle.
  [[nodiscard]] int culprit(int awaited) const {
    int last = awaited;
    for (int hop = 0; hop < size(); ++hop) {
      const int next = awaited_[static_cast<std::size_t>(last)];
      if (next < 0) return last;
      last = next;
    }
    return awaited;
  }

  std::chrono::nanoseconds deadline_;
  MpiCommunicator comm_;
  MpiControl control_;
  LostRanks lost_;
  std::vector<int> awaited_;  // by rank: whom it waits for, -1: nobody
};

}  // namespace heddle::inline transport_room
