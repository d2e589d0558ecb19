// SPDX-License-Identifier: MIT
#include "heddle/transport/mismatch.hpp"

#include <doctest/doctest.h>

TEST_CASE("two counts for one transfer are named with both ranks, the sequence and the remedy") {
  const heddle::Error error = heddle::counts_differ("rank 0 sends", 8, "rank 1 receives", 9, 3);
  CHECK(error.code() == heddle::Code{'T', 1});
  CHECK(std::string{error.what()} ==
        "[heddle.T01] rank 0 sends 8 elements, rank 1 receives 9, sequence 3. Nothing was moved. Fix: start both with the same count, in the same "
        "order.");
}
