// SPDX-License-Identifier: MIT
#include "heddle/plan/read/timeline.hpp"

#include <doctest/doctest.h>

using namespace heddle::extending;

namespace {

Span compute(int device, double begin, double end) {
  Span span;
  span.device = device;
  span.begin.value = begin;
  span.end.value = end;
  return span;
}

}  // namespace

TEST_CASE("a timeline ends with its last span, and overlapping spans of a device are busy once") {
  Timeline line;
  line.devices = {"rank 0", "rank 1"};
  line.spans = {compute(0, 0, 2), compute(0, 1, 3), compute(1, 1, 4)};
  CHECK(line.end().value == 4);
  CHECK(line.busy(0).value == 3);
  CHECK(line.busy(1).value == 3);
  CHECK(line.idle_share() == doctest::Approx(0.25));
}

TEST_CASE("what a device moves is no work of its own") {
  Timeline line;
  line.devices = {"rank 0"};
  line.spans = {compute(0, 0, 1), compute(0, 1, 4)};
  line.spans[1].lane = Lane::communication;
  CHECK(line.busy(0).value == 1);
  CHECK(line.idle_share() == doctest::Approx(0.75));
}

TEST_CASE("a step in which nothing happens waits for nothing") {
  CHECK(Timeline{}.end().value == 0);
  CHECK(Timeline{}.idle_share() == 0);
}
