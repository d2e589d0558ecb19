// SPDX-License-Identifier: MIT
#include "equivalence/random_plans.hpp"

TEST_CASE("plans that the seeds from 256 draw train to the bits of one device, and move and hold what they state") {
  equivalence::check_seeds<256, 14, 8>();
}
