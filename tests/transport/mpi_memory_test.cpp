// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_memory.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

constexpr RankNeeds pair{.ranks = 2, .all_groups = 1, .members = {2}, .transfers = 1, .reductions = 4, .elements = {1000}};

}  // namespace

TEST_CASE("the scratch of a sum is a slice of whole lines for each member") {
  RankNeeds nothing = pair;
  nothing.elements = {};
  constexpr std::int64_t line = 64;
  CHECK(mpi_memory(pair) - mpi_memory(nothing) == Bytes{2 * (32 - 1) * line});  // 500 floats fill 32 lines
  RankNeeds both = pair;
  both.all_groups = 2;
  both.members = {2, 2};
  CHECK(mpi_memory(both) < 2 * mpi_memory(pair) - Bytes{4000});  // each group has what its own sums take
  CHECK(mpi_memory(both) > mpi_memory(pair));
}

TEST_CASE("every start that may be pending has a place") {
  RankNeeds more = pair;
  more.transfers = 100;
  CHECK(mpi_memory(more) - mpi_memory(pair) >= 2 * 2 * 99 * MpiTransfer::memory());
  RankNeeds later = pair;
  later.reductions = 104;
  CHECK(mpi_memory(later) - mpi_memory(pair) >= 100 * MpiCollective::memory(2));
}
