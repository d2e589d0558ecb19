// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/stage_arrays.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/frozen.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Tuned : Sequential<Linear<8, 6>, Repeat<2, Residual<Frozen<Linear<6, 12>>, GELU, Linear<12, 6>>>, Frozen<Linear<6, 4>>> {};
using Sliced = RequestOf<Plan<Tuned, CrossEntropy, Adam, Batch<16>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>;

bool same(const FlatUpTo& a, const FlatUpTo& b) { return a.closed == b.closed && a.open == b.open && a.unit == b.unit; }

}  // namespace

TEST_CASE("tables that a running program allots have the same numbers as those of a constant") {
  constexpr const auto& made = CutAccount<Sliced>::memory;
  const Graph& graph = graph_of<Tuned>;
  constexpr int nodes = graph_of<Tuned>.node_count;
  const RecomputedTables<nodes> nothing;
  const StageRequest asked{graph,          Sliced::batch,         storage_of(Sliced::graph, Sliced::layout, Sliced::batch),
                           Sliced::states, Sliced::before_step(), Sliced::target_features,
                           false};
  const StageMemory<AllottedStages> shown{asked, study_values<nodes>(graph, Layout{graph}, true, nothing), nothing};
  REQUIRE(shown.pieces() == made.pieces());
  bool frozen = false;
  for (int k = 0; k <= made.pieces(); ++k) {
    CAPTURE(k);
    CHECK(shown.flops[k] == made.flops[k]);
    CHECK(shown.boundary[k] == made.boundary[k]);
    CHECK(same(shown.flat[k], made.flat[k]));
    CHECK(same(shown.frozen[k], made.frozen[k]));
    CHECK(shown.framed[k] == made.framed[k]);
    CHECK(shown.sent[k] == made.sent[k]);
    CHECK(shown.received[k] == made.received[k]);
    if (k == made.pieces()) continue;
    CHECK(shown.largest_unit[k] == made.largest_unit[k]);
    CHECK(shown.largest_frozen_unit[k] == made.largest_frozen_unit[k]);
    frozen = frozen || made.largest_frozen_unit[k] == unit_bytes;
  }
  CHECK(frozen);
}

TEST_CASE("both begin with zeros, with a place more than there are nodes") {
  constexpr StageArrays<3> made{3};
  const AllottedStages shown{3};
  for (int k = 0; k <= 3; ++k) CHECK((made.flops[k] == 0 && shown.flops[k] == 0 && made.frozen[k].closed == 0 && shown.frozen[k].closed == 0));
}
