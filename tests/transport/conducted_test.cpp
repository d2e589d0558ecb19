// SPDX-License-Identifier: MIT
#include "heddle/transport/conducted.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "conformance/transport.hpp"
#include "heddle/core/ring_volume.hpp"
#include "heddle/transport/tree_sum.hpp"
#include "says.hpp"

using namespace heddle;
using conformance::equal_bits;
using conformance::everybody;
using conformance::sums_of;
using conformance::values_of;
using tests::sentence;
using Floats = conformance::Floats;

namespace {

/// Moves in memory of the host, at once.
struct HostMover {
  int copies = 0, sums = 0;
  void copy(float* to, const float* from, std::int64_t elements) {
    ++copies;
    std::copy_n(from, elements, to);
  }
  void sum(float* const* to, const float* const* from, int members, std::int64_t elements) {
    ++sums;
    std::vector<Floats> read;
    std::vector<float*> at;
    for (int m = 0; m < members; ++m) read.emplace_back(from[m], from[m] + elements);
    for (Floats& one : read) at.push_back(one.data());
    tree_sum_to_all(at.data(), members, 0, elements);
    for (int m = 0; m < members; ++m)
      if (to[m] != nullptr) std::copy_n(at[0], elements, to[m]);
  }
};
using World = Conducted<HostMover>;
static_assert(TransportEndpoint<World::Endpoint>);

World made(int ranks, std::vector<std::vector<int>> groups, int limit = 4) {
  return World{ranks, std::move(groups), {.transfers = limit, .reductions = limit}, HostMover{}};
}
std::int64_t length(const Floats& values) { return static_cast<std::int64_t>(values.size()); }
/// Values of each rank of a world.
std::vector<Floats> of_ranks(std::uint64_t key, int ranks, std::int64_t elements) {
  std::vector<Floats> all;
  for (int r = 0; r < ranks; ++r) all.push_back(values_of(key, r, elements));
  return all;
}

/// Starts a collective of one kind on each rank, in that order; `slices` have a length of their own.
void start(World& world, Ticket::Kind kind, int rank, std::vector<Floats>& wholes, std::vector<Floats>& slices) {
  World::Endpoint& endpoint = world.endpoint(Rank{rank});
  Floats& whole = wholes[static_cast<std::size_t>(rank)];
  Floats& slice = slices[static_cast<std::size_t>(rank)];
  switch (kind) {
    case Ticket::all_reduce: CHECK(endpoint.all_reduce_start(0, whole.data(), length(whole)) == 0); return;
    case Ticket::reduce_scatter: CHECK(endpoint.reduce_scatter_start(0, whole.data(), slice.data(), length(whole)) == 0); return;
    default: CHECK(endpoint.all_gather_start(0, slice.data(), whole.data(), length(whole)) == 0); return;
  }
}
void wait(World& world, const Ticket& ticket, int rank) {
  World::Endpoint& endpoint = world.endpoint(Rank{rank});
  switch (ticket.kind) {
    case Ticket::send: return endpoint.send_wait(ticket.with, ticket.k);
    case Ticket::receive: return endpoint.receive_wait(ticket.with, ticket.k);
    case Ticket::all_reduce: return endpoint.all_reduce_wait(ticket.with, ticket.k);
    case Ticket::reduce_scatter: return endpoint.reduce_scatter_wait(ticket.with, ticket.k);
    case Ticket::all_gather: return endpoint.all_gather_wait(ticket.with, ticket.k);
  }
}

}  // namespace

