// SPDX-License-Identifier: MIT
#include "heddle/report/memory_svg.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "report/svg_reader.hpp"
#include "report/timelines.hpp"

using namespace heddle;
using namespace heddle::tests;

TEST_CASE("memory is level from one moment to the next, until the step ends") {
  const auto curves = memory_curves(two_stages(), {"s", 1}, 100);
  REQUIRE(curves.size() == 2);
  CHECK(curves[0].name == "stage 0");
  CHECK(curves[0].points == std::vector<std::pair<double, double>>{{0, 10}, {1, 10}, {1, 18}, {7, 18}, {7, 10}, {7, 10}});
  CHECK(curves[1].points == std::vector<std::pair<double, double>>{{0, 5}, {7, 5}});
}

TEST_CASE("the picture has a curve for each device, time and bytes in units that fit, and what it is of") {
  Timeline t = two_stages();
  const std::string small = memory_svg(t);
  CHECK(fault_of_svg(small) == "");
  CHECK(small.find(">KiB<") != std::string::npos);
  CHECK(small.find(">time in s<") != std::string::npos);
  CHECK(small.find(">two stages (predicted)<") != std::string::npos);
  for (MemoryAt& m : t.memory) m.bytes = 5000 * m.bytes;
  CHECK(memory_svg(t).find(">MiB<") != std::string::npos);
}

TEST_CASE("a step whose memory nobody counted has no such picture") {
  Timeline t = two_stages();
  t.memory.clear();
  CHECK_THROWS_WITH_AS((void)memory_svg(t),
                       "[heddle.V06] nobody has counted the memory of the timeline 'two stages'. Fix: give a predicted one, or count it with "
                       "memory_in_time.",
                       Error);
}
