// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/shared_tables.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Entries that both modes have, and what is set aside for them.
template <class P> void has_room() {
  using Train = Lowered<typename P::Request, true>;
  using Evaluate = Lowered<typename P::Request, false>;
  static_assert(Train::all_bodies.entry_count <= Train::most_entries && Evaluate::all_bodies.entry_count <= Evaluate::most_entries);
  CHECK(Train::fault.ok());
  CHECK(Evaluate::fault.ok());
}

}  // namespace

TEST_CASE("what is set aside for entries is enough: skips, splits, slices, layers that run again") {
  has_room<Trained<Chain, Single>>();
  has_room<Trained<Skips, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>, Recompute<GELU, Tanh>>>();
  has_room<Trained<Skips, Hybrid<TensorParallel<2>, Sharded<2>>, Clip<GlobalNorm>, LossScaling>>();
}

TEST_CASE("in evaluation no gradient is reduced and nothing is tied") {
  constexpr const SharedTables& tables = SharedPhases<Trained<Chain, DataParallel<2>>::Request>::tables;
  static_assert(tables.emit_input(nullptr, 0, true).bucket_count > 0);
  CHECK(tables.emit_input(nullptr, 0, false).bucket_count == 0);
  CHECK_FALSE(tables.body_input(false).training);
}
