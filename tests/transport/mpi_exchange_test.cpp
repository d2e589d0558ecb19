// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_exchange.hpp"

#include <doctest/doctest.h>

#include <thread>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using heddle::tests::FirstRanks;

TEST_CASE("the odd ranks are those that differ from most") {
  const Pledge a{1, 4}, b{2, 4}, c{1, 2};
  CHECK(odd_ranks({a, a, a}).empty());
  CHECK(odd_ranks({a, b, a, a}) == std::vector<int>{1});
  CHECK(odd_ranks({b, a, a, c}) == std::vector<int>{0, 3});
  CHECK(odd_ranks({a, b}) == std::vector<int>{1});
  CHECK(ranks_in_words({2}) == "rank 2");
  CHECK(ranks_in_words({0, 1}) == "ranks 0 and 1");
  CHECK(ranks_in_words({0, 1, 3}) == "ranks 0, 1 and 3");
}

TEST_CASE("everybody has what the owner had, whoever it is") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  MpiShare share{comm};
  for (int owner = 0; owner < 4; ++owner)
    for (const std::size_t bytes : {0U, 1U, 100000U}) {
      std::vector<std::byte> values(bytes, static_cast<std::byte>(comm.rank() + 1));
      share.start(owner, values);
      CHECK(share.needs(owner));
      while (!share.done()) std::this_thread::yield();
      CHECK(values == std::vector<std::byte>(bytes, static_cast<std::byte>(owner + 1)));
    }
  CHECK(share.describe() == "sharing what rank 3 holds");
}

TEST_CASE("processes that pledge the same agree, others are named everywhere") {
  const FirstRanks ranks{4};
  MpiCommunicator comm{ranks.get(), std::chrono::minutes{2}};
  const auto agree = [&](Pledge mine) {
    MpiAgreement agreement{comm, mine};
    while (!agreement.done()) std::this_thread::yield();
    agreement.check();
  };
  CHECK_NOTHROW(agree({7, 4}));
  CHECK_THROWS_WITH_AS(agree({comm.rank() == 3 ? 8U : 7U, 4}), doctest::Contains("[heddle.R08] rank 3 runs another program than ranks 0, 1 and 2."),
                       Error);
  CHECK_THROWS_WITH_AS(agree({7, comm.rank() < 2 ? 2 : 4}), doctest::Contains("ranks 2 and 3 run another program than ranks 0 and 1."), Error);
}
