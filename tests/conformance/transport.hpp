// SPDX-License-Identifier: MIT
// Room: tests. The contract of every Transport as laws that each backend's test instantiates; written as SPMD bodies, so processes can run it too.
// Sees: seams/concepts, seams/error, core, transport/movement.  Does not see: which transport it tests.
// In: a World: how a backend starts ranks.  Out: doctest checks.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/core/ring_volume.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/sent_counters.hpp"

// A World offers
//   static constexpr int most_ranks                  largest number of ranks it can start (1: no transfers are tested)
//   World(int ranks, std::vector<std::vector<int>> groups)   with room for 4 pending starts and a deadline that no test reaches
//   std::string run(body)                            body(endpoint, rank) -> std::string on every rank it holds; the first text that is not empty
//   heddle::Sent sent(int rank, heddle::Movement kind)   what a rank that it holds has sent
namespace conformance {

using Floats = std::vector<float>;

/// The sum over positions along the binary counter's tree, written down a second time and slowly.
inline float tree_sum(const Floats& values) {
  std::vector<std::pair<int, float>> counter;  // (number of positions, their sum), sizes falling
  for (const float value : values) {
    counter.emplace_back(1, value);
    while (counter.size() > 1 && counter[counter.size() - 2].first == counter.back().first) {
      const auto right = counter.back();
      counter.pop_back();
      counter.back() = {counter.back().first + right.first, counter.back().second + right.second};
    }
  }
  float sum = counter.back().second;
  for (auto left = counter.rbegin() + 1; left != counter.rend(); ++left) sum = left->second + sum;
  return sum;
}

/// Values whose sum depends on the order of summation: of both signs, magnitudes from 2^-9 to 2^9.
inline float value_of(std::uint64_t key, int rank, std::int64_t element) {
  std::uint64_t x = key * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(rank) * 0xbf58476d1ce4e5b9ULL + static_cast<std::uint64_t>(element);
  x = (x ^ (x >> 31)) * 0x94d049bb133111ebULL;
  x ^= x >> 29;
  const float magnitude = std::ldexp(1.0F + static_cast<float>(x & 0xffff) / 65536.0F, static_cast<int>(x >> 16 & 15) - 8);
  return (x >> 40 & 1) != 0 ? -magnitude : magnitude;
}
inline Floats values_of(std::uint64_t key, int rank, std::int64_t elements) {
  Floats values(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) values[static_cast<std::size_t>(i)] = value_of(key, rank, i);
  return values;
}
inline Floats sums_of(std::uint64_t key, const std::vector<int>& group, std::int64_t elements) {
  Floats sums(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    Floats values;
    for (const int rank : group) values.push_back(value_of(key, rank, i));
    sums[static_cast<std::size_t>(i)] = tree_sum(values);
  }
  return sums;
}
inline bool equal_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}
inline std::vector<int> everybody(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  return all;
}
inline std::int64_t length(const Floats& values) { return static_cast<std::int64_t>(values.size()); }

/// "" if the call throws an Error with this code, else what happened.
template <class Call> std::string expect_code(heddle::Code code, Call call) {
  try {
    call();
  } catch (const heddle::Error& error) {
    return error.code() == code ? std::string{} : std::string{"wrong code: "} + error.what();
  }
  return std::string{"no error, expected "} + code.letter + std::to_string(code.number);
}

// ---- Laws -------------------------------------------------------------------------------------------------------------------------------

