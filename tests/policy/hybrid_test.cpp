// SPDX-License-Identifier: MIT
#include "heddle/policy/hybrid.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/data_parallel.hpp"
#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/single.hpp"
#include "policy/models.hpp"

using namespace heddle;
using tests::answer;
using tests::Chain;

TEST_CASE("Hybrid<MP, DP> has model-parallel groups of consecutive ranks and data-parallel groups across them") {
  using Two = Hybrid<Pipeline<Balanced<2>>, DataParallel<4>>;
  constexpr Layout layout = answer<Chain, Two>();
  static_assert(layout.fault.ok());
  static_assert(layout.mesh.ranks() == 8 && layout.roles() == 2 && layout.batch_ranks() == 4);
  static_assert(layout.mesh.stride(axis::stage) == 1 && layout.mesh.stride(axis::data) == 2);
  for (int r = 0; r < 8; ++r) {
    CHECK(layout.mesh.group(Rank{r}, axis::stage) == r / 2);
    CHECK(layout.mesh.group(Rank{r}, axis::data) == r % 2);
  }
}

TEST_CASE("the other nesting differs in the order of axes and in nothing else") {
  using Pipe = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
  constexpr Layout a = answer<Chain, Hybrid<Pipe, DataParallel<4>>>();
  constexpr Layout b = answer<Chain, Hybrid<DataParallel<4>, Pipe>>();
  static_assert(a.fault.ok() && b.fault.ok());
  static_assert(b.mesh.stride(axis::data) == 1 && b.mesh.stride(axis::stage) == 4);
  CHECK(a.batch_ranks() == b.batch_ranks());
  CHECK(a.micro_batches == b.micro_batches);
  CHECK(a.chunk_count == b.chunk_count);
  for (int c = 0; c < a.chunk_count; ++c) {
    CHECK(a.first_node[c + 1] == b.first_node[c + 1]);
    CHECK(a.device_of_chunk[c] == b.device_of_chunk[c]);
    CHECK(a.in_flight[c] == b.in_flight[c]);
  }
}

TEST_CASE("Hybrid of one policy is that policy, and Hybrids nest") {
  constexpr Layout one = answer<Chain, Hybrid<DataParallel<4>>>();
  static_assert(one.fault.ok() && one.mesh.ranks() == 4);
  constexpr Layout nested = answer<Chain, Hybrid<Hybrid<Single, Pipeline<Balanced<3>>>, DataParallel<2>>>();
  static_assert(nested.fault.ok() && nested.mesh.ranks() == 6);
  CHECK(nested.mesh.stride(axis::data) == 3);
}

TEST_CASE("two policies of one axis are refused with both sizes") {
  constexpr Diagnosis found = answer<Chain, Hybrid<DataParallel<4>, Pipeline<Balanced<2>>, DataParallel<2>>>().fault;
  static_assert(found.code == Code{'M', 1});
  static_assert(found.numbers[0] == 4 && found.numbers[1] == 2 && found.numbers[2] == 8);
  constexpr Diagnosis stages = answer<Chain, Hybrid<Pipeline<Balanced<2>>, Pipeline<Balanced<2>>>>().fault;
  static_assert(stages.code == Code{'M', 1});
  CHECK(stages.words.view().find("axis stage is claimed twice") != std::string_view::npos);
}

TEST_CASE("a Hybrid of nothing is refused, and one of what is no policy names it") {
  static_assert(answer<Chain, Hybrid<>>().fault.code == Code{'M', 13});
  constexpr Layout other = answer<Chain, Hybrid<DataParallel<2>, int>>();
  static_assert(other.fault.code == Code{'M', 13});
  CHECK(other.fault.words.view().find("int is no policy") != std::string_view::npos);
}
