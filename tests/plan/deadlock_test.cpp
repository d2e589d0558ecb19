// SPDX-License-Identifier: MIT
#include "heddle/plan/deadlock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "heddle/plan/check.hpp"

using namespace heddle;

namespace {

/// Lists written in a constant expression: the events of role 0, then of role 1, ...
template <int Roles> struct Written {
  static constexpr int most = 64;
  Event events[most]{};
  int begins[Roles + 1]{};
  int count = 0;
  int role = 0;

  constexpr Written& next_role() {
    begins[++role] = count;
    return *this;
  }
  constexpr int start(EventKind kind, int peer, std::int64_t elements) {
    events[count] = Event{kind, peer, -1, elements};
    return count++;
  }
  constexpr Written& wait(int started) {
    const Event e = events[started];
    events[count++] = Event{e.kind == EventKind::send_start ? EventKind::send_wait : EventKind::receive_wait, e.peer, started, e.elements};
    return *this;
  }
  constexpr Written& send(int to, std::int64_t elements = 1) { return wait(start(EventKind::send_start, to, elements)); }
  constexpr Written& receive(int from, std::int64_t elements = 1) { return wait(start(EventKind::receive_start, from, elements)); }
  constexpr Written& exchange(int to, int from) {
    const int there = start(EventKind::send_start, to, 1);
    const int back = start(EventKind::receive_start, from, 1);
    return wait(there).wait(back);
  }
  [[nodiscard]] constexpr Diagnosis verdict(Lanes lanes) const {
    RendezvousBuffers<most, Roles> buffers;
    return check_rendezvous(EventLists{events, begins, Roles}, lanes, buffers.view());
  }
};

constexpr Written<2> both_send_first = [] {
  Written<2> w;
  w.send(1).receive(1).next_role();  // 0SEND_F1, 2RECV_F0
  w.send(0).receive(0).next_role();  // 1SEND_F0, 1RECV_F1
  return w;
}();
constexpr Written<2> one_receives_first = [] {
  Written<2> w;
  w.send(1).receive(1).next_role();
  w.receive(0).send(0).next_role();
  return w;
}();
constexpr Written<2> both_exchange = [] {
  Written<2> w;
  w.exchange(1, 1).next_role();
  w.exchange(0, 0).next_role();
  return w;
}();

/// 1F1B as it is written by hand: `grouped` posts a send and the receive that goes with it before it waits for either.
HandWrittenLists one_f_one_b(int p, int m, bool grouped) {
  HandWrittenLists lists{p};
  for (int r = 0; r < p; ++r) {
    const auto take = [&](int from) {
      if (from >= 0 && from < p) lists.receive(r, from, 1);
    };
    const auto give = [&](int to) {
      if (to >= 0 && to < p) lists.send(r, to, 1);
    };
    const auto give_and_take = [&](int peer) {
      if (peer < 0 || peer >= p) return;
      if (!grouped) return give(peer), take(peer);
      const int sent = lists.send_start(r, peer, 1);
      const int received = lists.receive_start(r, peer, 1);
      lists.wait(r, sent);
      lists.wait(r, received);
    };
    const int warm_up = std::min(m, p - 1 - r);
    for (int i = 0; i < warm_up; ++i) take(r - 1), give(r + 1);
    if (m > warm_up) take(r - 1);
    for (int i = warm_up; i < m; ++i) {
      give_and_take(r + 1);  // a forward's output, a gradient back
      if (i + 1 < m)
        give_and_take(r - 1);
      else
        give(r - 1);
    }
    for (int i = 0; i < warm_up; ++i) take(r + 1), give(r - 1);
  }
  return lists;
}

bool says(const Diagnosis& found, std::string_view words) { return found.text.view().find(words) != std::string_view::npos; }

}  // namespace