template <class World> void the_kth_send_meets_the_kth_receive() {
  World world(2, {});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    const int peer = 1 - rank;
    std::vector<Floats> out, in;
    std::vector<std::int64_t> sends, receives;
    for (std::uint64_t k = 0; k < 4; ++k) {
      out.push_back(values_of(k, rank, static_cast<std::int64_t>(3 * k)));  // number 0 is empty
      in.emplace_back(3 * k);
    }
    for (std::size_t k = 0; k < 4; ++k) receives.push_back(endpoint.receive_start(peer, in[k].data(), length(in[k])));
    for (std::size_t k = 0; k < 4; ++k) sends.push_back(endpoint.send_start(peer, out[k].data(), length(out[k])));
    if (sends != std::vector<std::int64_t>{0, 1, 2, 3} || receives != sends) return "starts are not numbered from 0";
    for (const std::size_t k : {2U, 0U, 3U, 1U}) endpoint.receive_wait(peer, receives[k]);  // waits may come in any order
    for (const std::size_t k : {1U, 3U, 2U, 0U}) endpoint.send_wait(peer, sends[k]);
    for (std::uint64_t k = 0; k < 4; ++k)
      if (!equal_bits(in[k], values_of(k, peer, length(in[k])))) return "receive " + std::to_string(k) + " holds something else";
    return "";
  }) == "");
}

template <class World> void completion_depends_on_starts_only() {
  World world(2, {{0, 1}});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    Floats sum = values_of(7, rank, 5000), token(1);
    const auto k = endpoint.all_reduce_start(0, sum.data(), length(sum));
    // Rank 0 waits for its reduction only after a message that rank 1 sends after its own wait.
    if (rank == 0) {
      endpoint.receive_wait(1, endpoint.receive_start(1, token.data(), 1));
      endpoint.all_reduce_wait(0, k);
    } else {
      endpoint.all_reduce_wait(0, k);
      endpoint.send_wait(0, endpoint.send_start(0, token.data(), 1));
    }
    return equal_bits(sum, sums_of(7, {0, 1}, 5000)) ? "" : "wrong sum";
  }) == "");
}

template <class World> void all_reduce_follows_the_fixed_tree() {
  for (int ranks = 1; ranks <= std::min(World::most_ranks, 7); ++ranks) {
    CAPTURE(ranks);
    std::vector<int> reversed = everybody(ranks);
    std::reverse(reversed.begin(), reversed.end());
    World world(ranks, {everybody(ranks), reversed});
    CHECK(world.run([&](auto& endpoint, int rank) -> std::string {
      std::uint64_t key = 0;
      for (const std::int64_t elements : {0, 1, 15, 16, 17, 255, 256, 257, 4097, 40000})
        for (const int group : {0, 1}) {
          Floats data = values_of(++key, rank, elements);
          endpoint.all_reduce_wait(group, endpoint.all_reduce_start(group, data.data(), elements));
          if (!equal_bits(data, sums_of(key, group == 0 ? everybody(ranks) : reversed, elements)))
            return "other bits for " + std::to_string(elements) + " elements in group " + std::to_string(group);
        }
      return "";
    }) == "");
  }
}

/// A slice of a collective: the own place inside the whole, or a buffer elsewhere.
struct Divided {
  Floats whole;
  Floats elsewhere;
  std::size_t first;  // of the own slice
  std::size_t length;
  bool in_place;

  Divided(Floats all, int members, int position, bool within)
      : whole(std::move(all)), elsewhere(whole.size() / static_cast<std::size_t>(members), -7.0F),
        first(elsewhere.size() * static_cast<std::size_t>(position)), length(elsewhere.size()), in_place(within) {}
  [[nodiscard]] float* slice() { return in_place ? whole.data() + first : elsewhere.data(); }
  [[nodiscard]] Floats values() { return {slice(), slice() + length}; }
  [[nodiscard]] Floats own_of(const Floats& all) const { return part(all, first, first + length); }
  [[nodiscard]] bool rest_is_that_of(const Floats& all) const {
    const std::size_t changed = in_place ? first + length : first;
    return equal_bits(part(whole, 0, first), part(all, 0, first)) && equal_bits(part(whole, changed, whole.size()), part(all, changed, all.size()));
  }
  static Floats part(const Floats& all, std::size_t begin, std::size_t end) {
    return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
  }
};

