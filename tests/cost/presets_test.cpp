// SPDX-License-Identifier: MIT
#include "heddle/cost/presets.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "heddle/cost/collective_time.hpp"
#include "heddle/cost/machine_check.hpp"

using namespace heddle;

TEST_CASE("machines of others can be") {
  static_assert(check(toy_machine(1, 1)).ok() && check(h100_nodes()).ok() && check(h200_nodes()).ok() && check(b200_nodes()).ok());
  static_assert(check(measured_b200_nodes()).ok());
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
  const auto seconds = [&](Axis a) { return collective_cost(h100, levels_of(h100, mesh, a), CollectiveKind::all_reduce, 100e6).seconds; };
  CHECK(4 * seconds(axis::tensor) < seconds(axis::data));
}

TEST_CASE("measured B200: collectives of 2, 4 and 8 ranks take what the source computes, its latency for each rank but one, within 4 %") {
  struct Measured {
    CollectiveKind kind;
    double fixed, latency, share;  // microseconds; of 900 GB/s of 2^30 bytes
  };
  const Machine b200 = measured_b200_nodes();
  for (const Measured& of :
       {Measured{CollectiveKind::all_gather, 23.1049, 9.1828, 0.6735}, {CollectiveKind::reduce_scatter, 25.5604, 8.0325, 0.6731}})
    for (const int ranks : {2, 4, 8})
      for (const double bytes : {0.0, 1e6, 64e6, 1e9}) {
        CAPTURE(ranks);
        CAPTURE(bytes);
        const Mesh node{{axis::tensor}, {ranks}, 1};
        const double rate = of.share * 900 * 1024 * 1024 * 1024;
        const double source = 1e-6 * (of.fixed + of.latency * (ranks - 1)) + bytes * (ranks - 1) / ranks / rate;
        const double here = collective_cost(b200, levels_of(b200, node, axis::tensor), of.kind, bytes).seconds;
        CHECK(std::abs(here / source - 1) < 0.04);
      }
}

TEST_CASE("measured B200: a message between two devices of a node takes the link of one step of a ring") {
  const Machine b200 = measured_b200_nodes();
  const Link link = b200.link(level_between(b200, 0, 7));
  CHECK(link == Link{8.6e-6, each_of(650e9)});
}