TEST_CASE("two ranks that both send first deadlock under rendezvous, with the ranks and instructions as a witness") {
  constexpr Diagnosis found = both_send_first.verdict(Lanes::free);
  static_assert(found.code == Code{'S', 3});
  CHECK(says(found, "rank 0 at instruction 1 waits to send to rank 1, rank 1 at instruction 1 waits to send to rank 0"));
  static_assert(one_receives_first.verdict(Lanes::free).ok());
  static_assert(one_receives_first.verdict(Lanes::one_per_device).ok());
  static_assert(both_exchange.verdict(Lanes::free).ok());
}

TEST_CASE("an exchange whose starts cross passes where each transfer is free and is refused on one lane") {
  static_assert(both_exchange.verdict(Lanes::free).ok());
  constexpr Diagnosis crossed = both_exchange.verdict(Lanes::one_per_device);
  static_assert(crossed.code == Code{'S', 3});
  constexpr Written<2> in_one_order = [] {
    Written<2> w;
    const int sent = w.start(EventKind::send_start, 1, 1);
    w.wait(w.start(EventKind::receive_start, 1, 1)).wait(sent).next_role();
    const int received = w.start(EventKind::receive_start, 0, 1);
    w.wait(w.start(EventKind::send_start, 0, 1)).wait(received).next_role();
    return w;
  }();
  static_assert(in_one_order.verdict(Lanes::one_per_device).ok());
  CHECK(says(crossed, "deadlocks under rendezvous"));
}

TEST_CASE("a ring in which everyone sends first deadlocks, and one rank that receives first frees it") {
  for (const bool one_differs : {false, true}) {
    HandWrittenLists ring{4};
    for (int r = 0; r < 4; ++r) {
      const int to = (r + 1) % 4;
      const int from = (r + 3) % 4;
      if (one_differs && r == 2)
        ring.receive(r, from, 1), ring.send(r, to, 1);
      else
        ring.send(r, to, 1), ring.receive(r, from, 1);
    }
    CHECK(check(ring).ok() == one_differs);
  }
}

TEST_CASE("1F1B with sends and receives one after another deadlocks, grouped it passes") {
  for (int p = 2; p <= 4; ++p)
    for (int m = p; m <= 8; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      const Diagnosis ungrouped = check(one_f_one_b(p, m, false));
      CHECK(ungrouped.code == Code{'S', 3});
      CHECK(says(ungrouped, "waits to send to rank"));
      CHECK(check(one_f_one_b(p, m, true)).ok());
    }
}

TEST_CASE("a transfer without its other end is refused, and so are two sizes") {
  constexpr Diagnosis alone = [] {
    Written<2> w;
    w.send(1, 8).next_role();
    w.next_role();
    return w.verdict(Lanes::free);
  }();
  static_assert(alone.code == Code{'S', 4});
  static_assert(alone.numbers[0] == 0 && alone.numbers[1] == 0 && alone.numbers[2] == 1);
  constexpr Diagnosis second = [] {
    Written<2> w;
    w.send(1).next_role();
    w.receive(0).receive(0).next_role();
    return w.verdict(Lanes::free);
  }();
  static_assert(second.code == Code{'S', 4} && second.numbers[0] == 1 && second.numbers[1] == 2);
  constexpr Diagnosis sizes = [] {
    Written<2> w;
    w.send(1, 8).next_role();
    w.receive(0, 9).next_role();
    return w.verdict(Lanes::free);
  }();
  static_assert(sizes.code == Code{'S', 4});
  CHECK(says(sizes, "exchange 8 and 9 elements in one transfer"));
}

TEST_CASE("the k-th send of a channel meets the k-th receive: two sizes in another order are a fault") {
  constexpr Written<2> swapped = [] {
    Written<2> w;
    w.send(1, 8).send(1, 9).next_role();
    w.receive(0, 9).receive(0, 8).next_role();
    return w;
  }();
  static_assert(swapped.verdict(Lanes::free).code == Code{'S', 4});
  CHECK(swapped.verdict(Lanes::one_per_device).code == Code{'S', 4});
}