/// Reduce-scatter, then all-gather, of `elements` on one group; what is wrong with them.
template <class Endpoint>
std::string scatter_and_gather(Endpoint& endpoint, int rank, int group, const std::vector<int>& members, std::uint64_t key, std::int64_t elements,
                               bool in_place) {
  const int n = static_cast<int>(members.size());
  const auto position = static_cast<int>(std::find(members.begin(), members.end(), rank) - members.begin());
  const Floats before = values_of(key, rank, elements);
  const Floats sums = sums_of(key, members, elements);
  Floats reduced = before;
  endpoint.all_reduce_wait(group, endpoint.all_reduce_start(group, reduced.data(), elements));
  Divided d(before, n, position, in_place);
  endpoint.reduce_scatter_wait(group, endpoint.reduce_scatter_start(group, d.whole.data(), d.slice(), elements));
  const std::string where = " for " + std::to_string(elements) + " elements in group " + std::to_string(group) + (in_place ? " in place" : "");
  if (!equal_bits(reduced, sums) || !equal_bits(d.values(), d.own_of(reduced))) return "the slice is not that of an all-reduce" + where;
  if (!d.rest_is_that_of(before)) return "reduce-scatter changed the rest" + where;
  endpoint.all_gather_wait(group, endpoint.all_gather_start(group, d.slice(), d.whole.data(), elements));
  return equal_bits(d.whole, reduced) ? "" : "the gathered whole is not that of an all-reduce" + where;
}

template <class World> void scattered_and_gathered_slices_are_those_of_an_all_reduce() {
  for (int ranks = 1; ranks <= std::min(World::most_ranks, 7); ++ranks) {
    CAPTURE(ranks);
    std::vector<int> reversed = everybody(ranks);
    std::reverse(reversed.begin(), reversed.end());
    World world(ranks, {everybody(ranks), reversed});
    CHECK(world.run([&](auto& endpoint, int rank) -> std::string {
      std::uint64_t key = 0;
      for (const std::int64_t slice : {0, 1, 15, 16, 17, 255, 256, 257, 4097, 20001})
        for (const int group : {0, 1})
          for (const bool in_place : {false, true})
            if (auto fault = scatter_and_gather(endpoint, rank, group, group == 0 ? everybody(ranks) : reversed, ++key, slice * ranks, in_place);
                !fault.empty())
              return fault;
      return "";
    }) == "");
  }
}

template <class World> void several_reductions_are_pending_at_once() {
  const int ranks = std::min(World::most_ranks, 3);
  World world(ranks, {everybody(ranks)});
  CHECK(world.run([&](auto& endpoint, int rank) -> std::string {
    std::vector<Floats> data;
    for (std::uint64_t k = 0; k < 4; ++k) data.push_back(values_of(k, rank, 1000));
    for (std::int64_t k = 0; k < 4; ++k)
      if (endpoint.all_reduce_start(0, data[static_cast<std::size_t>(k)].data(), 1000) != k) return "starts are not numbered from 0";
    for (std::size_t i = 0; i < 4; ++i) endpoint.all_reduce_wait(0, static_cast<std::int64_t>((i + static_cast<std::size_t>(rank)) % 4));
    for (std::uint64_t k = 0; k < 4; ++k)
      if (!equal_bits(data[k], sums_of(k, everybody(ranks), 1000))) return "wrong sum " + std::to_string(k);
    return "";
  }) == "");
}

template <class World> void counts_that_differ_are_an_error_on_every_side() {
  World world(2, {{0, 1}});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    Floats data(8, 1.0F);
    const heddle::Code differ{'T', 1};
    if (const auto fault = expect_code(differ,
                                       [&] {
                                         if (rank == 0)
                                           endpoint.send_wait(1, endpoint.send_start(1, data.data(), 5));
                                         else
                                           endpoint.receive_wait(0, endpoint.receive_start(0, data.data(), 7));
                                       });
        !fault.empty())
      return fault;
    if (auto fault = expect_code(differ, [&] { endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data.data(), 3 + rank)); }); !fault.empty())
      return fault;
    if (!equal_bits(data, Floats(8, 1.0F))) return "something was moved";
    Floats sums = values_of(3, rank, 4);
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, sums.data(), 4));  // the next one is not disturbed
    return equal_bits(sums, sums_of(3, {0, 1}, 4)) ? "" : "the next sum is wrong";
  }) == "");
}

