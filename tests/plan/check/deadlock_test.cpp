// SPDX-License-Identifier: MIT
#include "heddle/plan/check/deadlock.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>

#include "heddle/plan/check/check.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::says;

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

}  // namespace

TEST_CASE("two ranks that both send first deadlock under rendezvous, with the ranks and instructions as a witness") {
  constexpr Diagnosis found = both_send_first.verdict(Lanes::free);
  static_assert(found.code == Code{'S', 3});
  CHECK(says(found, "each rank waits for the next: rank 0 [line 1 send to 1] -> rank 1 [line 1 send to 0] -> rank 0. Fix"));
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
  CHECK(says(crossed, ": rank 0 [line 0 send to 1, first in its lane] -> rank 1 [line 0 send to 0, first in its lane] -> rank 0. Fix"));
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

TEST_CASE("of a long circle the first and the last ranks are drawn, and a rank that waits outside of it is counted") {
  HandWrittenLists ring{40};
  for (int r = 0; r < 40; ++r) ring.send(r, (r + 1) % 40, 1), ring.receive(r, (r + 39) % 40, 1);
  const Diagnosis long_one = check(ring);
  CAPTURE(std::string{long_one.sentence().view()});
  CHECK(says(long_one, "next: rank 0 [line 1 send to 1] -> rank 1 [line 1 send to 2] -> "));
  CHECK(says(long_one, " more) -> "));
  CHECK(says(long_one, "-> rank 39 [line 1 send to 0] -> rank 0. Fix: post each send and its receive in one order on both ranks, or start both"));
  CHECK_FALSE(long_one.words.cut);
  HandWrittenLists behind{4};  // ranks 1 and 2 wait for each other, 3 for 2; 0 has nothing to do
  behind.send(1, 2, 1), behind.receive(1, 2, 1);
  behind.send(2, 1, 1), behind.receive(2, 1, 1), behind.receive(2, 3, 1);
  behind.send(3, 2, 1);
  CHECK(says(check(behind), ": rank 1 [line 1 send to 2] -> rank 2 [line 1 send to 1] -> rank 1; 1 other rank waits for one of them. Fix"));
  HandWrittenLists led{3};  // rank 0 waits for 1, which is in the circle of 1 and 2
  led.send(0, 1, 1);
  led.send(1, 2, 1), led.receive(1, 2, 1), led.receive(1, 0, 1);
  led.receive(2, 1, 1), led.send(2, 1, 1);
  CHECK(check(led).ok());
}

TEST_CASE("however long the circle and however many wait behind it, the sentence ends with its remedy") {
  for (int around = 2; around <= 12; ++around)
    for (int lines = 1; lines <= 1000; lines *= 10)  // more digits
      for (int behind = 0; behind <= 11; behind += 11) {
        HandWrittenLists lists{around + behind};
        for (int i = 0; i < lines; ++i)
          for (int r = 0; r + 1 < around; r += 2) lists.send(r, r + 1, 1), lists.receive(r + 1, r, 1);
        for (int r = 0; r < around; ++r) lists.send(r, (r + 1) % around, 1), lists.receive(r, (r + around - 1) % around, 1);
        for (int r = around; r < around + behind; ++r) lists.receive(r, 0, 1), lists.send(0, r, 1);
        const Diagnosis found = check(lists);
        CAPTURE(std::string{found.sentence().view()});
        CHECK(found.code == Code{'S', 3});
        CHECK(says(found, " -> rank 0"));
        CHECK(found.words.view().ends_with(". Fix: post each send and its receive in one order on both ranks, or start both before waiting."));
        CHECK_FALSE(found.words.cut);
      }
}

TEST_CASE("a circle through two lanes tells the start that is first in each") {
  HandWrittenLists ring{3};  // each sends to the next and receives from the one before, with starts in that order: free transfers pass
  for (int r = 0; r < 3; ++r) {
    const int sent = ring.send_start(r, (r + 1) % 3, 1);
    const int received = ring.receive_start(r, (r + 2) % 3, 1);
    ring.wait(r, received), ring.wait(r, sent);
  }
  CHECK(check(ring).ok());
  CHECK(says(check(ring, Lanes::one_per_device),
             "rank 0 [line 0 send to 1, first in its lane] -> rank 1 [line 0 send to 2, first in its lane] -> rank 2 [line 0 send to 0, first in its "
             "lane] -> rank 0. Fix"));
}

TEST_CASE("1F1B with sends and receives one after another deadlocks, grouped it passes") {
  for (int p = 2; p <= 4; ++p)
    for (int m = p; m <= 8; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      const Diagnosis ungrouped = check(one_f_one_b(p, m, false));
      CHECK(ungrouped.code == Code{'S', 3});
      CHECK(says(ungrouped, " send to "));
      CHECK(says(ungrouped, p == 2 ? "] -> rank 0. Fix" : p == 3 ? "] -> rank 1; 1 other rank waits for" : "; 2 other ranks wait for"));
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

TEST_CASE("on one lane a pair two directions cross, and other pairs are other lanes") {
  static_assert(both_exchange.verdict(Lanes::per_communicator).code == Code{'S', 3});
  constexpr Written<3> ring = [] {
    Written<3> w;
    w.exchange(1, 2).next_role();
    w.exchange(2, 0).next_role();
    w.exchange(0, 1).next_role();
    return w;
  }();
  static_assert(ring.verdict(Lanes::free).ok());
  static_assert(ring.verdict(Lanes::per_communicator).ok());
  CHECK(ring.verdict(Lanes::one_per_device).code == Code{'S', 3});
}

TEST_CASE("a check without a class of edges is another check; tests/oracle shows that each is needed") {
  constexpr auto without = [](auto edge, const Written<2>& w) {
    RendezvousBuffers<Written<2>::most, 2> buffers;
    return check_rendezvous<decltype(edge)::value>(EventLists{w.events, w.begins, 2}, Lanes::free, buffers.view()).ok();
  };
  static_assert(without(std::integral_constant<Edge, Edge::program_order>{}, both_send_first));
  static_assert(without(std::integral_constant<Edge, Edge::start_of_receive>{}, both_send_first));  // as if sends were buffered
  static_assert(without(std::integral_constant<Edge, Edge::wait_of_send>{}, both_send_first));
  CHECK_FALSE(without(std::integral_constant<Edge, Edge::none>{}, both_send_first));
}
