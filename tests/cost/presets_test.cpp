// SPDX-License-Identifier: MIT
#include "heddle/cost/presets.hpp"

#include <doctest/doctest.h>

#include "heddle/cost/collective_time.hpp"
#include "heddle/cost/machine_check.hpp"

using namespace heddle;

TEST_CASE("machines of others can be") {
  static_assert(check(toy_machine(1, 1)).ok() && check(h100_nodes()).ok() && check(h200_nodes()).ok() && check(b200_nodes()).ok());
  CHECK(check(toy_machine(0, 1)).code == Code{'M', 16});
}

TEST_CASE("the toy takes 0.1 s a unit of compute, 0.05 s a message and as much for its acknowledgement, 0.01 s a unit of data") {
  const Machine toy = toy_machine(1000, 4);
  CHECK(1000 * toy.per_flop == doctest::Approx(0.1));
  CHECK(toy.alpha + toy.acknowledgement == doctest::Approx(0.1));
  CHECK(4 * toy.beta == doctest::Approx(0.01));
}

TEST_CASE("figures of the datasheets, as rates") {
  CHECK(1 / h100_nodes().per_bfloat16_flop == doctest::Approx(989e12));
  CHECK(1 / h200_nodes().per_memory_byte == doctest::Approx(4.8e12));
  CHECK(h200_nodes().per_flop == h100_nodes().per_flop);
  CHECK(b200_nodes().memory == 180_GB);
  CHECK(1 / b200_nodes().levels[0].beta == doctest::Approx(2 / h100_nodes().levels[0].beta));
}

TEST_CASE("eight devices of a node reduce faster than eight of as many nodes") {
  const Machine h100 = h100_nodes();
  const Mesh mesh{{axis::tensor, axis::data}, {8, 8}, 2};
  const auto seconds = [&](Axis a) { return collective_cost(h100, spread_of(h100, mesh, a), CollectiveKind::all_reduce, 100e6).seconds; };
  CHECK(4 * seconds(axis::tensor) < seconds(axis::data));
}