TEST_CASE("two ranks exchange: whoever starts second moves, in the order of the starts of each side") {
  World world = made(2, {});
  World::Endpoint& zero = world.endpoint(Rank{0});
  World::Endpoint& one = world.endpoint(Rank{1});
  CHECK((zero.rank() == Rank{0} && one.rank() == Rank{1} && world.ranks() == 2));
  const std::vector<Floats> out = of_ranks(1, 2, 5), more = of_ranks(2, 2, 3);
  Floats to_zero(5), to_one(5), second(3);
  CHECK(zero.send_start(1, out[0].data(), 5) == 0);
  CHECK(zero.send_start(1, more[0].data(), 3) == 1);
  CHECK(zero.receive_start(1, to_zero.data(), 5) == 0);
  CHECK(zero.mover().copies == 0);
  CHECK(one.receive_start(0, to_one.data(), 5) == 0);
  CHECK(equal_bits(to_one, out[0]));  // before anybody waits
  CHECK(one.send_start(0, out[1].data(), 5) == 0);
  CHECK(one.receive_start(0, second.data(), 3) == 1);
  CHECK(zero.mover().copies == 3);
  zero.send_wait(1, 1);  // waits may come in any order
  zero.send_wait(1, 0);
  zero.receive_wait(1, 0);
  one.receive_wait(0, 0);
  one.receive_wait(0, 1);
  one.send_wait(0, 0);
  CHECK((equal_bits(to_zero, out[1]) && equal_bits(second, more[0])));
}

TEST_CASE("a group of 3 has the bits of the tree in place, whoever starts last") {
  std::vector<int> order = everybody(3);
  do {
    World world = made(3, {{2, 0, 1}});
    std::vector<Floats> data = of_ranks(3, 3, 700), slices(3);
    std::vector<Floats> tree = {data[2], data[0], data[1]};
    float* const at[] = {tree[0].data(), tree[1].data(), tree[2].data()};
    tree_sum_to_all(at, 3, 0, 700);
    for (const int rank : order) start(world, Ticket::all_reduce, rank, data, slices);
    for (const int rank : order) wait(world, {Ticket::all_reduce, 0, 0}, rank);
    for (const Floats& one : data) CHECK((equal_bits(one, tree[0]) && equal_bits(one, sums_of(3, {2, 0, 1}, 700))));
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST_CASE("scattered sums that are gathered are those of an all-reduce; a slice lies in its place of the whole, or elsewhere") {
  const std::vector<int> group = {1, 3, 0, 2};
  for (const bool in_place : {false, true})
    for (const std::int64_t slice : {0, 1, 17, 300}) {
      CAPTURE(in_place);
      CAPTURE(slice);
      World world = made(4, {group});
      const Floats sums = sums_of(4, group, 4 * slice);
      std::vector<Floats> wholes = of_ranks(4, 4, 4 * slice), elsewhere(4, Floats(static_cast<std::size_t>(slice), -7.0F));
      const auto own = [&](int position) {
        const auto rank = static_cast<std::size_t>(group[static_cast<std::size_t>(position)]);
        return in_place ? wholes[rank].data() + position * slice : elsewhere[rank].data();
      };
      const auto endpoint = [&](int position) -> World::Endpoint& { return world.endpoint(Rank{group[static_cast<std::size_t>(position)]}); };
      const auto whole = [&](int position) -> Floats& { return wholes[static_cast<std::size_t>(group[static_cast<std::size_t>(position)])]; };
      for (int p = 0; p < 4; ++p) CHECK(endpoint(p).reduce_scatter_start(0, whole(p).data(), own(p), 4 * slice) == 0);
      for (int p = 0; p < 4; ++p) {
        endpoint(p).reduce_scatter_wait(0, 0);
        CHECK(std::equal(own(p), own(p) + slice, sums.begin() + p * slice));
        Floats rest = values_of(4, group[static_cast<std::size_t>(p)], 4 * slice);  // the rest of the whole stays
        if (in_place) std::copy_n(own(p), slice, rest.begin() + p * slice);
        CHECK(equal_bits(whole(p), rest));
      }
      for (int p = 3; p >= 0; --p) CHECK(endpoint(p).all_gather_start(0, own(p), whole(p).data(), 4 * slice) == 1);
      for (int p = 0; p < 4; ++p) {
        endpoint(p).all_gather_wait(0, 1);
        CHECK(equal_bits(whole(p), sums));
      }
      if (slice > 0) CHECK(endpoint(0).mover().copies == (in_place ? 12 : 16));  // nobody's slice is copied to its own place
    }
}

TEST_CASE("a rank alone sums and gathers what it has") {
  World world = made(1, {{0}});
  World::Endpoint& endpoint = world.endpoint(Rank{0});
  Floats whole = values_of(5, 0, 9), slice(9);
  const Floats before = whole;
  endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, whole.data(), 9));
  endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, whole.data(), slice.data(), 9));
  CHECK((equal_bits(whole, before) && equal_bits(slice, before)));
  whole.assign(9, 0.0F);
  endpoint.all_gather_wait(0, endpoint.all_gather_start(0, slice.data(), whole.data(), 9));
  CHECK(equal_bits(whole, before));
}

