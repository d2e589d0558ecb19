// SPDX-License-Identifier: MIT
#include "heddle/mesh/statistics.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "mesh/echo.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::says;
using tests::Echo;

TEST_CASE("the mean of means of as many rows is the mean of all rows; with other counts it is not, and is refused") {
  constexpr auto both = average(MeanOf<2>{3.0F}, MeanOf<2>{5.0F});  // rows 2 4, 5 5
  static_assert(std::is_same_v<decltype(both), const MeanOf<4>> && both.mean == 4.0F);
  CHECK(Averaging<32, 16>::found.code == Code{'P', 16});
  CHECK(says(Averaging<32, 16>::found, "means of 32 and 16 rows"));
  CHECK(Averaging<32, 32>::found.ok());
}

TEST_CASE("a weighted sum gives the mean over rows that are counted at run time") {
  const WeightedSum a{6, 3};  // rows 1 2 3
  const WeightedSum b{9, 1};  // row 9
  CHECK((a + b).sum() / (a + b).weight() == 3.75F);
}

TEST_CASE("sum_over and mean_over say what they took") {
  Echo comm{axis::data, 4, axis::shard, 2};
  const auto sum = sum_over<axis::data>(comm, Distributed<float, Partial<axis::data>>{3.0F});
  static_assert(std::is_same_v<decltype(sum), const Distributed<float, Sum<axis::data>>>);
  CHECK(sum.value() == 12.0F);
  const auto mean = mean_over<axis::data>(comm, Distributed<MeanOf<32>, Partial<axis::data>>{MeanOf<32>{3.0F}});
  static_assert(std::is_same_v<decltype(mean), const Distributed<float, Mean<axis::data>>>);
  CHECK(mean.value() == 3.0F);
  const auto weighted = mean_over<axis::data, axis::shard>(comm, Distributed<WeightedSum, Partial<axis::data, axis::shard>>{WeightedSum{6, 4}});
  static_assert(std::is_same_v<decltype(weighted), const Distributed<float, Mean<axis::shard, axis::data>>>);
  CHECK(weighted.value() == 1.5F);
  CHECK(comm.calls == "all_reduce data 1; all_reduce data 1; all_reduce data 2; all_reduce shard 2; ");
}

TEST_CASE("a mean of what does not say its rows, or over some of the axes only, is refused") {
  CHECK(mean_is_sound<Distributed<float, Partial<axis::data>>, axis::data>().code == Code{'P', 16});
  CHECK(mean_is_sound<Distributed<WeightedSum, Partial<axis::data, axis::shard>>, axis::data>().code == Code{'P', 14});
  CHECK(mean_is_sound<Distributed<WeightedSum, Partial<axis::data>>, axis::shard>().code == Code{'P', 13});
  CHECK(mean_is_sound<float, axis::data>().code == Code{'P', 18});
  CHECK(mean_is_sound<Distributed<WeightedSum, Partial<axis::data>>, axis::data>().ok());
}
