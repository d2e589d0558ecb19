// SPDX-License-Identifier: MIT
#include "heddle/cost/machine.hpp"

#include <doctest/doctest.h>

TEST_CASE("a machine that names nothing has free links, so only work takes time") {
  constexpr heddle::Machine machine;
  static_assert(machine.alpha == 0 && machine.beta == 0 && machine.per_flop == 1);
  CHECK(machine.per_flop > 0);
}
