// SPDX-License-Identifier: MIT
// NCCL between cards that the emulator stands for. Its starts stand in one queue of each card, so laws of free lanes are not its own.
#include "heddle/transport/nccl.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conformance/transport.hpp"
#include "transport/nccl_ranks.hpp"

using namespace heddle;
using conformance::everybody;
using conformance::Floats;
using conformance::values_of;
using nccl_ranks::World;

static_assert(TransportEndpoint<transport_room::NcclEndpoint<backend_room::CardLanes>>);

TEST_CASE("a sum over cards follows the fixed tree, in one piece or in slices") {
  SUBCASE("whole") { conformance::all_reduce_follows_the_fixed_tree<World>(); }
  SUBCASE("in slices") { conformance::scattered_and_gathered_slices_are_those_of_an_all_reduce<World>(); }
}

TEST_CASE("starts between cards keep the contract of every transport") {
  SUBCASE("several reductions are pending at once") { conformance::several_reductions_are_pending_at_once<World>(); }
  SUBCASE("completion depends on starts only") { conformance::completion_depends_on_starts_only<World>(); }
  SUBCASE("misuse is an error and not a hang") { conformance::misuse_is_an_error_and_not_a_hang<World>(); }
  SUBCASE("traffic is counted as the ledger counts it") { conformance::traffic_is_counted_as_the_ledger_counts_it<World>(); }
  SUBCASE("what a rank alone has started is passable") { conformance::what_a_rank_alone_has_started_is_passable<World>(); }
}

TEST_CASE("transfers meet in the order of their starts, and an empty one is none for NCCL") {
  World world(3, {});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    if (rank == 2) return "";
    for (std::uint64_t k = 0; k < 4; ++k) {
      Floats data = values_of(k, 0, static_cast<std::int64_t>(3 * k)), in(3 * k);
      if (rank == 0)
        endpoint.send_wait(1, endpoint.send_start(1, data.data(), std::ssize(data)));
      else
        endpoint.receive_wait(0, endpoint.receive_start(0, in.data(), std::ssize(in)));
      if (rank == 1 && in != data) return "receive " + std::to_string(k) + " holds something else";
    }
    return "";
  }) == "");
  CHECK(cuda_emulator::counts().sent_bytes == 4 * (3 + 6 + 9));
}

TEST_CASE("an operation comes behind what was computed before its start, also where that is still queued") {
  World world(2, {everybody(2)});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    auto& end = endpoint.endpoint();
    backend_room::Card& card = end.mover().card();
    const auto computed = compute_room::card_memory<float>(64, "a test"), data = compute_room::card_memory<float>(64, "a test");
    for (int round = 1; round <= 20; ++round) {
      Floats given(64, static_cast<float>(round + rank)), sums(64);
      card.upload(computed.get(), given.data(), 64 * sizeof(float));
      backend_room::queue_copy(card.stream(), data.get(), computed.get(), 64);
      end.all_reduce_wait(0, end.all_reduce_start(0, data.get(), 64));
      card.download(sums.data(), data.get(), 64 * sizeof(float));
      if (sums != Floats(64, static_cast<float>(2 * round + 1))) return "round " + std::to_string(round) + " sums what was there before";
    }
    return "";
  }) == "");
}

TEST_CASE("what travels by NCCL for a sum along the tree is what a ring sends, and in any order the sum is NCCL's own within rounding") {
  for (const std::int64_t n : {1, 17, 256, 1000}) {
    CAPTURE(n);
    for (const SumOrder order : {SumOrder::tree, SumOrder::any}) {
      World world(4, {everybody(4)});
      const long before = cuda_emulator::counts().sent_bytes;
      CHECK(world.run([&](auto& endpoint, int rank) -> std::string {
        Floats data(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(rank) + static_cast<float>(i) / 4;
        endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data.data(), n, order));
        for (std::size_t i = 0; i < data.size(); ++i)
          if (data[i] != 6 + static_cast<float>(i)) return "another sum";  // exact in every order
        return "";
      }) == "");
      long sent = 0;
      for (int r = 0; r < 4; ++r) sent += static_cast<long>(world.sent(r, Movement::all_reduce).bytes.value);
      CHECK(cuda_emulator::counts().sent_bytes - before == sent);
      CHECK(sent == 2 * 3 * 4 * n);
    }
  }
}

TEST_CASE("slices that are summed in any order arrive where they belong, beside the whole or within it") {
  World world(3, {everybody(3)});
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    for (const bool within : {false, true}) {
      Floats whole(30), slice(10, -1.0F);
      for (std::size_t i = 0; i < 30; ++i) whole[i] = static_cast<float>(i) * static_cast<float>(rank + 1);
      float* const there = within ? whole.data() + 10 * rank : slice.data();
      endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, whole.data(), there, 30, SumOrder::any));
      for (int i = 0; i < 10; ++i)
        if (there[i] != static_cast<float>(6 * (10 * rank + i))) return "another slice";
    }
    return "";
  }) == "");
}

TEST_CASE("a sum that is larger than the transport was made for is refused on every rank, and nothing is queued") {
  World world(2, {everybody(2)});
  CHECK(world.run([](auto& endpoint, int) -> std::string {
    Floats data(600000, 1.0F);
    for (int i = 0; i < 5; ++i)  // more than may be pending
      if (auto fault = conformance::expect_code({'T', 5}, [&] { endpoint.all_reduce_start(0, data.data(), 600000); }); !fault.empty()) return fault;
    Floats slice(300000);
    if (auto fault = conformance::expect_code({'T', 5}, [&] { endpoint.reduce_scatter_start(0, data.data(), slice.data(), 600000); }); !fault.empty())
      return fault;
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data.data(), 8));
    return data[7] == 2 ? "" : "the next sum is wrong";
  }) == "");
}

TEST_CASE("a rank that is given up is told to whoever starts or waits next, with what it said") {
  World world(2, {everybody(2)});
  world.peers().lost().add(1, "its kernel has thrown");
  CHECK(world.run([](auto& endpoint, int rank) -> std::string {
    Floats data(8);
    std::string said;
    try {
      endpoint.all_reduce_start(0, data.data(), 8);
    } catch (const extending::RankLost& lost) {
      said = lost.what();
    }
    endpoint.endpoint().abort();
    return said.find("rank 1 was lost at all-reduce of group 0, sequence 0: its kernel has thrown") != std::string::npos
               ? ""
               : "rank " + std::to_string(rank) + " says " + said;
  }) == "");
}
