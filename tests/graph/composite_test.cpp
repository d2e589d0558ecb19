// SPDX-License-Identifier: MIT
#include "heddle/graph/composite.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/sequential.hpp"

using namespace heddle;

namespace {

struct Open : Sequential<ReLU> {};
class Closed : Sequential<ReLU> {};
class StillOpen : public Sequential<ReLU> {};

/// Notes the positions that it is shown.
struct Positions {
  int sum = 0;
  int count = 0;
  template <class...> constexpr void siblings() {}
  template <class L> constexpr int child(int position, int value) {
    sum += position;
    ++count;
    return value + 1;
  }
};

}  // namespace

TEST_CASE("a class that inherits its layers privately is known by them") {
  static_assert(!hides_its_layers<Open>() && !hides_its_layers<StillOpen>() && !hides_its_layers<Sequential<ReLU>>());
  static_assert(!hides_its_layers<int>() && !hides_its_layers<ReLU>() && !hides_its_layers<void>());
  CHECK(hides_its_layers<Closed>());
}

TEST_CASE("children are visited in order, each with what the one before it gave") {
  Positions seen;
  CHECK(trace_children<ReLU, ReLU, ReLU>(seen, 7) == 10);
  CHECK(seen.count == 3);
  CHECK(seen.sum == 3);
  CHECK(trace_children<>(seen, 7) == 7);
}