TEST_CASE("starts may be pending up to the limit; one more is T02, takes no number and overwrites nothing") {
  World world = made(2, {{0, 1}}, 3);
  World::Endpoint& zero = world.endpoint(Rank{0});
  World::Endpoint& one = world.endpoint(Rank{1});
  Floats out = {1, 2, 3, 4}, in(4), sums = {1, 2, 3, 4}, others = {10, 20, 30, 40};
  for (std::int64_t k = 0; k < 3; ++k) {
    CHECK(zero.send_start(1, &out[static_cast<std::size_t>(k)], 1) == k);
    CHECK(zero.all_reduce_start(0, &sums[static_cast<std::size_t>(k)], 1) == k);
  }
  CHECK(sentence([&] { zero.send_start(1, &out[3], 1); }).find("[heddle.T02] 3 starts are pending already at rank 0 sends to rank 1.") == 0);
  CHECK(sentence([&] { zero.all_reduce_start(0, &sums[3], 1); }).find("[heddle.T02] 3 starts are pending already at all-reduce of group 0.") == 0);
  for (std::int64_t k = 0; k < 3; ++k) {
    CHECK(one.receive_start(0, &in[static_cast<std::size_t>(k)], 1) == k);
    CHECK(one.all_reduce_start(0, &others[static_cast<std::size_t>(k)], 1) == k);
  }
  CHECK(in == Floats{1, 2, 3, 0});
  CHECK((sums == Floats{11, 22, 33, 4} && others == Floats{11, 22, 33, 40}));
  CHECK(sentence([&] { one.receive_start(0, &in[3], 1); }).find("[heddle.T02] 3 starts are pending already at rank 1 receives from rank 0.") == 0);
  // All have met, but the oldest is not waited for.
  CHECK_THROWS_AS(zero.send_start(1, &out[3], 1), Error);
  zero.send_wait(1, 0);
  zero.all_reduce_wait(0, 0);
  one.receive_wait(0, 0);
  one.all_reduce_wait(0, 0);
  CHECK((zero.send_start(1, &out[3], 1) == 3 && one.receive_start(0, &in[3], 1) == 3));
  CHECK((one.all_reduce_start(0, &others[3], 1) == 3 && zero.all_reduce_start(0, &sums[3], 1) == 3));
  CHECK((in[3] == 4 && sums[3] == 44 && others[3] == 44));
}

