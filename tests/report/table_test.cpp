// SPDX-License-Identifier: MIT
#include "heddle/report/table.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<64, 64, NoBias>, ReLU, Linear<64, 10, NoBias>> {};

}  // namespace

TEST_CASE("a table names devices, layers, memory and what moves") {
  using Spread = Plan<Small, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
  const std::string text = table<Spread>();
  CHECK(text.find("Small: 4 devices (stage 2 x data 2), batch 64 = 2 ranks x 2 micro-batches x 16 rows\n") == 0);
  CHECK(text.find("\n    0          0             16.0            16.0            32.0") != std::string::npos);
  CHECK(text.find("\n    1        1-2") != std::string::npos);
  // 2 replicas x 2 micro-batches x 2 directions x 16 rows x 64 features x 4 bytes; 2 (N-1) x (64 x 64 + 64 x 10) x 4 bytes
  CHECK(text.find("one step moves 32768 bytes between stages and 37888 bytes of gradients over axis data, over all ranks;") != std::string::npos);
}

TEST_CASE("the idle share of a table is that of the stages as they are, the one that docs/tour.md prints") {
  struct Mnist : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
  using Both = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
  CHECK(table<Both>().ends_with(
      "one step moves 25600 bytes between stages and 318080 bytes of gradients over axis data, over all ranks; stages idle 49.0 % if only work takes "
      "time\n"));
  static_assert(bubble_percent(Both::training) == 49);  // 20 if the stages were equal
}

TEST_CASE("one device has no axis, moves nothing and is never idle") {
  using Alone = Plan<Small, CrossEntropy, SGD, Batch<64>, Single>;
  const std::string text = table<Alone>();
  CHECK(text.find("Small: 1 device (no axis)") == 0);
  CHECK(text.find("one step moves 0 bytes between stages, over all ranks; stages idle 0.0 %") != std::string::npos);
}

TEST_CASE("a table says what the backward runs again") {
  struct Deep : Sequential<Linear<64, 64>, Repeat<3, Sequential<Linear<64, 32, NoBias>, Tanh, Linear<32, 64>>>, Linear<64, 10>> {};
  using Again = Plan<Deep, CrossEntropy, SGD, Batch<64>, Single, Recompute<EveryBlock>>;
  constexpr std::int64_t operations = 3 * (2 * 64 * 32 + graph_of<Deep>.leaf(2).forward_flops);
  CHECK(table<Again>().find("; the backward runs " + std::to_string(operations) + " operations of a row's forward again,") != std::string::npos);
}

TEST_CASE("a device that holds two parts lists the layers of both") {
  struct A : Linear<64, 64, NoBias> {};
  struct B : Linear<64, 10, NoBias> {};
  struct Parts : Sequential<A, ReLU, B> {};
  using Back = Plan<Parts, CrossEntropy, SGD, Batch<64>, Pipeline<Stage<A, On<0>>, Stage<ReLU, On<1>>, Stage<B, On<0>>>>;
  CHECK(table<Back>().find("\n    0       0, 2") != std::string::npos);
}
