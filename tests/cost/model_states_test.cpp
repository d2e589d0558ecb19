// SPDX-License-Identifier: MIT
#include "heddle/cost/model_states.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("what is not sliced is held by every rank, what is sliced is held once by all of them") {
  for (const int ranks : {1, 2, 64})
    for (const bool parameters : {false, true})
      for (const bool gradients : {false, true})
        for (const bool states : {false, true}) {
          const Sharding what{parameters, gradients, states};
          const BytesPerParameter kinds{2, 3, 5};
          const double whole = (parameters ? 0 : 2) + (gradients ? 0 : 3) + (states ? 0 : 5);
          const double sliced = 10 - whole;
          CHECK(ranks * model_state_bytes(kinds, 1024, ranks, what) == 1024 * (ranks * whole + sliced));
        }
}

TEST_CASE("Adam keeps 16 bytes a parameter, in full and in mixed precision") {
  static_assert(model_state_bytes(full_precision_adam, 1, 1, {}) == 16);
  CHECK(model_state_bytes(mixed_precision_adam, 1, 1, {}) == 16);
}
