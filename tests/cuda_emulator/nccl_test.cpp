// SPDX-License-Identifier: MIT
// Ranks of the emulated NCCL that are threads: what they compute and send, and ranks that disagree, are left out or are lost.
#include <doctest/doctest.h>
#include <nccl.h>

#include <array>
#include <atomic>
#include <numeric>
#include <thread>

#include "cuda_emulator/one_card.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

/// A rank on a card of its own.
class RankOfTest {
 public:
  RankOfTest(int ranks, const ncclUniqueId& id, int rank_, int shares = 0) : rank(rank_) {
    check_cuda(cudaSetDevice(rank), "cudaSetDevice");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = shares;
    settle(ncclCommInitRankConfig(&communicator, ranks, id, rank, &config));
  }
  RankOfTest(const RankOfTest&) = delete;
  RankOfTest& operator=(const RankOfTest&) = delete;
  ~RankOfTest() { leave(); }
  void leave(bool aborts = false) {
    if (communicator != nullptr) static_cast<void>(aborts ? ncclCommAbort(communicator) : ncclCommDestroy(communicator));
    communicator = nullptr;
  }
  /// Polls until the communicator is no longer in progress.
  ncclResult_t settle(ncclResult_t result) {
    while (result == ncclInProgress)
      if (const ncclResult_t asked = ncclCommGetAsyncError(communicator, &result); asked != ncclSuccess) return asked;
    return result;
  }
  int rank;
  ncclComm_t communicator = nullptr;
};
/// Runs body(rank, card) on as many threads as ranks. `shares`: what is split of the communicator ends with it.
template <class Body> void on_ranks(int ranks, Body&& body, int shares = 0) {
  ncclUniqueId id{};
  REQUIRE(ncclGetUniqueId(&id) == ncclSuccess);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      RankOfTest here(ranks, id, rank, shares);
      const OneCard card;
      body(here, card);
    });
  for (std::thread& thread : threads) thread.join();
}
std::vector<float> from(float first, std::size_t n) {
  std::vector<float> numbers(n);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

TEST_CASE("collectives of three ranks are right in every order and send what a ring sends") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed, .devices = 3});
    std::array<std::array<std::vector<float>, 4>, 3> got;
    on_ranks(3, [&](RankOfTest& rank, const OneCard& card) {
      const auto mine = card.up(from(static_cast<float>(10 * rank.rank), 6));
      const auto sum = card.unset(6);
      const auto part = card.unset(2);
      const auto all = card.unset(6);
      const auto of_root = card.unset(6);
      const cudaStream_t on = card.stream();
      std::vector<ncclResult_t> results;
      results.push_back(rank.settle(ncclAllReduce(mine.get(), sum.get(), 6, ncclFloat32, ncclSum, rank.communicator, on)));
      results.push_back(rank.settle(ncclReduceScatter(mine.get(), part.get(), 2, ncclFloat32, ncclMax, rank.communicator, on)));
      results.push_back(rank.settle(ncclAllGather(part.get(), all.get(), 2, ncclFloat32, rank.communicator, on)));
      results.push_back(rank.settle(ncclBroadcast(mine.get(), of_root.get(), 6, ncclFloat32, 1, rank.communicator, on)));
      const std::size_t at = static_cast<std::size_t>(rank.rank);
      wait_for(on);
      got[at] = {card.down(sum, 6), card.down(part, 2), card.down(all, 6), card.down(of_root, 6)};
      if (results != std::vector<ncclResult_t>(4, ncclSuccess)) got[at] = {};
    });
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(got[rank][0] == std::vector<float>{30, 33, 36, 39, 42, 45});
      CHECK(got[rank][1] == from(20.0F + 2 * static_cast<float>(rank), 2));
      CHECK(got[rank][2] == from(20, 6));
      CHECK(got[rank][3] == from(10, 6));
    }
    CHECK(counts().collectives == 4);
    CHECK(counts().sent_bytes == 2 * 2 * 24 + 2 * 24 + 2 * 24 + 2 * 24);
    check_right();
  }
}
TEST_CASE("sends and receives in one group meet, also in a ring, and a graph has them") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed, .devices = 3});
    std::array<std::vector<float>, 3> got;
    on_ranks(3, [&](RankOfTest& rank, const OneCard& card) {
      const auto mine = card.up(from(static_cast<float>(10 * rank.rank), 4));
      const auto theirs = card.unset(4);
      wait_for(card.stream());
      const RunnableGraph graph = captured(card.stream(), [&] {
        static_cast<void>(ncclGroupStart());
        static_cast<void>(ncclSend(mine.get(), 4, ncclFloat32, (rank.rank + 1) % 3, rank.communicator, card.stream()));
        static_cast<void>(ncclRecv(theirs.get(), 4, ncclFloat32, (rank.rank + 2) % 3, rank.communicator, card.stream()));
        static_cast<void>(rank.settle(ncclGroupEnd()));
        static_cast<void>(rank.settle(ncclAllReduce(theirs.get(), theirs.get(), 4, ncclFloat32, ncclSum, rank.communicator, card.stream())));
      });
      for (int replay = 0; replay < 2; ++replay) check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
      wait_for(card.stream());
      got[static_cast<std::size_t>(rank.rank)] = card.down(theirs, 4);
    });
    for (const auto& numbers : got) CHECK(numbers == std::vector<float>{30, 33, 36, 39});
    CHECK(counts().collectives == 2 * 4);
    check_right();
  }
}
TEST_CASE("a first operation is in progress until all ranks have posted it, a first transfer until both ends have, and later ones are not") {
  for (const bool transfers : {false, true}) {
    reset({.devices = 3});
    std::atomic<int> looks = 0, done = 0;
    on_ranks(3, [&](RankOfTest& rank, const OneCard& card) {
      const auto x = card.up(8, 1.0F);
      const auto post = [&] {
        if (!transfers) return ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, rank.communicator, card.stream());
        if (rank.rank == 1) return ncclSend(x.get(), 8, ncclFloat32, 2, rank.communicator, card.stream());
        return rank.rank == 2 ? ncclRecv(x.get(), 8, ncclFloat32, 1, rank.communicator, card.stream()) : ncclSuccess;
      };
      const auto state = [&] {
        ncclResult_t now = ncclSuccess;
        CHECK(ncclCommGetAsyncError(rank.communicator, &now) == ncclSuccess);
        return now;
      };
      if (rank.rank == 1) {  // alone for 20 looks
        CHECK(post() == ncclInProgress);
        for (; looks < 20; ++looks) CHECK(state() == ncclInProgress);
        CHECK(ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, rank.communicator, card.stream()) == ncclInvalidArgument);
      }
      while (looks < 20) std::this_thread::yield();
      CHECK(rank.settle(rank.rank == 1 ? ncclInProgress : post()) == ncclSuccess);
      ++done;
      while (done < 3) std::this_thread::yield();
      if (rank.rank != 2) CHECK(rank.settle(post()) == ncclSuccess);
      ++done;
      while (done < 5) std::this_thread::yield();
      if (rank.rank == 2) CHECK(rank.settle(post()) == ncclSuccess);
      wait_for(card.stream());
    });
    CHECK(violations() == std::vector<std::string>{"ncclAllReduce is given a communicator that is still in progress."});
    CHECK(alive().empty());
  }
}
TEST_CASE("an order of sums is the same at each call, and no program knows which") {
  std::vector<std::vector<float>> sums;
  for (const std::uint64_t seed : {1, 1, 3}) {
    reset({.seed = seed, .devices = 3});
    std::array<std::vector<float>, 2> got;
    on_ranks(3, [&](RankOfTest& rank, const OneCard& card) {
      const std::vector<float> numbers[] = {{1e8F, 1, 1}, {-1e8F, 1e8F, 1}, {1, -1e8F, 1}};
      const auto mine = card.up(numbers[rank.rank]);
      for (auto& each : got) {
        const auto sum = card.unset(3);
        static_cast<void>(rank.settle(ncclAllReduce(mine.get(), sum.get(), 3, ncclFloat32, ncclSum, rank.communicator, card.stream())));
        const std::vector<float> there = card.down(sum, 3);
        if (rank.rank == 0) each = there;
      }
    });
    CHECK(got[0] == got[1]);
    sums.push_back(got[0]);
  }
  CHECK(sums[0] == sums[1]);
  CHECK(sums[0] != sums[2]);
}
TEST_CASE("ranks that disagree, and a collective that one leaves out, are faults that say who waits for what") {
  reset({.devices = 2});
  on_ranks(2, [](RankOfTest& rank, const OneCard& card) {
    const auto x = card.up(8, 1.0F);
    static_cast<void>(ncclAllReduce(x.get(), x.get(), rank.rank == 0 ? 8 : 7, ncclFloat32, ncclSum, rank.communicator, card.stream()));
    while (cudaStreamQuery(card.stream()) == cudaErrorNotReady && violations().empty()) {
    }
    rank.leave(true);
  });
  CHECK(says(violations(), {"Operation 0 of a communicator: rank", "ncclAllReduce of 8", "ncclAllReduce of 7"}));
  CHECK(alive().empty());
  reset({.devices = 2, .deadline_s = 0.05});
  on_ranks(2, [](RankOfTest& rank, const OneCard& card) {
    const auto x = card.up(8, 1.0F);
    if (rank.rank == 0) static_cast<void>(ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, rank.communicator, card.stream()));
    cudaError_t error = cudaErrorNotReady;
    while (error == cudaErrorNotReady) error = cudaStreamQuery(card.stream());
    rank.leave(true);
  });
  CHECK(says(violations(), {"Nothing goes on any more; stream", "of device 0 is in ncclAllReduce"}));
  CHECK(alive().empty());
}
TEST_CASE("after an abort the streams of all ranks that abort go on") {
  reset({.devices = 2});
  on_ranks(2, [](RankOfTest& rank, const OneCard& card) {
    const auto x = card.up(8, 1.0F);
    wait_for(card.stream());
    if (rank.rank == 0) static_cast<void>(ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, rank.communicator, card.stream()));
    ncclResult_t error = ncclSuccess;
    if (rank.rank == 1) fail_communicators();
    while (error == ncclSuccess || error == ncclInProgress) static_cast<void>(ncclCommGetAsyncError(rank.communicator, &error));
    rank.leave(true);
    wait_for(card.stream());
  });
  check_right();
}
/// The part of a split in which all ranks are.
ncclComm_t split_of(RankOfTest& rank, int share_of_part = 0) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  config.splitShare = share_of_part;
  ncclComm_t part = rank.communicator;
  const ncclResult_t asked = ncclCommSplit(rank.communicator, 0, rank.rank, &part, &config);
  CHECK(asked == ncclInProgress);
  CHECK(part == nullptr);  // it is written when the split is complete
  CHECK(rank.settle(asked) == ncclSuccess);
  CHECK(part != nullptr);
  ncclResult_t result = ncclInProgress;
  while (result == ncclInProgress && ncclCommGetAsyncError(part, &result) == ncclSuccess) {
  }
  return part;
}
TEST_CASE("an abort waits for what its communicator has queued behind another one, unless both have one flag, which the first was made with") {
  for (const int shares : {0, 1}) {
    reset({.devices = 2, .deadline_s = 0.05});
    on_ranks(
        2,
        [&](RankOfTest& rank, const OneCard& card) {
          const ncclComm_t part = split_of(rank, 1 - shares);  // what the part is made with is for its own parts
          const auto x = card.up(8, 1.0F);
          for (const ncclComm_t each : {part, rank.communicator})
            if (rank.rank == 0) static_cast<void>(ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, each, card.stream()));
          rank.leave(true);
          CHECK(ncclCommAbort(part) == ncclSuccess);
          wait_for(card.stream());
        },
        shares);
    CHECK(says(violations(), {"ncclCommAbort waits for an operation of its communicator", "splitShare = 1"}) == (shares == 0));
    CHECK(violations().size() == std::size_t{shares == 0 ? 1U : 0U});
    CHECK(alive().empty());
  }
}
TEST_CASE("a communicator is used when all its ranks are there, and has one rank on a card") {
  reset({.devices = 2, .deadline_s = 0.05});
  ncclUniqueId id{};
  CHECK(ncclGetUniqueId(&id) == ncclSuccess);
  {
    const OneCard card;
    const auto x = card.up(8, 1.0F);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t first = nullptr;
    CHECK(ncclCommInitRankConfig(&first, 2, id, 0, &config) == ncclInProgress);
    ncclResult_t result = ncclSuccess;
    CHECK(ncclCommGetAsyncError(first, &result) == ncclSuccess);
    CHECK(result == ncclInProgress);
    CHECK(ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclSum, first, card.stream()) == ncclInvalidArgument);
    CHECK(says(violations(), {"ncclAllReduce is given a communicator that is still in progress."}));
    ncclComm_t second = nullptr;
    CHECK(ncclCommInitRank(&second, 2, id, 1) == ncclInvalidUsage);  // on the same card
    CHECK(says(refusals(), {"two ranks of one communicator on device 0"}));
    CHECK(ncclCommGetAsyncError(first, &result) == ncclSuccess);
    CHECK(result == ncclInvalidUsage);
    CHECK(ncclCommAbort(first) == ncclSuccess);
    CHECK(ncclCommAbort(first) == ncclInvalidArgument);
    ncclUniqueId other{};
    CHECK(ncclGetUniqueId(&other) == ncclSuccess);
    CHECK(ncclCommInitRank(&second, 2, other, 1) == ncclSystemError);
    CHECK(says(violations(), {"ncclCommInitRank waits for ranks that do not come"}));
    ncclComm_t alone = nullptr;
    CHECK(ncclGetUniqueId(&other) == ncclSuccess);
    CHECK(ncclCommInitRank(&alone, 1, other, 0) == ncclSuccess);
    CHECK(alive() == "1 allocations, 1 communicators of NCCL, 1 streams");
    CHECK(ncclAllReduce(x.get(), x.get(), 9, ncclFloat32, ncclSum, alone, card.stream()) == ncclInvalidArgument);
    CHECK(ncclAllReduce(x.get(), x.get(), 8, ncclFloat32, ncclAvg, alone, card.stream()) == ncclSuccess);
    CHECK(all_are(card.down(x, 8), 1.0F));
    int ranks = 0;
    CHECK(ncclCommCount(alone, &ranks) == ncclSuccess);
    CHECK(ranks == 1);
    int rank = 7;
    int number = 7;
    int version = 0;
    CHECK(ncclCommUserRank(alone, &rank) == ncclSuccess);
    CHECK(ncclCommCuDevice(alone, &number) == ncclSuccess);
    CHECK(ncclGetVersion(&version) == ncclSuccess);
    CHECK(rank == 0);
    CHECK(number == 0);
    CHECK(version == NCCL_VERSION_CODE);
    const auto y = card.unset(8);
    CHECK(ncclReduce(x.get(), y.get(), 8, ncclFloat32, ncclMin, 0, alone, card.stream()) == ncclSuccess);
    CHECK(all_are(card.down(y, 8), 1.0F));
    CHECK(ncclReduce(x.get(), y.get(), 8, ncclFloat32, ncclMin, 1, alone, card.stream()) == ncclInvalidArgument);
    CHECK(ncclCommFinalize(alone) == ncclSuccess);
    CHECK(ncclCommDestroy(alone) == ncclSuccess);
  }
  CHECK(alive().empty());
}
TEST_CASE("one thread makes the communicators of two cards in a group, and reduces on both in a group") {
  reset({.devices = 2});
  ncclUniqueId id{};
  CHECK(ncclGetUniqueId(&id) == ncclSuccess);
  ncclComm_t communicators[2] = {};
  CHECK(ncclGroupStart() == ncclSuccess);
  for (const int rank : {0, 1}) {
    CHECK(cudaSetDevice(rank) == cudaSuccess);
    CHECK(ncclCommInitRank(&communicators[rank], 2, id, rank) == ncclSuccess);
  }
  CHECK(ncclGroupEnd() == ncclSuccess);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  {
    const OneCard first;
    const auto x = first.up(4, 1.0F);
    CHECK(cudaSetDevice(1) == cudaSuccess);
    const OneCard second;
    const auto y = second.up(4, 2.0F);
    CHECK(ncclGroupStart() == ncclSuccess);
    CHECK(ncclAllReduce(x.get(), x.get(), 4, ncclFloat32, ncclSum, communicators[0], first.stream()) == ncclSuccess);
    CHECK(ncclAllReduce(y.get(), y.get(), 4, ncclFloat32, ncclSum, communicators[1], second.stream()) == ncclSuccess);
    CHECK(ncclGroupEnd() == ncclSuccess);
    CHECK(all_are(first.down(x, 4), 3.0F));
    CHECK(all_are(second.down(y, 4), 3.0F));
    for (const ncclComm_t each : communicators) CHECK(ncclCommDestroy(each) == ncclSuccess);
  }
  check_right();
}
}  // namespace
