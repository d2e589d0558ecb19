// SPDX-License-Identifier: MIT
// Room: transport. How a process waits for others: it listens, it asks and tells who waits for whom, and it leaves when a rank is lost or late.
// Sees: transport/mpi_control, transport/lost_ranks.  Does not see: transfers, collectives, groups.
// In: a communicator, a deadline, an operation.  Out: the operation is complete, or the rank that was lost is known.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_control.hpp"

namespace heddle::transport_room {

/// What one process knows of the others. An operation has done(), needs(rank) and describe(), a Text; each_missing(visit) visits the ranks that it
/// still expects something from. One that has moves() says whether all others have come: bytes are on their way then, which MPI moves only while
/// somebody looks, so nobody sleeps between two looks before the first question.
///
/// Who is lost is found by asking. After half the deadline a rank that waits asks all others; a rank that waits as well answers at once whom it waits
/// for, a rank that is gone, stopped or busy does not. At the deadline the silent one among those that the rank waits for, also by way of others, is
/// the one that is lost. If none or several are silent, all are asked again, and the deadline is a quarter longer. One that is broken() asks at once,
/// as if half the deadline had passed; where all answer nobody is lost. Tested  transport/mpi_watch_test
class MpiWatch {
 public:
  MpiWatch(MPI_Comm world, std::chrono::nanoseconds deadline)
      : deadline_(std::min<std::chrono::nanoseconds>(positive_deadline(deadline), std::chrono::hours{24 * 365})), comm_(world, deadline_),
        control_(comm_), lost_(comm_.size()), told_(static_cast<std::size_t>(comm_.size())), answered_(told_.size()), owed_(told_.size()),
        reached_(told_.size()), silent_(told_.size()) {}

  [[nodiscard]] MpiCommunicator& comm() { return comm_; }
  [[nodiscard]] int rank() const { return comm_.rank(); }
  [[nodiscard]] int size() const { return comm_.size(); }
  [[nodiscard]] std::chrono::nanoseconds deadline() const { return deadline_; }
  [[nodiscard]] const LostRanks& lost() const { return lost_; }
  /// Whether this rank was lost, by its own word or by that of others.
  [[nodiscard]] bool out() const { return lost_.contains(rank()); }

  /// Until the operation is complete: true. False when it cannot be any more, and lost() says why, or has nobody where all answer and it is broken.
  template <class Operation, class Progress, class Missing> bool await(Operation& operation, Progress progress, Missing each_missing) {
    auto begin = std::chrono::steady_clock::now();
    auto lost_since = std::chrono::steady_clock::time_point::max();
    auto asked = begin;
    auto now = begin;
    for (int asks = 0;; pause_between_looks(moves(operation) ? of_bytes(asks) : now - begin)) {
      progress();
      if (operation.done()) return true;
      listen();
      if (owes_) tell(operation, each_missing);
      now = std::chrono::steady_clock::now();
      if (hopeless(operation)) {
        lost_since = std::min(lost_since, now);
        if (out() || now - lost_since > std::min(deadline_, last_messages)) return false;
      }
      if (asks == 0 && broken(operation)) asked = begin = std::min(begin, now - deadline_ / 2 - std::chrono::nanoseconds{1});
      const bool time_to_answer = now - asked > deadline_ / 4;  // also after a pause of the whole machine
      if (!time_to_answer || (asks < rounds - 1 && now - begin <= deadline_ / 4 * (asks + 2))) continue;
      if (asks > 0 && names_the_silent(operation, each_missing, asks)) return false;
      ask();
      asked = now;
      ++asks;
    }
  }

  /// Whether a wait for the operation ends soon: it needs a rank that is lost, whose last messages alone may still come.
  template <class Operation> [[nodiscard]] bool ends(const Operation& operation) {
    listen();
    return hopeless(operation);
  }

  /// Hears what has arrived.
  void listen() {
    control_.listen([&](int from, const ControlMessage& message) {
      if (message.kind != ControlMessage::lost) {
        told_[at(from)] = message;
        answered_[at(from)] = true;
        if (message.kind == ControlMessage::asks) owe(from, Owed::answer);
        return;
      }
      lost_.add(message.rank, message.why);
      lost_.add(from, "");
    });
  }
  /// Tells the others that this rank starts nothing more, for the first reason there was.
  void say_farewell(const std::string& why) {
    lost_.add_if_first(rank(), why);
    control_.tell_lost(lost_.cause(), lost_.why());
    lost_.add(rank(), "");
  }
  /// Listens until quiet() and the farewell has left, or every other rank has said its own, or `length` has passed.
  template <class Quiet> void linger(std::chrono::nanoseconds length, Quiet quiet) {
    const auto begin = std::chrono::steady_clock::now();
    for (auto waited = begin - begin; waited < std::min(deadline_, length) && !control_.all_gone(); pause_between_looks(waited)) {
      listen();
      const bool left = control_.farewell_has_left();
      if (quiet() && left) return;
      waited = std::chrono::steady_clock::now() - begin;
    }
  }
  [[nodiscard]] bool all_gone() const { return control_.all_gone(); }
  /// Whether the rank that was lost first has said its farewell itself: then its process lives.
  [[nodiscard]] bool heard_of_the_first() const { return lost_.cause() == rank() || control_.gone(lost_.cause()); }

