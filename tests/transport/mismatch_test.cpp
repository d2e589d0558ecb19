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

TEST_CASE("two kinds for one collective are named with both ranks and counts") {
  const heddle::Error error = heddle::collectives_differ(0, {heddle::Movement::all_gather, 8}, 2, {heddle::Movement::all_reduce, 9}, 3);
  CHECK(error.code() == heddle::Code{'T', 1});
  CHECK(std::string{error.what()} ==
        "[heddle.T01] rank 0 starts all-gather of 8 elements, rank 2 starts all-reduce of 9, sequence 3. Nothing was moved. Fix: start both with the "
        "same count, in the same order.");
}
