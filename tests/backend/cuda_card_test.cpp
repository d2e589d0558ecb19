// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_card.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/transport/tree_sum.hpp"

using namespace heddle;
using backend_room::Card, backend_room::CardMover, backend_room::PinnedPieces;

TEST_CASE("pinned pieces lie in whole lines, one behind the other, and are handed out again once they are released") {
  cuda_emulator::reset({.seed = 3});
  {
    PinnedPieces pieces;
    auto* const first = static_cast<std::byte*>(pieces.take(100));
    const PinnedPieces::Mark mark = pieces.mark();
    auto* const second = static_cast<std::byte*>(pieces.take(8));
    CHECK(second - first == 128);
    pieces.release(mark);
    CHECK(pieces.take(8) == second);
    auto* const large = static_cast<std::byte*>(pieces.take(std::size_t{3} << 20));
    CHECK(large != nullptr);
    const long before = cuda_emulator::counts().allocations;
    pieces.release();
    CHECK(pieces.take(100) == first);
    CHECK(pieces.take(std::size_t{3} << 20) == large);  // the first piece is too small for it
    CHECK(cuda_emulator::counts().allocations == before);
  }
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("what is uploaded is downloaded, and R37 names a card that is not there") {
  cuda_emulator::reset({.seed = 3, .devices = 1});
  {
    Card card{0, {.workspace_bytes = 4096}};
    const auto there = compute_room::card_memory<float>(4, "four numbers");
    const std::vector<float> given{1, 2, 3, 4};
    std::vector<float> back(4);
    card.upload(there.get(), given.data(), 16);
    card.download(back.data(), there.get(), 16);
    CHECK(back == given);
    CHECK_THROWS_WITH_AS(Card(1, {.workspace_bytes = 4096}),
                         "[heddle.R37] card 1 was asked for, but this process sees 1 card, counted from 0. Fix: name one of them, or look at "
                         "CUDA_VISIBLE_DEVICES.",
                         Error);
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("copies to and from a card are made with that card as the thread's own, which has its own again behind them") {
  cuda_emulator::reset({.seed = 3, .devices = 2});
  {
    Card card{1, {.workspace_bytes = 4096}};
    const auto current = [] {
      int now = -1;
      compute_room::check_cuda(cudaGetDevice(&now), "cudaGetDevice");
      return now;
    };
    std::vector<int> seen;
    card.wait_by([&] {
      seen.push_back(current());
      compute_room::wait_for(card.stream());
    });
    const auto on_card_1 = [] {
      const backend_room::CurrentCard here{1};
      return compute_room::card_memory<float>(4, "four numbers");
    };
    const auto there = on_card_1();
    std::vector<float> numbers{1, 2, 3, 4};
    card.upload(there.get(), numbers.data(), 16);
    card.download(numbers.data(), there.get(), 16);
    CHECK(seen == std::vector<int>{1, 1});
    CHECK(current() == 0);
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("sums of logical devices have the bits of the tree of the host, in place or for one of them; more than 64 are refused") {
  cuda_emulator::reset({.seed = 3});
  {
    Card card{0, {.workspace_bytes = 4096}};
    CardMover mover{card};
    constexpr int members = 5;
    constexpr std::int64_t n = 700;
    std::vector<std::vector<float>> host(members, std::vector<float>(n));
    for (int m = 0; m < members; ++m)
      for (std::int64_t i = 0; i < n; ++i)
        host[static_cast<std::size_t>(m)][static_cast<std::size_t>(i)] = static_cast<float>((17 * m + 3 * i) % 97) / 31.0F;
    const auto there = compute_room::card_memory<float>(members * n, "terms");
    std::vector<float*> to;
    std::vector<const float*> from;
    std::vector<float*> of_host;
    for (int m = 0; m < members; ++m) {
      card.upload(there.get() + m * n, host[static_cast<std::size_t>(m)].data(), n * sizeof(float));
      to.push_back(there.get() + m * n);
      from.push_back(there.get() + m * n);
      of_host.push_back(host[static_cast<std::size_t>(m)].data());
    }
    to[3] = nullptr;
    mover.sum(to.data(), from.data(), members, n);
    const std::vector<float> before = host[3];
    transport_room::tree_sum_to_all(of_host.data(), members, 0, n);
    for (int m = 0; m < members; ++m) {
      std::vector<float> back(n);
      card.download(back.data(), there.get() + m * n, n * sizeof(float));
      CHECK(back == (m == 3 ? before : host[static_cast<std::size_t>(m)]));
    }
    CHECK_THROWS_WITH_AS(mover.sum(to.data(), from.data(), 65, n),
                         doctest::Contains("65 logical devices of one card are to be summed, and 64 can be"), Error);
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}