template <class World> void kinds_that_differ_are_an_error_on_every_side() {
  World world(2, {{0, 1}});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    Floats data(8, 1.0F), slice(4, 2.0F);
    const auto scatter = [&] { endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, data.data(), slice.data(), 8)); };
    const auto gather = [&] { endpoint.all_gather_wait(0, endpoint.all_gather_start(0, slice.data(), data.data(), 8)); };
    const auto reduce = [&] { endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data.data(), 8)); };
    const heddle::Code differ{'T', 1};
    std::string fault;
    if (fault.empty()) fault = rank == 0 ? expect_code(differ, scatter) : expect_code(differ, gather);
    if (fault.empty()) fault = rank == 0 ? expect_code(differ, gather) : expect_code(differ, reduce);
    if (fault.empty()) fault = rank == 0 ? expect_code(differ, reduce) : expect_code(differ, scatter);
    if (!fault.empty()) return fault;
    if (!equal_bits(data, Floats(8, 1.0F)) || !equal_bits(slice, Floats(4, 2.0F))) return "something was moved";
    gather();
    return equal_bits(data, Floats(8, 2.0F)) ? "" : "the next all-gather is wrong";
  }) == "");
}

template <class World> void misuse_is_an_error_and_not_a_hang() {
  const int ranks = std::min(World::most_ranks, 2);
  World world(ranks, {everybody(ranks)});
  CHECK(world.run([&](auto& endpoint, int rank) -> std::string {
    Floats data(4);
    const heddle::Code number{'T', 3}, name{'T', 4}, negative{'T', 5};
    std::string fault;
    const auto expect = [&](heddle::Code code, auto call) {
      if (fault.empty()) fault = expect_code(code, call);
    };
    expect(name, [&] { endpoint.send_start(rank, data.data(), 1); });
    expect(name, [&] { endpoint.receive_start(rank, data.data(), 1); });
    expect(name, [&] { endpoint.send_start(ranks, data.data(), 1); });
    expect(name, [&] { endpoint.receive_start(-1, data.data(), 1); });
    expect(name, [&] { endpoint.all_reduce_start(1, data.data(), 1); });
    expect(negative, [&] { endpoint.all_reduce_start(0, data.data(), -1); });
    expect(name, [&] { endpoint.reduce_scatter_start(-1, data.data(), data.data(), 2); });
    expect(name, [&] { endpoint.all_gather_start(1, data.data(), data.data(), 2); });
    expect(negative, [&] { endpoint.all_gather_start(0, data.data(), data.data(), -2); });
    if (ranks > 1) expect(negative, [&] { endpoint.reduce_scatter_start(0, data.data(), data.data(), 3); });
    expect(number, [&] { endpoint.all_reduce_wait(0, 0); });
    expect(number, [&] { endpoint.all_gather_wait(0, 0); });
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data.data(), 4));
    expect(number, [&] { endpoint.all_reduce_wait(0, 0); });
    return fault;
  }) == "");
}

template <class World> void too_many_pending_starts_are_refused() {
  World world(2, {{0, 1}});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    Floats out(8, static_cast<float>(rank)), in(8);
    std::vector<std::int64_t> sends, receives;
    for (std::size_t i = 0; i < 4; ++i) sends.push_back(endpoint.send_start(1 - rank, &out[i], 1));
    if (auto fault = expect_code({'T', 2}, [&] { endpoint.send_start(1 - rank, &out[4], 1); }); !fault.empty()) return fault;
    for (std::size_t i = 0; i < 4; ++i) receives.push_back(endpoint.receive_start(1 - rank, &in[i], 1));
    for (const auto k : receives) endpoint.receive_wait(1 - rank, k);
    for (const auto k : sends) endpoint.send_wait(1 - rank, k);
    for (std::size_t i = 0; i < 4; ++i)
      if (in[i] != static_cast<float>(1 - rank)) return "the refused start has overwritten another";
    return endpoint.send_start(1 - rank, out.data(), 1) == 4 ? "" : "the refused start has taken a number";
  }) == "");
}

