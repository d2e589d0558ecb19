// SPDX-License-Identifier: MIT
#include "heddle/cost/price_list.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Deep : Repeat<2, Linear<16, 16, NoBias>> {};
template <class Policy> using Of = Plan<Deep, MeanSquaredError, SGD, Batch<16>, Policy>;
constexpr double product = 2.0 * 16 * 16;

const Instruction& first_of(const Program& p, ListOp op) {
  int i = p.lists[0].begin;
  while (p.instructions[i].op != op) ++i;
  return p.instructions[i];
}

}  // namespace

TEST_CASE("a body without waits has one price, the sum of its entries; one that waits has none") {
  const Program& p = Of<DataParallel<2>>::training;
  const Machine flops{};
  const PriceList prices{p, flops, false};
  CHECK(prices.body(0, first_of(p, ListOp::forward)) == 8 * 2 * product);
  CHECK(prices.body(0, first_of(p, ListOp::backward)) < 0);  // it starts a reduction
  double sum = 0;
  for (int e = p.backward_bodies[0].begin; e < p.backward_bodies[0].end; ++e) sum += prices.entry(0, e);
  CHECK(sum == 8 * 3 * product);  // the first layer makes no gradient of its input
  CHECK(PriceList{Of<Single>::training, flops, false}.body(0, first_of(Of<Single>::training, ListOp::backward)) == 16 * 3 * product);
}

TEST_CASE("shares of a batch that differ are priced apart where devices are ranks") {
  const Program& p = Of<WeightedDataParallel<3, 1>>::training;
  const Machine flops{};
  const PriceList by_rank{p, flops, true}, by_role{p, flops, false};
  const Instruction& forward = first_of(p, ListOp::forward);
  CHECK(by_rank.body(by_rank.variant(0), forward) == 12 * 2 * product);
  CHECK(by_rank.body(by_rank.variant(1), forward) == 4 * 2 * product);
  CHECK(by_role.variant(1) == 0);
  CHECK(by_role.body(0, forward) == 12 * 2 * product);
}

TEST_CASE("a collective costs what its algorithm does over the links of its axis") {
  const Program& p = Of<DataParallel<4>>::training;
  const Machine machine{.alpha = 1};
  int of_gradients = -1;
  for (int c = 0; c < p.collective_count; ++c)
    if (p.collectives[c].purpose == Purpose::gradient) of_gradients = c;
  REQUIRE(of_gradients >= 0);
  CHECK(PriceList{p, machine, false}.collective(of_gradients).seconds == 6);
}