TEST_CASE("what was started is passable when the last member has started it, and no wait is until then") {
  for (const Ticket::Kind kind : {Ticket::all_reduce, Ticket::reduce_scatter, Ticket::all_gather}) {
    World world = made(3, {everybody(3)});
    std::vector<Floats> wholes = of_ranks(6, 3, 6), slices = of_ranks(7, 3, 2);
    const Ticket ticket{kind, 0, 0};
    for (int started = 0; started < 3; ++started) {
      start(world, kind, started, wholes, slices);
      for (int rank = 0; rank <= started; ++rank) CHECK(world.endpoint(Rank{rank}).passable(ticket) == (started == 2));
      if (started < 2) CHECK(sentence([&] { wait(world, ticket, started); }).find("[heddle.T03] sequence 0 of ") == 0);
    }
    for (int rank = 0; rank < 3; ++rank) wait(world, ticket, rank);
  }
  World world = made(2, {});
  World::Endpoint& zero = world.endpoint(Rank{0});
  World::Endpoint& one = world.endpoint(Rank{1});
  float x = 1, y = 2;
  const Ticket send{Ticket::send, 1, zero.send_start(1, &x, 1)}, receive{Ticket::receive, 0, 0};
  CHECK_FALSE(zero.passable(send));
  CHECK_FALSE(one.passable(receive));
  one.receive_start(0, &y, 1);
  CHECK((zero.passable(send) && one.passable(receive)));
  CHECK_FALSE(zero.passable({Ticket::receive, 1, 0}));  // the other direction
  CHECK_FALSE(zero.passable({Ticket::send, 1, 1}));     // nor the next one
  CHECK_THROWS_AS(static_cast<void>(zero.passable({Ticket::send, 0, 0})), Error);
  CHECK_THROWS_AS(static_cast<void>(zero.passable({Ticket::all_reduce, 0, 0})), Error);
}

TEST_CASE("a wait that is not passable is refused, since the thread that waits is the one that others need") {
  World world = made(2, {{0, 1}});
  World::Endpoint& zero = world.endpoint(Rank{0});
  float x = 1;
  zero.receive_start(1, &x, 1);
  const std::string said = sentence([&] { zero.receive_wait(1, 0); });
  CHECK(said.find("[heddle.T03] sequence 0 of rank 0 receives from rank 1 is waited for before all of its ranks have started it") == 0);
  CHECK(said.find("Fix: ask passable() first") != std::string::npos);
  CHECK(sentence([&] { zero.send_wait(1, 0); }).find("[heddle.T03] sequence 0 of rank 0 sends to rank 1 is waited for before") == 0);
  zero.all_reduce_start(0, &x, 1);
  CHECK(sentence([&] { zero.all_reduce_wait(0, 0); }).find("[heddle.T03] sequence 0 of all-reduce of group 0 is waited for before") == 0);
  world.endpoint(Rank{1}).all_reduce_start(0, &x, 1);
  zero.all_reduce_wait(0, 0);
  CHECK(sentence([&] { zero.all_reduce_wait(0, 0); }).find("[heddle.T03] sequence 0 is not pending at all-reduce of group 0.") == 0);
}

TEST_CASE("counts and kinds that differ are T01 with both ranks, and nothing is moved") {
  Floats mine(8, 1.0F), theirs(8, 2.0F);
  const auto differ = [&](auto first, auto second) {
    World world = made(2, {{0, 1}});
    first(world.endpoint(Rank{0}));
    const std::string said = sentence([&] { second(world.endpoint(Rank{1})); });
    CHECK((mine == Floats(8, 1.0F) && theirs == Floats(8, 2.0F)));
    CHECK(said.find("Nothing was moved. Fix: ") != std::string::npos);
    return said;
  };
  CHECK(differ([&](auto& e) { e.send_start(1, mine.data(), 5); }, [&](auto& e) { e.receive_start(0, theirs.data(), 7); })
            .find("[heddle.T01] rank 0 sends rank 1 5 elements, rank 1 takes 7, sequence 0. ") == 0);
  CHECK(differ([&](auto& e) { e.receive_start(1, mine.data(), 5); }, [&](auto& e) { e.send_start(0, theirs.data(), 7); })
            .find("[heddle.T01] rank 1 sends rank 0 7 elements, rank 0 takes 5, sequence 0. ") == 0);
  CHECK(differ([&](auto& e) { e.all_reduce_start(0, mine.data(), 3); }, [&](auto& e) { e.all_reduce_start(0, theirs.data(), 4); })
            .find("[heddle.T01] rank 0 starts all-reduce of 3 elements, rank 1 starts all-reduce of 4, sequence 0. ") == 0);
  CHECK(differ([&](auto& e) { e.all_reduce_start(0, mine.data(), 4); }, [&](auto& e) { e.all_gather_start(0, theirs.data(), theirs.data(), 4); })
            .find("[heddle.T01] rank 0 starts all-reduce of 4 elements, rank 1 starts all-gather of 4, sequence 0. ") == 0);
}