template <class World> void traffic_is_counted_as_the_ledger_counts_it() {
  const int ranks = std::min(World::most_ranks, 3);
  World world(ranks, {everybody(ranks)});
  CHECK(world.run([&](auto& endpoint, int rank) -> std::string {
    Floats data(30 * World::most_ranks + 100), other(100);
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data.data(), 100));
    if (ranks > 1 && rank == 0) endpoint.send_wait(1, endpoint.send_start(1, data.data(), 30));
    if (ranks > 1 && rank == 1) endpoint.receive_wait(0, endpoint.receive_start(0, other.data(), 30));
    const std::int64_t slice = 30;
    endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, data.data(), other.data(), ranks * slice));
    for (int i = 0; i < 2; ++i) endpoint.all_gather_wait(0, endpoint.all_gather_start(0, other.data(), data.data(), ranks * slice));
    using heddle::Movement, heddle::Sent, heddle::Bytes;
    const std::int64_t others = ranks - 1;
    if (world.sent(rank, Movement::all_reduce) != Sent{2 * others, heddle::ring_bytes_sent(100, ranks, rank)}) return "all-reduce miscounted";
    if (world.sent(rank, Movement::reduce_scatter) != Sent{others, Bytes{4 * others * slice}}) return "reduce-scatter miscounted";
    if (world.sent(rank, Movement::all_gather) != Sent{2 * others, Bytes{8 * others * slice}}) return "all-gather miscounted";
    const bool sends = ranks > 1 && rank == 0;
    return world.sent(rank, Movement::point_to_point) == (sends ? Sent{1, Bytes{120}} : Sent{}) ? "" : "send miscounted";
  }) == "");
}

/// Whether it becomes passable within a minute.
template <class Endpoint> bool becomes_passable(Endpoint& endpoint, const heddle::Ticket& ticket) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes{1};
  while (!endpoint.passable(ticket) && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return endpoint.passable(ticket);
}

template <class World> void what_a_rank_alone_has_started_is_passable() {
  World world(1, {{0}});
  CHECK(world.run([](auto& endpoint, int) -> std::string {
    using heddle::Ticket;
    Floats data(32, 1.0F), more(32);
    if (!endpoint.passable({Ticket::all_reduce, 0, endpoint.all_reduce_start(0, data.data(), 32)})) return "a sum of one is kept";
    if (!endpoint.passable({Ticket::reduce_scatter, 0, endpoint.reduce_scatter_start(0, data.data(), more.data(), 32)})) return "a slice is kept";
    if (!endpoint.passable({Ticket::all_gather, 0, endpoint.all_gather_start(0, data.data(), more.data(), 32)})) return "a gather of one is kept";
    endpoint.all_reduce_wait(0, 0);
    endpoint.reduce_scatter_wait(0, 1);
    endpoint.all_gather_wait(0, 2);
    if (auto fault = expect_code({'T', 4}, [&] { (void)endpoint.passable({Ticket::send, 0, 0}); }); !fault.empty()) return fault;
    if (auto fault = expect_code({'T', 4}, [&] { (void)endpoint.passable({Ticket::all_gather, 1, 0}); }); !fault.empty()) return fault;
    return endpoint.passable({Ticket::all_reduce, 0, 0}) ? "" : "what its wait refuses at once is kept";
  }) == "");
}