namespace {

/// The same lists run step by step: of everything that can happen, one thing chosen by chance happens next.
class Chance {
 public:
  Chance(const HandWrittenLists& written, Lanes lanes) : lists_(written.lists()), lanes_(lanes) { pair_up(); }

  /// "" if everything ends, else the code that a check must give.
  std::string run(std::mt19937& random) {
    if (!fault_.empty()) return fault_;
    at_.assign(lists_.size(), 0);
    done_.clear();
    for (;;) {
      std::vector<std::pair<int, int>> possible;  // {role, -1}: its next event; {role, start}: completion
      for (int r = 0; r < roles(); ++r) {
        if (at_[index(r)] < size(r) && may_pass(r)) possible.emplace_back(r, -1);
        for (int s = 0; s < at_[index(r)]; ++s)
          if (event(r, s).kind == EventKind::send_start && may_complete(r, s)) possible.emplace_back(r, s);
      }
      if (possible.empty()) break;
      const auto [role, start] = possible[random() % possible.size()];
      if (start < 0) {
        ++at_[index(role)];
      } else {
        const auto [other, there] = partner_.at({role, start});
        done_[{role, start}] = done_[{other, there}] = true;
      }
    }
    for (int r = 0; r < roles(); ++r)
      if (at_[index(r)] < size(r)) return "S03";
    return "";
  }

 private:
  using At = std::pair<int, int>;  // role, position
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }
  [[nodiscard]] int roles() const { return static_cast<int>(lists_.size()); }
  [[nodiscard]] int size(int r) const { return static_cast<int>(lists_[index(r)].size()); }
  [[nodiscard]] const Event& event(int r, int i) const { return lists_[index(r)][index(i)]; }
  [[nodiscard]] bool complete(int r, int i) const { return done_.count({r, i}) > 0; }
  [[nodiscard]] bool is_start(int r, int i) const {
    return event(r, i).kind == EventKind::send_start || event(r, i).kind == EventKind::receive_start;
  }

  void pair_up() {
    std::map<At, std::vector<At>> sends, receives;  // by channel
    for (int r = 0; r < roles(); ++r)
      for (int i = 0; i < size(r); ++i) {
        if (event(r, i).kind == EventKind::send_start) sends[{r, event(r, i).peer}].push_back({r, i});
        if (event(r, i).kind == EventKind::receive_start) receives[{event(r, i).peer, r}].push_back({r, i});
      }
    for (int a = 0; a < roles(); ++a)
      for (int b = 0; b < roles(); ++b) {
        const auto& s = sends[{a, b}];
        const auto& t = receives[{a, b}];
        if (s.size() != t.size()) fault_ = "S04";
        for (std::size_t k = 0; k < s.size() && k < t.size(); ++k) {
          if (event(s[k].first, s[k].second).elements != event(t[k].first, t[k].second).elements) fault_ = "S04";
          partner_[s[k]] = t[k];
          partner_[t[k]] = s[k];
        }
      }
  }
  [[nodiscard]] bool may_pass(int r) const {
    const Event& e = event(r, at_[index(r)]);
    return e.start < 0 || complete(r, e.start);
  }
  /// On one lane nothing that the device started earlier may still be under way.
  [[nodiscard]] bool is_next(int r, int s) const {
    for (int i = 0; i < s && lanes_ == Lanes::one_per_device; ++i)
      if (is_start(r, i) && !complete(r, i)) return false;
    return true;
  }
  [[nodiscard]] bool may_complete(int r, int s) const {
    const auto [other, there] = partner_.at({r, s});
    return !complete(r, s) && there < at_[index(other)] && is_next(r, s) && is_next(other, there);
  }

  const std::vector<std::vector<Event>>& lists_;
  Lanes lanes_;
  std::string fault_;
  std::map<At, At> partner_;
  std::vector<int> at_;
  std::map<At, bool> done_;
};

