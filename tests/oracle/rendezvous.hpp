// SPDX-License-Identifier: MIT
// Room: tests. An oracle for the rendezvous check: the same lists run step by step, of everything that can happen one thing by chance.
// Sees: plan/check/lists and the check.  Does not see: how the check works.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "heddle/plan/check/deadlock.hpp"

namespace heddle::tests {

using RoleLists = std::vector<std::vector<Event>>;  // by role; a wait names its start's position in its own list
using Random = std::mt19937;

[[nodiscard]] inline std::size_t at(int i) { return static_cast<std::size_t>(i); }
[[nodiscard]] inline int below(Random& random, std::size_t end) { return static_cast<int>(random() % static_cast<unsigned>(end)); }
[[nodiscard]] inline bool is_start(const Event& e) { return e.kind == EventKind::send_start || e.kind == EventKind::receive_start; }
[[nodiscard]] inline bool is_wait(const Event& e) { return e.kind == EventKind::send_wait || e.kind == EventKind::receive_wait; }

/// What the check says: 0 for ok, else the number of the rule S03 or S04. Without one class of edges it must err.
template <Edge LeftOut = Edge::none> [[nodiscard]] int verdict(const RoleLists& lists, Lanes lanes) {
  std::array<Event, 512> events;
  std::array<int, 9> begins{};
  int count = 0;
  for (std::size_t r = 0; r < lists.size(); ++r) {
    const int first = count;
    for (Event e : lists[r]) {
      if (is_wait(e)) e.start += first;
      events.at(at(count++)) = e;
    }
    begins.at(r + 1) = count;
  }
  RendezvousBuffers<512, 8> buffers;
  return check_rendezvous<LeftOut>(EventLists{events.data(), begins.data(), static_cast<int>(lists.size())}, lanes, buffers.view()).code.number;
}

/// Starts, waits and completions as a machine has them. A transfer completes at one moment for both ends.
class Chance {
 public:
  Chance(const RoleLists& lists, Lanes lanes) : lists_(lists), lanes_(lanes) {
    for (std::size_t r = 0; r < lists.size(); ++r)
      for (std::size_t i = 0; i < lists[r].size(); ++i) add(static_cast<int>(r), static_cast<int>(i), lists[r][i]);
    pair_up();
  }

  /// 0 if everything ends, else the number of the rule that is broken. The verdict must not depend on `random`.
  [[nodiscard]] int run(Random& random) {
    if (mismatch_) return 4;
    at_.assign(lists_.size(), 0);
    done_.assign(transfers_.size(), false);
    reduced_.assign(lists_.size(), -1);
    for (;;) {
      possible_.clear();
      for (std::size_t r = 0; r < lists_.size(); ++r)
        if (may_pass(r)) possible_.push_back(static_cast<int>(r));
      for (std::size_t t = 0; t < transfers_.size(); ++t)
        if (may_complete(t)) possible_.push_back(static_cast<int>(lists_.size() + t));
      for (std::size_t r = 0; r + 1 < lists_.size(); r += 2)
        if (may_reduce(r)) possible_.push_back(static_cast<int>(lists_.size() + transfers_.size() + r));
      if (possible_.empty()) break;
      const auto next = at(possible_[at(below(random, possible_.size()))]);
      if (next < lists_.size())
        ++at_[next];
      else if (next >= lists_.size() + transfers_.size())
        reduced_[next - lists_.size() - transfers_.size()] = reduced_[next - lists_.size() - transfers_.size() + 1] =
            at_[next - lists_.size() - transfers_.size()];
      else
        done_[next - lists_.size()] = true;
    }
    for (std::size_t r = 0; r < lists_.size(); ++r)
      if (at_[r] < static_cast<int>(lists_[r].size())) return 3;
    return 0;
  }

 private:
  struct End {
    int role = -1;
    int position = -1;
    int peer = -1;
  };
  struct Transfer {
    End sender, receiver;
  };