/// A rank that is kept knows it, and one that is not finds its wait over: with each kind of start, few elements and many.
template <class World> void what_was_started_is_passable_when_all_have_started_it() {
  World world(2, {{0, 1}});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    using heddle::Ticket;
    Floats token(1);
    const auto first_rank_says_go = [&] {
      if (rank == 0) return endpoint.send_wait(1, endpoint.send_start(1, token.data(), 1));
      endpoint.receive_wait(0, endpoint.receive_start(0, token.data(), 1));
    };
    for (const std::int64_t elements : {2, 60000}) {
      const auto length = static_cast<std::size_t>(elements);
      Floats whole(length, 1.0F), other(length, 2.0F);
      const auto start = [&](Ticket::Kind kind) -> Ticket {
        switch (kind) {
          case Ticket::send:
          case Ticket::receive:
            if ((rank == 0) == (kind == Ticket::send)) return {Ticket::send, 1 - rank, endpoint.send_start(1 - rank, whole.data(), elements)};
            return {Ticket::receive, 1 - rank, endpoint.receive_start(1 - rank, other.data(), elements)};
          case Ticket::all_reduce: return {kind, 0, endpoint.all_reduce_start(0, whole.data(), elements)};
          case Ticket::reduce_scatter: return {kind, 0, endpoint.reduce_scatter_start(0, whole.data(), other.data(), elements)};
          case Ticket::all_gather: break;
        }
        return {kind, 0, endpoint.all_gather_start(0, whole.data(), other.data(), elements)};
      };
      const auto wait = [&](const Ticket& ticket) {
        switch (ticket.kind) {
          case Ticket::send: return endpoint.send_wait(ticket.with, ticket.k);
          case Ticket::receive: return endpoint.receive_wait(ticket.with, ticket.k);
          case Ticket::all_reduce: return endpoint.all_reduce_wait(ticket.with, ticket.k);
          case Ticket::reduce_scatter: return endpoint.reduce_scatter_wait(ticket.with, ticket.k);
          case Ticket::all_gather: return endpoint.all_gather_wait(ticket.with, ticket.k);
        }
      };
      for (const Ticket::Kind kind : {Ticket::send, Ticket::receive, Ticket::all_reduce, Ticket::reduce_scatter, Ticket::all_gather}) {
        const std::string where = " in kind " + std::to_string(kind) + " of " + std::to_string(elements);
        Ticket ticket;
        // Rank 1 starts after rank 0 has asked. The word to go is of the other sort, so that it has another numbering.
        const bool transfers = kind == Ticket::send || kind == Ticket::receive;
        if (!transfers) {
          if (rank == 0) ticket = start(kind);
          if (rank == 0 && endpoint.passable(ticket)) return "passable before all have started" + where;
          first_rank_says_go();
          if (rank == 1) ticket = start(kind);
        } else {
          const auto sum = [&] { endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, token.data(), 1)); };
          if (rank == 0) ticket = start(kind);
          if (rank == 0 && endpoint.passable(ticket)) return "passable before both have started" + where;
          sum();
          if (rank == 1) ticket = start(kind);
        }
        if (!becomes_passable(endpoint, ticket)) return "never passable" + where;
        wait(ticket);
        if (!endpoint.passable(ticket)) return "what was waited for is kept" + where;
      }
    }
    return "";
  }) == "");
}

// ---- Random programs --------------------------------------------------------------------------------------------------------------------

struct Operation {
  int group = -1;  // -1: a transfer
  int from = 0;
  int to = 0;
  std::int64_t elements = 0;
  heddle::Movement kind = heddle::Movement::point_to_point;
  bool in_place = false;
};

struct RandomProgram {
  std::vector<std::vector<int>> groups;
  std::vector<Operation> operations;  // every rank takes its part in this one order, so no program deadlocks
};

inline RandomProgram random_program(std::mt19937& random, int ranks, int operations) {
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  RandomProgram program{{everybody(ranks)}, {}};
  for (int g = 0; g < 2; ++g) {
    std::vector<int> group = everybody(ranks);
    std::shuffle(group.begin(), group.end(), random);
    group.resize(static_cast<std::size_t>(1 + below(ranks)));
    program.groups.push_back(group);
  }
  for (int i = 0; i < operations; ++i) {
    Operation operation{below(2) == 0 ? -1 : below(3), below(ranks), 0, below(8) == 0 ? 20000 + below(9999) : below(300)};
    operation.to = (operation.from + 1 + below(ranks - 1)) % ranks;
    if (operation.group >= 0) {
      operation.kind = static_cast<heddle::Movement>(1 + below(3));
      operation.in_place = below(2) == 0;
      if (operation.kind != heddle::Movement::all_reduce) operation.elements *= std::ssize(program.groups[static_cast<std::size_t>(operation.group)]);
    }
    program.operations.push_back(operation);
  }
  return program;
}