 private:
  /// Messages of a rank that has stopped may still be on their way for so long.
  static constexpr std::chrono::nanoseconds last_messages = std::chrono::milliseconds{50};

  /// As long as that counts the wait for bytes on their way: who sends them may be gone all the same.
  [[nodiscard]] static std::chrono::nanoseconds of_bytes(int asks) { return std::chrono::milliseconds{asks > 0 ? 200 : 0}; }
  template <class Operation> [[nodiscard]] static bool moves(const Operation& operation) {
    if constexpr (requires { operation.moves(); }) return operation.moves();
    return false;
  }
  template <class Operation> [[nodiscard]] static bool broken(const Operation& operation) {
    if constexpr (requires { operation.broken(); }) return operation.broken();
    return false;
  }
  template <class Operation> [[nodiscard]] bool hopeless(const Operation& operation) const {
    if (!lost_.any()) return false;
    for (int other = 0; other < size(); ++other)
      if (lost_.contains(other) && (other == rank() || operation.needs(other))) return true;
    return false;
  }
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  /// What another rank is still to be told. A question says as much as an answer.
  enum class Owed : char { nothing, answer, question };
  void owe(int other, Owed what) {
    owed_[at(other)] = std::max(owed_[at(other)], what);
    owes_ = true;
  }
  /// Everybody is to be asked; an answer to an older question is none.
  void ask() {
    std::fill(answered_.begin(), answered_.end(), false);
    for (int other = 0; other < size(); ++other)
      if (other != rank()) owe(other, Owed::question);
  }
  /// Tells the others whom this rank waits for. Who is still being told something else is told at a later look.
  template <class Operation, class Missing> void tell(const Operation& operation, Missing& each_missing) {
    ControlMessage words;
    words.say(operation.describe().view());
    each_missing([&](int missing) { words.await(missing); });
    owes_ = false;
    for (int other = 0; other < size(); ++other) {
      Owed& owed = owed_[at(other)];
      if (owed == Owed::nothing) continue;
      words.kind = owed == Owed::question ? ControlMessage::asks : ControlMessage::answers;
      if (control_.tell_waiting(other, words))
        owed = Owed::nothing;
      else
        owes_ = true;
    }
  }

  /// Marks in reached_ whom this rank waits for, and whom those wait for who have answered.
  template <class Missing> void follow_the_waits(Missing& each_missing) {
    std::fill(reached_.begin(), reached_.end(), false);
    each_missing([&](int missing) { reached_[at(missing)] = true; });
    for (bool grown = true; grown;) {
      grown = false;
      for (int from = 0; from < size(); ++from)
        for (int to = 0; to < size() && reached_[at(from)] && answered_[at(from)]; ++to) {
          const bool added = !reached_[at(to)] && told_[at(from)].awaits(to);
          reached_[at(to)] = reached_[at(to)] || added;
          grown = grown || added;
        }
    }
  }
  /// Says who is lost if that is clear after so many rounds of asking, and after the last one in any case.
  template <class Operation, class Missing> bool names_the_silent(const Operation& operation, Missing& each_missing, int asks) {
    follow_the_waits(each_missing);
    int silent_twice = 0;
    int lost = -1;
    for (int other = size() - 1; other >= 0; --other) {
      const bool silent = other != rank() && reached_[at(other)] && !answered_[at(other)];
      const bool twice = silent && silent_[at(other)];
      if (twice || (silent && silent_twice == 0)) lost = other;
      silent_[at(other)] = silent;
      silent_twice += twice ? 1 : 0;
    }
    if (asks == 1 || (asks < rounds && silent_twice != 1)) return false;
    if (lost >= 0) {
      lost_.add_if_first(lost, silence(deadline_, broken(operation)));
      return true;
    }
    if (broken(operation)) return true;
    for (int other = size() - 1; other >= 0; --other)
      if (other != rank() && operation.needs(other)) lost = other;
    each_missing([&](int missing) { lost = missing; });
    lost_.add_if_first(lost, written({"it waits at ", told_[at(lost)].why, ", rank ", rank(), " at ", operation.describe().view(),
                                      ", and so does every rank that they wait for. Fix: make the same calls in the same order in every process."}));
    return true;
  }

  static constexpr int rounds = 3;
  std::chrono::nanoseconds deadline_;
  MpiCommunicator comm_;
  MpiControl control_;
  LostRanks lost_;
  std::vector<ControlMessage> told_;  // by rank: whom it waited for when it last said so
  std::vector<char> answered_;        // by rank: since it was last asked
  std::vector<Owed> owed_;            // by rank, by this one
  std::vector<char> reached_;         // by rank
  std::vector<char> silent_;          // by rank, in the round before
  bool owes_ = false;
};

}  // namespace heddle::transport_room
