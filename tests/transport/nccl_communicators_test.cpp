// SPDX-License-Identifier: MIT
#include "heddle/transport/nccl_communicators.hpp"

#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "transport/nccl_ranks.hpp"

using namespace heddle;
using nccl_ranks::CurrentCard;
using nccl_ranks::Workers;
using transport_room::GroupsOfRanks;
using transport_room::NcclCommunicators, transport_room::NcclWait;

namespace {
/// Nobody is lost in most tests.
int looks_that_see_a_peer_gone = 0;
void looks(const NcclWait& wait) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) state = wait.look();
  if (state == ncclRemoteError) ++looks_that_see_a_peer_gone;
}
}  // namespace

TEST_CASE("each rank has a communicator of all and one of each of its groups, whose ranks are positions") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    cuda_emulator::reset({.seed = seed, .devices = 4});
    const GroupsOfRanks groups(4, {{1, 0}, {2, 3}, {0, 2}, {1, 3}, {2}, {3, 1}});
    const ncclUniqueId id = nccl_ranks::new_id();
    std::array<std::unique_ptr<NcclCommunicators>, 4> made;
    Workers workers(4);
    workers.run([&](int rank) {
      const CurrentCard here{rank};
      made[static_cast<std::size_t>(rank)] = std::make_unique<NcclCommunicators>(id, groups, rank, looks);
    });
    workers.rethrow_first();
    for (int rank = 0; rank < 4; ++rank) {
      NcclCommunicators& of_rank = *made[static_cast<std::size_t>(rank)];
      int all = 0, place = 0;
      CHECK((ncclCommCount(of_rank.all(), &all) == ncclSuccess && all == 4));
      CHECK((ncclCommUserRank(of_rank.all(), &place) == ncclSuccess && place == rank));
      for (int g = 0; g < groups.count(); ++g) {
        const ncclComm_t one = of_rank.of_group(g);
        CHECK((one != nullptr) == (groups.position(g, rank) >= 0 && groups.members(g) > 1));
        if (one == nullptr) continue;
        CHECK((ncclCommCount(one, &all) == ncclSuccess && all == groups.members(g)));
        CHECK((ncclCommUserRank(one, &place) == ncclSuccess && place == groups.position(g, rank)));
      }
      CHECK(of_rank.found() == ncclSuccess);
      CHECK_FALSE(of_rank.aborted());
    }
    for (auto& one : made) one->retire();
    CHECK(made[0]->aborted());
    made = {};
    CHECK(cuda_emulator::violations() == std::vector<std::string>{});
    CHECK(cuda_emulator::alive() == "");
  }
}

TEST_CASE("a rank that never comes ends the wait of the others, and what they had made is aborted") {
  for (const int splits : {0, 1}) {  // before the first communicator, or in the middle of a split
    cuda_emulator::reset({.devices = 2});
    const GroupsOfRanks groups(2, {{0, 1}});
    const ncclUniqueId id = nccl_ranks::new_id();
    std::string said;
    const auto late = std::make_shared<std::atomic<bool>>(false);
    Workers workers(2);
    workers.run([&](int rank) {
      const CurrentCard here{rank};
      if (rank == 1 && splits == 0) {
        *late = true;
        return;
      }
      if (rank == 1) {
        const NcclCommunicators no_group(id, GroupsOfRanks(2, {}), 1, looks);
        *late = true;
        return;
      }
      try {
        const NcclCommunicators all(id, groups, 0, [&](const NcclWait& wait) {
          CHECK(std::string{wait.where} == "NCCL's connections");
          for (const auto begun = std::chrono::steady_clock::now(); wait.look() == ncclInProgress;)
            if (*late && std::chrono::steady_clock::now() - begun > std::chrono::milliseconds{20}) throw std::runtime_error("late");
        });
      } catch (const std::runtime_error& error) {
        said = error.what();
      }
    });
    workers.rethrow_first();
    CHECK(said == "late");
    CHECK(cuda_emulator::violations() == std::vector<std::string>{});
    CHECK(cuda_emulator::alive() == "");
  }
}

TEST_CASE("what a group and all ranks have in one queue ends with the rank that aborts, whichever stands first") {
  for (const bool group_first : {true, false}) {
    cuda_emulator::reset({.devices = 2, .deadline_s = 0.2});
    const GroupsOfRanks groups(2, {{0, 1}});
    const ncclUniqueId id = nccl_ranks::new_id();
    Workers workers(2);
    workers.run([&](int rank) {
      const CurrentCard here{rank};
      const auto queue = compute_room::make_stream();
      const auto x = compute_room::card_memory<float>(8, "a test");
      NcclCommunicators made(id, groups, rank, looks);
      const ncclComm_t of_group = made.of_group(0);
      for (const bool connects : {true, false}) {
        if (rank == 1 && !connects) return;  // it is lost before it comes to either
        for (const ncclComm_t each : {group_first ? of_group : made.all(), group_first ? made.all() : of_group})
          made.settle(each, ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, each, queue.get()), "ncclAllReduce");
        if (connects) compute_room::wait_for(queue.get());
      }
      made.abort();
      compute_room::wait_for(queue.get());
    });
    workers.rethrow_first();
    CHECK(cuda_emulator::violations() == std::vector<std::string>{});
    CHECK(cuda_emulator::alive() == "");
  }
}

TEST_CASE("what NCCL refuses is one sentence with the call, and a peer that is gone is found by looking") {
  cuda_emulator::reset({.devices = 1});
  const GroupsOfRanks alone(1, {});
  const auto said = [](auto call) {
    try {
      call();
    } catch (const HeddleError& error) {
      return std::string{error.what()};
    }
    return std::string{};
  };
  for (long n = 1; n < 4; ++n) {
    cuda_emulator::fail_call(n);
    const std::string sentence = said([&] { const NcclCommunicators all(nccl_ranks::new_id(), alone, 0, looks); });
    cuda_emulator::fail_call(0);
    if (cuda_emulator::failed_call().empty()) break;
    CHECK(sentence.find("[heddle.R36] " + cuda_emulator::failed_call() + " failed") == 0);
    CHECK(sentence.find("NCCL_DEBUG=WARN") != std::string::npos);
  }
  {
    const NcclCommunicators all(nccl_ranks::new_id(), alone, 0, looks);
    CHECK(all.found() == ncclSuccess);
    cuda_emulator::fail_communicators();
    CHECK(all.found() == ncclRemoteError);
    CHECK(said([&] { all.settle(all.all(), ncclRemoteError, "ncclSend"); }).find("[heddle.R36] ncclSend failed: remote process exited") == 0);
    CHECK(said([&] { all.settle(all.all(), ncclInProgress, "ncclSend"); }).find("[heddle.R36] ncclSend failed: remote process exited") == 0);
    CHECK(looks_that_see_a_peer_gone == 2);  // before it is refused whoever waits may ask the others
  }
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("ranks that are threads meet in memory, whatever the bytes of their id") {
  cuda_emulator::reset({.devices = 1});
  const GroupsOfRanks alone(1, {});
  for (int number = 0; number < 300; ++number) {  // one of which begins with the byte of a slash
    NcclCommunicators all(nccl_ranks::new_id(), alone, 0, looks);
    all.retire();
  }
  CHECK_FALSE(std::filesystem::exists("/rank.0"));
  CHECK(cuda_emulator::alive() == "");
}