/// One rank's part: starts in program order, waits late and out of order, checks every bit, spoils every buffer it gets back.
template <class Endpoint> class RandomRank {
 public:
  RandomRank(Endpoint& endpoint, int rank, const RandomProgram& program, unsigned seed)
      : endpoint_(endpoint), rank_(rank), program_(program), random_(seed * 31U + static_cast<unsigned>(rank)) {}

  std::string run() {
    for (std::size_t i = 0; i < program_.operations.size(); ++i) {
      start(i);
      if (random_() % 16 == 0) std::this_thread::sleep_for(std::chrono::microseconds{random_() % 300});
      while (pending_.size() >= 4 || (!pending_.empty() && random_() % 3 == 0)) wait(random_() % 2 == 0 ? 0 : random_() % pending_.size());
    }
    while (!pending_.empty()) wait(0);
    return fault_;
  }

 private:
  struct Pending {
    std::size_t operation;
    std::int64_t sequence;
    Floats buffer;
    Floats slice;  // where a slice lies elsewhere
  };

  void start(std::size_t i) {
    const Operation& operation = program_.operations[i];
    const auto& groups = program_.groups;
    const bool reduces = operation.group >= 0;
    if (reduces && std::count(groups[at(operation.group)].begin(), groups[at(operation.group)].end(), rank_) == 0) return;
    if (!reduces && rank_ != operation.from && rank_ != operation.to) return;
    // Out-of-order waits must keep the span of each lane within the limit of 4 as well.
    while (!pending_.empty() && pending_.front().operation + 4 <= i) wait(0);
    pending_.push_back({i, 0, values_of(i, rank_, operation.elements), {}});
    Pending& mine = pending_.back();
    if (reduces)
      start_collective(mine);
    else if (rank_ == operation.from)
      mine.sequence = endpoint_.send_start(operation.to, mine.buffer.data(), operation.elements);
    else
      mine.sequence = endpoint_.receive_start(operation.from, mine.buffer.data(), operation.elements);
  }

  [[nodiscard]] const std::vector<int>& group_of(const Operation& operation) const { return program_.groups[at(operation.group)]; }
  [[nodiscard]] std::int64_t slice_of(const Operation& operation) const { return operation.elements / std::ssize(group_of(operation)); }
  [[nodiscard]] std::int64_t own_first(const Operation& operation) const {
    const auto& members = group_of(operation);
    return (std::find(members.begin(), members.end(), rank_) - members.begin()) * slice_of(operation);
  }
  [[nodiscard]] float* slice_at(const Operation& operation, Pending& mine) const {
    return operation.in_place ? mine.buffer.data() + own_first(operation) : mine.slice.data();
  }

  void start_collective(Pending& mine) {
    const Operation& operation = program_.operations[mine.operation];
    float* const whole = mine.buffer.data();
    if (operation.kind == heddle::Movement::all_reduce) {
      mine.sequence = endpoint_.all_reduce_start(operation.group, whole, operation.elements);
      return;
    }
    const auto own = mine.buffer.begin() + own_first(operation);
    mine.slice.assign(own, own + slice_of(operation));
    float* const slice = slice_at(operation, mine);
    mine.sequence = operation.kind == heddle::Movement::reduce_scatter
                        ? endpoint_.reduce_scatter_start(operation.group, whole, slice, operation.elements)
                        : endpoint_.all_gather_start(operation.group, slice, whole, operation.elements);
  }

  /// Waits and moves the result to the front of the buffer; what must be there.
  Floats wait_collective(Pending& mine) {
    const Operation& operation = program_.operations[mine.operation];
    const auto& members = group_of(operation);
    if (operation.kind == heddle::Movement::all_gather) {
      endpoint_.all_gather_wait(operation.group, mine.sequence);
      Floats expected;
      for (std::size_t q = 0; q < members.size(); ++q) {
        const Floats all = values_of(mine.operation, members[q], operation.elements);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(q) * slice_of(operation);
        expected.insert(expected.end(), first, first + slice_of(operation));
      }
      return expected;
    }
    const Floats sums = sums_of(mine.operation, members, operation.elements);
    if (operation.kind == heddle::Movement::all_reduce) {
      endpoint_.all_reduce_wait(operation.group, mine.sequence);
      return sums;
    }
    endpoint_.reduce_scatter_wait(operation.group, mine.sequence);
    const float* const slice = slice_at(operation, mine);
    mine.buffer = Floats(slice, slice + slice_of(operation));
    const auto first = sums.begin() + own_first(operation);
    return {first, first + slice_of(operation)};
  }

  void wait(std::size_t which) {
    Pending mine = std::move(pending_[which]);
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(which));
    const Operation& operation = program_.operations[mine.operation];
    Floats expected;
    if (operation.group >= 0) {
      expected = wait_collective(mine);
    } else if (rank_ == operation.from) {
      endpoint_.send_wait(operation.to, mine.sequence);
      expected = mine.buffer;
    } else {
      endpoint_.receive_wait(operation.from, mine.sequence);
      expected = values_of(mine.operation, operation.from, operation.elements);
    }
    if (!equal_bits(mine.buffer, expected)) fault_ = "rank " + std::to_string(rank_) + ": other bits in operation " + std::to_string(mine.operation);
    std::fill(mine.buffer.begin(), mine.buffer.end(), -1.0F);
    std::fill(mine.slice.begin(), mine.slice.end(), -1.0F);
  }

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  Endpoint& endpoint_;
  int rank_;
  const RandomProgram& program_;
  std::mt19937 random_;
  std::vector<Pending> pending_;
  std::string fault_;
};