TEST_CASE("ranks, groups and counts that cannot be are refused before anything is pending") {
  World world = made(3, {{0, 1}});
  World::Endpoint& zero = world.endpoint(Rank{0});
  Floats data(4);
  const auto code = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return Code{};
  };
  CHECK(code([&] { zero.send_start(0, data.data(), 1); }) == Code{'T', 4});
  CHECK(code([&] { zero.receive_start(3, data.data(), 1); }) == Code{'T', 4});
  CHECK(code([&] { zero.all_reduce_start(1, data.data(), 1); }) == Code{'T', 4});
  CHECK(code([&] { world.endpoint(Rank{2}).all_gather_start(0, data.data(), data.data(), 2); }) == Code{'T', 4});
  CHECK(code([&] { zero.send_start(1, data.data(), -1); }) == Code{'T', 5});
  CHECK(code([&] { zero.reduce_scatter_start(0, data.data(), data.data(), 3); }) == Code{'T', 5});
  CHECK(code([] { made(2, {{0, 0}}); }) == Code{'T', 4});
  CHECK((zero.send_start(1, data.data(), 1) == 0 && zero.all_reduce_start(0, data.data(), 1) == 0));
}

TEST_CASE("a rank that was given up makes every wait passable; what was complete succeeds, the rest names the rank and why") {
  World world = made(3, {everybody(3), {0, 1}});
  World::Endpoint& zero = world.endpoint(Rank{0});
  World::Endpoint& one = world.endpoint(Rank{1});
  float a = 1, b = 2, c = 3;
  zero.receive_start(1, &a, 1);
  one.send_start(0, &b, 1);
  zero.receive_start(1, &c, 1);
  zero.all_reduce_start(0, &c, 1);
  one.all_reduce_start(1, &b, 1);
  const Ticket complete{Ticket::receive, 1, 0}, open{Ticket::receive, 1, 1}, sum{Ticket::all_reduce, 0, 0};
  CHECK((zero.passable(complete) && !zero.passable(open) && !zero.passable(sum)));
  world.give_up(Rank{2}, "its kernel threw");
  CHECK((zero.passable(complete) && zero.passable(open) && zero.passable(sum) && one.passable({Ticket::all_reduce, 1, 0})));
  CHECK_NOTHROW(zero.receive_wait(1, 0));
  CHECK(a == 2);
  CHECK_THROWS_WITH_AS(zero.receive_wait(1, 1),
                       doctest::Contains("[heddle.R01] rank 2 was lost at rank 0 receives from rank 1, sequence 1: its kernel"), RankLost);
  CHECK_THROWS_WITH_AS(zero.all_reduce_wait(0, 0), doctest::Contains("rank 2 was lost at all-reduce of group 0, sequence 0: its kernel threw"),
                       RankLost);
  try {
    one.all_reduce_wait(1, 0);
    CHECK(false);
  } catch (const RankLost& error) {
    CHECK((error.rank() == Rank{2} && error.sequence() == 0 && error.operation() == "all-reduce of group 1"));
  }
  world.give_up(Rank{1}, "it followed");  // the first is the cause
  CHECK_THROWS_WITH_AS(zero.receive_wait(1, 1), doctest::Contains("rank 2 was lost"), RankLost);
}

