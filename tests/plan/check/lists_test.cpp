// SPDX-License-Identifier: MIT
#include "heddle/plan/check/lists.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;

TEST_CASE("an event is a compute with nobody at the other end until said") {
  constexpr Event event;
  static_assert(event.kind == EventKind::compute && event.peer == -1 && event.start == -1 && event.elements == 0);
  CHECK(event.kind == EventKind::compute);
}

TEST_CASE("lists written by hand are a constant expression: role r has events begins[r] to begins[r + 1]") {
  static constexpr Event events[] = {
      {EventKind::send_start, 1, -1, 8},
      {EventKind::send_wait, 1, 0, 8},  // role 0
      {EventKind::receive_start, 0, -1, 8},
      {EventKind::receive_wait, 0, 2, 8},  // role 1
  };
  static constexpr int begins[] = {0, 2, 4};
  constexpr EventLists lists{events, begins, 2};
  static_assert(lists.begins[lists.roles] == sizeof events / sizeof events[0]);
  constexpr Diagnosis found = [] {
    RendezvousBuffers<4, 2> buffers;
    return check_rendezvous(EventLists{events, begins, 2}, Lanes::one_per_device, buffers.view());
  }();
  static_assert(found.ok());
  CHECK(found.ok());
}

TEST_CASE("no lists at all are lists that end") {
  constexpr Diagnosis found = [] {
    const int begins[] = {0};
    RendezvousBuffers<1, 1> buffers;
    return check_rendezvous(EventLists{nullptr, begins, 0}, Lanes::free, buffers.view());
  }();
  static_assert(found.ok());
  CHECK(EventLists{}.roles == 0);
}