template <class World> void random_programs_give_the_bits_of_a_sequential_reference() {
  for (int ranks = 2; ranks <= std::min(World::most_ranks, 5); ++ranks)
    for (unsigned round = 0; round < 6; ++round) {
      const unsigned seed = 100U * static_cast<unsigned>(ranks) + round;
      CAPTURE(seed);
      std::mt19937 random(seed);
      const RandomProgram program = random_program(random, ranks, 80);
      World world(ranks, program.groups);
      CHECK(world.run([&](auto& endpoint, int rank) { return RandomRank(endpoint, rank, program, seed).run(); }) == "");
    }
}

// ---- The suite --------------------------------------------------------------------------------------------------------------------------

template <class World> void every_transport() {
  SUBCASE("all-reduce follows the fixed tree") { all_reduce_follows_the_fixed_tree<World>(); }
  SUBCASE("scattered and gathered slices are those of an all-reduce") { scattered_and_gathered_slices_are_those_of_an_all_reduce<World>(); }
  SUBCASE("several reductions are pending at once") { several_reductions_are_pending_at_once<World>(); }
  SUBCASE("misuse is an error and not a hang") { misuse_is_an_error_and_not_a_hang<World>(); }
  SUBCASE("traffic is counted as the ledger counts it") { traffic_is_counted_as_the_ledger_counts_it<World>(); }
  SUBCASE("what a rank alone has started is passable") { what_a_rank_alone_has_started_is_passable<World>(); }
  if constexpr (World::most_ranks > 1) {
    SUBCASE("what was started is passable when all have started it") { what_was_started_is_passable_when_all_have_started_it<World>(); }
    SUBCASE("the k-th send meets the k-th receive") { the_kth_send_meets_the_kth_receive<World>(); }
    SUBCASE("completion depends on starts only") { completion_depends_on_starts_only<World>(); }
    SUBCASE("counts that differ are an error on every side") { counts_that_differ_are_an_error_on_every_side<World>(); }
    SUBCASE("kinds that differ are an error on every side") { kinds_that_differ_are_an_error_on_every_side<World>(); }
    SUBCASE("too many pending starts are refused") { too_many_pending_starts_are_refused<World>(); }
    SUBCASE("random programs give the bits of a sequential reference") { random_programs_give_the_bits_of_a_sequential_reference<World>(); }
  }
}

}  // namespace conformance