  void add(int r, int i, const Event& e) {
    if (e.kind == EventKind::send_start) sends_[{r, e.peer}].push_back({r, i, e.peer});
    if (e.kind == EventKind::receive_start) receives_[{e.peer, r}].push_back({r, i, e.peer});
  }
  void pair_up() {
    number_.resize(lists_.size());
    for (std::size_t r = 0; r < lists_.size(); ++r) number_[r].assign(lists_[r].size(), -1);
    for (const auto& [channel, list] : receives_) sends_[channel];  // so that receives without a send are seen
    for (const auto& [channel, list] : sends_) {
      const auto& other = receives_[channel];
      mismatch_ = mismatch_ || list.size() != other.size();
      for (std::size_t k = 0; k < std::min(list.size(), other.size()); ++k) {
        mismatch_ = mismatch_ || event(list[k]).elements != event(other[k]).elements;
        for (const End& end : {list[k], other[k]}) number_[at(end.role)][at(end.position)] = static_cast<int>(transfers_.size());
        transfers_.push_back({list[k], other[k]});
      }
    }
  }
  [[nodiscard]] const Event& event(const End& end) const { return lists_[at(end.role)][at(end.position)]; }
  [[nodiscard]] bool may_pass(std::size_t r) const {
    if (at_[r] == static_cast<int>(lists_[r].size())) return false;
    const Event& e = lists_[r][at(at_[r])];
    if (e.kind == EventKind::reduce_wait) return reduced_[r] == at_[r];
    return !is_wait(e) || done_[at(number_[r][at(e.start)])];
  }
  /// Roles r and r + 1 run one list. Both have come to the same reduction, and nothing that they started earlier is in its way.
  [[nodiscard]] bool may_reduce(std::size_t r) const {
    const int i = at_[r];
    if (i == static_cast<int>(lists_[r].size()) || lists_[r][at(i)].kind != EventKind::reduce_wait) return false;
    if (i != at_[r + 1] || reduced_[r] == i) return false;
    return is_next({static_cast<int>(r), i, -1}) && is_next({static_cast<int>(r + 1), i, -1});
  }
  /// Nothing that the device started before, in the same lane, may still be under way.
  [[nodiscard]] bool is_next(const End& end) const {
    if (lanes_ == Lanes::free) return true;
    for (int i = 0; i < end.position; ++i) {
      const Event& earlier = lists_[at(end.role)][at(i)];
      if (!is_start(earlier) || (lanes_ == Lanes::per_communicator && earlier.peer != end.peer)) continue;
      if (!done_[at(number_[at(end.role)][at(i)])]) return false;
    }
    return true;
  }
  [[nodiscard]] bool may_complete(std::size_t t) const {
    const auto& [sender, receiver] = transfers_[t];
    return !done_[t] && sender.position < at_[at(sender.role)] && receiver.position < at_[at(receiver.role)] && is_next(sender) && is_next(receiver);
  }

  const RoleLists& lists_;
  Lanes lanes_;
  bool mismatch_ = false;
  std::map<std::pair<int, int>, std::vector<End>> sends_, receives_;  // by channel
  std::vector<Transfer> transfers_;
  std::vector<std::vector<int>> number_;  // (roles, positions): of the transfer
  std::vector<int> at_;
  std::vector<bool> done_;
  std::vector<int> reduced_;  // by role: position of the last reduction that is done
  std::vector<int> possible_;
};

/// Counts of a comparison, and which mistakes each mutant of the check would have made.
struct Agreement {
  int pairs = 0;
  int disagreements = 0;
  int ended = 0, stuck = 0, mismatched = 0;
  int wrong_without[7]{};  // by Edge

  void compare(const RoleLists& lists, Random& random) {
    for (const Lanes lanes : {Lanes::free, Lanes::per_communicator, Lanes::one_per_device}) {
      const int said = verdict(lists, lanes);
      Chance chance{lists, lanes};
      const int ran = chance.run(random);
      ++pairs;
      ++(ran == 0 ? ended : ran == 3 ? stuck : mismatched);
      if (said != ran || chance.run(random) != ran) ++disagreements;
      if (pairs % 8 == 0) mutate(lists, lanes, ran);
    }
  }

 private:
  void mutate(const RoleLists& lists, Lanes lanes, int ran) {
    wrong_without[1] += verdict<Edge::program_order>(lists, lanes) != ran;
    wrong_without[2] += verdict<Edge::start_of_send>(lists, lanes) != ran;
    wrong_without[3] += verdict<Edge::start_of_receive>(lists, lanes) != ran;
    wrong_without[4] += verdict<Edge::wait_of_send>(lists, lanes) != ran;
    wrong_without[5] += verdict<Edge::wait_of_receive>(lists, lanes) != ran;
    wrong_without[6] += verdict<Edge::lane_order>(lists, lanes) != ran;
  }
};

/// Lists under construction, by role.
struct Writing {
  RoleLists lists;

  explicit Writing(int roles) : lists(at(roles)) {}
  int start(int role, EventKind kind, int peer, std::int64_t elements = 1) {
    lists[at(role)].push_back(Event{kind, peer, -1, elements});
    return static_cast<int>(lists[at(role)].size()) - 1;
  }
  int send_start(int role, int to, std::int64_t elements = 1) { return start(role, EventKind::send_start, to, elements); }
  int receive_start(int role, int from, std::int64_t elements = 1) { return start(role, EventKind::receive_start, from, elements); }
  void wait(int role, int started) {
    const Event e = lists[at(role)][at(started)];
    lists[at(role)].push_back(Event{e.kind == EventKind::send_start ? EventKind::send_wait : EventKind::receive_wait, e.peer, started, e.elements});
  }
  void send(int role, int to) { wait(role, send_start(role, to)); }
  void receive(int role, int from) { wait(role, receive_start(role, from)); }
};

}  // namespace heddle::tests