TEST_CASE("what a rank has sent is counted as the ledger counts it, whether or not anybody has waited") {
  World world = made(3, {everybody(3), {2, 1}});
  std::vector<SentCounters> wanted;
  for (int r = 0; r < 3; ++r) wanted.emplace_back(2);
  std::vector<Floats> data = of_ranks(8, 3, 100), slices(3, Floats(50));
  const auto each = [&](int group, Movement kind, std::int64_t elements, const std::vector<int>& members) {
    for (int p = 0; p < static_cast<int>(members.size()); ++p) {
      const auto rank = static_cast<std::size_t>(members[static_cast<std::size_t>(p)]);
      World::Endpoint& endpoint = world.endpoint(Rank{members[static_cast<std::size_t>(p)]});
      if (kind == Movement::all_reduce) endpoint.all_reduce_start(group, data[rank].data(), elements);
      if (kind == Movement::reduce_scatter) endpoint.reduce_scatter_start(group, data[rank].data(), slices[rank].data(), elements);
      if (kind == Movement::all_gather) endpoint.all_gather_start(group, slices[rank].data(), data[rank].data(), elements);
      wanted[rank].count_collective(group, kind, elements, static_cast<int>(members.size()), p);
    }
  };
  each(0, Movement::all_reduce, 100, everybody(3));  // 100 is no multiple of 3: positions differ
  each(0, Movement::reduce_scatter, 30, everybody(3));
  each(1, Movement::all_gather, 8, {2, 1});
  each(1, Movement::all_reduce, 64, {2, 1});
  world.endpoint(Rank{0}).send_start(2, data[0].data(), 30);
  world.endpoint(Rank{2}).receive_start(0, data[2].data(), 30);
  wanted[0].count_send(30);
  for (int r = 0; r < 3; ++r)
    for (const Movement kind : {Movement::point_to_point, Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather}) {
      CHECK(world.sent(Rank{r}, kind) == wanted[static_cast<std::size_t>(r)].sent(kind));
      for (const int group : {0, 1}) CHECK(world.sent(Rank{r}, kind, group) == wanted[static_cast<std::size_t>(r)].sent(kind, group));
    }
  CHECK(world.sent(Rank{1}, Movement::all_reduce, 1) == Sent{2, Bytes{256}});
  CHECK(world.sent(Rank{0}, Movement::all_reduce) == Sent{4, ring_bytes_sent(100, 3, 0)});
  CHECK(world.sent(Rank{0}, Movement::reduce_scatter) == Sent{2, Bytes{80}});
  CHECK(world.sent(Rank{2}, Movement::all_gather) == Sent{1, Bytes{16}});
  CHECK(world.sent(Rank{0}, Movement::point_to_point) == Sent{1, Bytes{120}});
  CHECK(world.sent(Rank{2}, Movement::point_to_point) == Sent{});
  world.clear_traffic();
  for (int r = 0; r < 3; ++r) CHECK(world.sent(Rank{r}, Movement::all_reduce) == Sent{});
}

TEST_CASE("reset brings everything back to the state after construction, but for what was sent") {
  World world = made(2, {{0, 1}}, 2);
  World::Endpoint& zero = world.endpoint(Rank{0});
  World::Endpoint& one = world.endpoint(Rank{1});
  float a = 1, b = 2;
  for (int i = 0; i < 3; ++i) {
    a = 1;
    b = 2;
    CHECK(zero.send_start(1, &a, 1) == 0);
    CHECK_THROWS_AS(one.receive_start(0, &b, 3), Error);  // T01
    CHECK(zero.all_reduce_start(0, &a, 1) == 0);
    world.give_up(Rank{1}, "it threw");
    CHECK_THROWS_AS(zero.all_reduce_wait(0, 0), RankLost);
    world.reset();
    CHECK_FALSE(zero.passable({Ticket::all_reduce, 0, 0}));
    CHECK((zero.all_reduce_start(0, &a, 1) == 0 && one.all_reduce_start(0, &b, 1) == 0));
    CHECK((one.receive_start(0, &b, 1) == 0 && zero.send_start(1, &a, 1) == 0));
    zero.all_reduce_wait(0, 0);
    zero.send_wait(1, 0);
    one.receive_wait(0, 0);
    CHECK((a == 3 && b == 3));
    world.reset();
  }
  CHECK(world.sent(Rank{0}, Movement::point_to_point) == Sent{6, Bytes{24}});
}
