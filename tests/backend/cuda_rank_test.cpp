// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_rank.hpp"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <memory>
#include <string>

#include "transport/nccl_ranks.hpp"

using namespace heddle;
using backend_room::RankOnCard;
using nccl_ranks::CurrentCard, nccl_ranks::NcclPeers, nccl_ranks::PendingLimits, nccl_ranks::Workers;

TEST_CASE("what a rank takes for sums is that of its largest group, counted at build") {
  constexpr RankNeeds needs{.ranks = 8, .all_groups = 6, .members = {4, 2, 0, 0}, .transfers = 1, .reductions = 1, .elements = {1000, 8000, 0, 0}};
  static_assert(RankOnCard::memory(needs) == Bytes{4 * 4000});  // half of 8,000; three quarters of 1,000 are less
  static_assert(RankOnCard::memory(RankNeeds{}) == Bytes{0});
}

TEST_CASE("ranks that were dropped meet anew, and their endpoints stay where they are") {
  cuda_emulator::reset({.devices = 2});
  {
    NcclPeers peers{2, {{0, 1}}, PendingLimits{4, 4, {1 << 16}, nullptr}, std::chrono::minutes{1}};
    Workers workers(2);
    std::array<std::unique_ptr<RankOnCard>, 2> ranks;
    const auto on_each = [&](auto job) {
      workers.run([&](int rank) {
        const CurrentCard here{rank};
        job(rank, ranks[static_cast<std::size_t>(rank)]);
      });
      workers.rethrow_first();
    };
    const ncclUniqueId first = nccl_ranks::new_id();
    on_each([&](int rank, auto& on_card) {
      on_card = std::make_unique<RankOnCard>(peers, rank, rank, backend_room::CudaProductOptions{.workspace_bytes = 4096}, first,
                                             backend_room::WaysToWait{transport_room::until_of_thread(peers, rank)});
    });
    CHECK((ranks[1]->card() == 1 && !ranks[1]->dropped() && ranks[1]->where() == RankOnCard::Where::begins));
    const std::array<RankOnCard::Endpoint*, 2> there{&ranks[0]->endpoint(), &ranks[1]->endpoint()};
    on_each([&](int rank, auto& on_card) {  // rank 1 comes to no second sum, and rank 0 is in it until it is dropped
      const auto data = compute_room::card_memory<float>(64, "a test");
      auto& end = on_card->endpoint();
      for (const bool connects : {true, false}) {
        if (rank == 1 && !connects) return;
        end.all_reduce_wait(0, end.all_reduce_start(0, data.get(), 64));
        if (connects) end.mover().card().wait();
      }
      on_card->drop();
    });
    on_each([](int, auto& on_card) { on_card->drop(); });
    CHECK((ranks[0]->dropped() && ranks[1]->dropped()));
    const ncclUniqueId second = nccl_ranks::new_id();
    const std::size_t most = cuda_emulator::peak_bytes(0);
    on_each([&](int, auto& on_card) { on_card->meet(second); });
    CHECK(cuda_emulator::peak_bytes(0) == most);  // room for sums is there once
    CHECK((&ranks[0]->endpoint() == there[0] && &ranks[1]->endpoint() == there[1]));
    std::array<std::array<float, 64>, 2> sums{};
    on_each([&](int rank, auto& on_card) {
      backend_room::Card& card = on_card->endpoint().mover().card();
      std::array<float, 64> given{};
      given.fill(static_cast<float>(rank + 1));
      const auto data = compute_room::card_memory<float>(64, "a test");
      card.upload(data.get(), given.data(), sizeof given);
      auto& end = on_card->endpoint();
      end.all_reduce_wait(0, end.all_reduce_start(0, data.get(), 64));
      card.download(sums[static_cast<std::size_t>(rank)].data(), data.get(), sizeof given);
    });
    CHECK((sums[0][0] == 3 && sums[1][63] == 3));
  }
  CHECK(cuda_emulator::violations() == std::vector<std::string>{});
  CHECK(cuda_emulator::alive() == "");
}
