// SPDX-License-Identifier: MIT
#include "equivalence/random_plans.hpp"

TEST_CASE("plans that the seeds from 256 draw train to the bits of one device, and move and hold what they state") {
  equivalence::check_seeds<256, 14, 8>();
}

TEST_CASE("a plan whose loss runs away says so in the step of one device, and has its bits until then") { equivalence::check_seed<1228>(); }
