// SPDX-License-Identifier: MIT
#include "heddle/backend/spmd_threads.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

using Buffer = std::vector<float>;

constexpr Mesh two_by_three{{axis::tensor, axis::data}, {2, 3}, 2};

/// The same on every rank, from numbers that are exact in float.
float number_of(Rank rank) { return static_cast<float>(1 << rank.value); }

template <class Comm> auto my_loss(Comm& comm, Distributed<float, Partial<axis::data>> local) { return all_reduce<axis::data>(comm, local); }

}  // namespace

TEST_CASE("all_reduce sums over the ranks of its axes and no others") {
  std::vector<float> over_data(6), over_both(6);
  spmd(two_by_three, [&](auto& comm) {
    const auto r = static_cast<std::size_t>(comm.rank().value);
    over_data[r] = my_loss(comm, Distributed<float, Partial<axis::data>>{number_of(comm.rank())}).value();
    over_both[r] = all_reduce<axis::data, axis::tensor>(comm, Distributed<float, Partial<axis::data, axis::tensor>>{number_of(comm.rank())}).value();
  });
  CHECK(over_data == std::vector<float>{21, 42, 21, 42, 21, 42});  // ranks 0 2 4 and 1 3 5
  CHECK(over_both == std::vector<float>(6, 63));
}

TEST_CASE("what is linear commutes with the reduction") {
  spmd(two_by_three, [](auto& comm) {
    const Distributed<float, Partial<axis::data>> a{number_of(comm.rank())};
    const Distributed<float, Partial<axis::data>> b{3 * number_of(comm.rank()) + 1};
    const auto late = all_reduce<axis::data>(comm, 2 * a - b / 4);
    const auto early = 2 * all_reduce<axis::data>(comm, a) - all_reduce<axis::data>(comm, b) / 4;
    if (late != early) throw Error{Code{'T', 1}, "not linear"};
  });
}

TEST_CASE("broadcast gives every rank the value of the root, to the last bit") {
  std::vector<float> seen(6);
  spmd(two_by_three, [&](auto& comm) {
    const float mine = comm.rank().value == 3 ? -0.0F : 1.0F;  // coordinates 1 on tensor, 1 on data
    seen[static_cast<std::size_t>(comm.rank().value)] = broadcast<axis::data, axis::tensor>(comm, mine, 1).value();
  });
  for (const float x : seen) CHECK((x == 0 && std::signbit(x)));
}

TEST_CASE("reduce_scatter and all_gather give what all_reduce gives, in the order of the ranks") {
  std::vector<Buffer> parts(6), joined(6), summed(6);
  spmd(two_by_three, [&](auto& comm) {
    const auto r = static_cast<std::size_t>(comm.rank().value);
    Buffer mine(6);
    for (std::size_t i = 0; i < 6; ++i) mine[i] = static_cast<float>(i) * number_of(comm.rank());
    const Distributed<Buffer, Partial<axis::data>> terms{mine};
    const auto part = reduce_scatter<axis::data>(comm, terms);
    parts[r] = part.part();
    joined[r] = all_gather<axis::data>(comm, part).value();
    summed[r] = all_reduce<axis::data>(comm, terms).value();
  });
  for (std::size_t r = 0; r < 6; ++r) {
    CHECK(joined[r] == summed[r]);
    CHECK(parts[r] == Buffer{summed[r][r / 2 * 2], summed[r][r / 2 * 2 + 1]});
  }
  CHECK(summed[1] == Buffer{0, 42, 84, 126, 168, 210});
}

TEST_CASE("the norm of gradients that are split over two axes clips as that of the whole") {
  std::vector<float> factors(6);
  spmd(two_by_three, [&](auto& comm) {
    const Distributed<Buffer, Shard<axis::tensor>, Shard<axis::data, 1>> mine{{static_cast<float>(comm.rank().value)}};
    const auto norm = all_reduce<axis::tensor, axis::data>(comm, squared_norm(mine));
    factors[static_cast<std::size_t>(comm.rank().value)] = clip_factor(norm, 1.0F).value();
  });
  for (const float factor : factors) CHECK(factor == 1.0F / (std::sqrt(55.0F) + 1e-6F));  // 0 + 1 + 4 + 9 + 16 + 25
}

TEST_CASE("a mean over rows that are unequal on the ranks goes through WeightedSum") {
  spmd(Mesh{{axis::data}, {3}, 1}, [](auto& comm) {
    const float rows = static_cast<float>(1 << comm.rank().value);  // 1, 2 and 4 rows, each with the value of its rank
    const Distributed<WeightedSum, Partial<axis::data>> mine{{rows * static_cast<float>(comm.rank().value), rows}};
    const Distributed<float, Mean<axis::data>> mean = mean_over<axis::data>(comm, mine);
    if (mean.value() != 10.0F / 7.0F) throw Error{Code{'T', 1}, "wrong mean"};
  });
}

TEST_CASE("a function runs on the ranks and axes of a plan") {
  struct Small : Sequential<Linear<8, 4>, Linear<4, 2>> {};
  using Training = Plan<Small, CrossEntropy, SGD, Batch<8>, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>;
  std::atomic<int> sum{0};
  spmd<Training>([&](auto& comm) {
    const Distributed<float, Partial<axis::stage, axis::data>> one{1.0F};
    sum += static_cast<int>(all_reduce<axis::data, axis::stage>(comm, one).value());
  });
  CHECK(sum == 16);
}

TEST_CASE("a rank that throws, or leaves early, ends the waits of the others") {
  const auto deadline = std::chrono::milliseconds{200};
  const Distributed<float, Partial<axis::data>> x{1.0F};
  CHECK_THROWS_WITH(spmd(two_by_three,
                         [&](auto& comm) {
                           if (comm.rank().value == 0) throw std::runtime_error("nothing to do");
                           static_cast<void>(all_reduce<axis::data>(comm, x));
                         }),
                    "nothing to do");
  CHECK_THROWS_AS(spmd(
                      two_by_three,
                      [&](auto& comm) {
                        if (comm.rank().value != 2)
                          static_cast<void>(all_reduce<axis::data>(comm, x));  // outside every Program: nothing refuses this
                      },
                      deadline),
                  RankLost);
}