/// Sound lists in one global order, then disturbed: starts and waits drift, now and then one side is lost or has another size.
HandWrittenLists random_lists(std::mt19937& random) {
  struct Post {
    bool send;
    int peer;
    std::int64_t elements;
    int wait_after;  // posts of this role between its start and its wait
  };
  const int roles = 2 + static_cast<int>(random() % 3);
  const int transfers = 1 + static_cast<int>(random() % 7);
  const unsigned kind = random() % 16;
  const bool blocking = kind > 10;
  std::vector<std::vector<Post>> posts(static_cast<std::size_t>(roles));
  for (int t = 0; t < transfers; ++t) {
    const int a = static_cast<int>(random() % static_cast<unsigned>(roles));
    const int b = (a + 1 + static_cast<int>(random() % static_cast<unsigned>(roles - 1))) % roles;
    const bool lost = kind == 0 && t == 0;
    const std::int64_t odd = kind == 1 && t == 0 ? 9 : 8;
    posts[static_cast<std::size_t>(a)].push_back({true, b, 8, blocking ? 0 : static_cast<int>(random() % 3)});
    if (!lost) posts[static_cast<std::size_t>(b)].push_back({false, a, odd, blocking ? 0 : static_cast<int>(random() % 3)});
  }
  HandWrittenLists lists{roles};
  for (int r = 0; r < roles; ++r) {
    auto& mine = posts[static_cast<std::size_t>(r)];
    if (kind > 6 && mine.size() > 1) std::swap(mine[random() % mine.size()], mine[random() % mine.size()]);
    std::vector<std::pair<int, int>> waits;  // due after that many posts, start
    for (int i = 0; i <= static_cast<int>(mine.size()); ++i) {
      for (auto& [due, start] : waits)
        if (start >= 0 && (due <= i || i == static_cast<int>(mine.size()))) {
          lists.wait(r, start);
          start = -1;
        }
      if (i == static_cast<int>(mine.size())) break;
      const Post& post = mine[static_cast<std::size_t>(i)];
      waits.emplace_back(i + 1 + post.wait_after,
                         post.send ? lists.send_start(r, post.peer, post.elements) : lists.receive_start(r, post.peer, post.elements));
    }
  }
  return lists;
}

std::string code_of(const Diagnosis& found) { return found.ok() ? "" : std::string{found.code.letter} + "0" + std::to_string(found.code.number); }

}  // namespace

TEST_CASE("random lists get the verdict that they have under every timing, on free lanes and on one") {
  std::mt19937 random{172668};
  for (const Lanes lanes : {Lanes::free, Lanes::one_per_device}) {
    std::map<std::string, int> verdicts;
    int disagreements = 0;
    for (int n = 0; n < 600; ++n) {
      const HandWrittenLists lists = random_lists(random);
      const std::string said = code_of(check(lists, lanes));
      ++verdicts[said];
      Chance chance{lists, lanes};
      for (int timing = 0; timing < 3; ++timing) disagreements += chance.run(random) == said ? 0 : 1;
    }
    MESSAGE("600 programs: " << verdicts[""] << " run to their end, " << verdicts["S03"] << " deadlock, " << verdicts["S04"] << " do not match");
    CHECK(disagreements == 0);
    CHECK(verdicts[""] > 50);  // each kind of verdict is among them
    CHECK(verdicts["S03"] > 50);
    CHECK(verdicts["S04"] > 20);
  }
}

TEST_CASE("what passes on one lane passes on free lanes") {
  std::mt19937 random{11};
  int strict = 0;
  for (int n = 0; n < 300; ++n) {
    const HandWrittenLists lists = random_lists(random);
    const bool one = check(lists, Lanes::one_per_device).ok();
    if (one) CHECK(check(lists, Lanes::free).ok());
    strict += one ? 1 : 0;
  }
  CHECK(strict > 30);
}
