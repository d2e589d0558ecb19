// SPDX-License-Identifier: MIT
#include "heddle/plan/check/restated.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/lower/collectives.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

BatchDivision divided(int micro_rows, int grain_rows, int rounds, int micro_batches, bool tree) {
  BatchDivision batch;
  batch.micro_rows = micro_rows;
  batch.grain_rows = grain_rows;
  batch.rounds = rounds;
  batch.micro_batches = micro_batches;
  batch.tree = tree;
  return batch;
}

}  // namespace

TEST_CASE("slices that are stepped are gathered where each rank keeps the parameters whole") {
  CHECK(gathers_what_is_stepped(Trained<Chain, Sharded<2, OptimizerState>>::training.storage));
  CHECK(gathers_what_is_stepped(Trained<Chain, Sharded<2, Gradients>>::training.storage));
  CHECK(!gathers_what_is_stepped(Trained<Chain, Sharded<2>>::training.storage));
  CHECK(!gathers_what_is_stepped(Trained<Chain, DataParallel<2>>::training.storage));
  for (const bool parameters : {false, true})
    for (const bool states : {false, true}) {
      Storage kept;
      kept.parts = 2;
      kept.parameters = parameters;
      kept.states = states;
      CHECK(gathers_what_is_stepped(kept) == kept.gathers_after_step());
      CHECK(slices_of(kept, kept.parameters) == kept.parameter_parts());
      CHECK(slices_of(kept, kept.states) == kept.state_parts());
    }
}

TEST_CASE("a layer has gradients of all its parameters, or of none if it is frozen") {
  Node node;
  for (node.parameter_count = 0; node.parameter_count <= Leaf::most_parameters; ++node.parameter_count)
    for (const int frozen : {0, node.parameter_count}) {
      node.frozen_count = frozen;
      CHECK(gradients_of(node) == node.trained_count());
      CHECK(gradients_of(node) == (frozen == 0 ? node.parameter_count : 0));
    }
}

TEST_CASE("there is a copy of the gradients for each sum of the tree that may be open, and one without a tree") {
  CHECK(gradient_copies(divided(64, 8, 1, 1, true)) == 4);
  CHECK(gradient_copies(divided(64, 8, 1, 1, false)) == 1);
  CHECK(grains_of_step(divided(16, 4, 3, 2, true)) == 24);
  for (int grains = 1; grains <= 70; ++grains)
    for (const int rounds : {1, 2, 5}) {
      const BatchDivision batch = divided(3 * grains, 3, rounds, 2, true);
      CHECK(gradient_copies(batch) == batch.levels());
      CHECK(grains_of(batch) == batch.grains());
      CHECK(grains_of_step(batch) == batch.rank_grains());
    }
}

TEST_CASE("parameters of a bucket begin where its gradients do, or where another layer keeps them") {
  FlatBucket bucket;
  bucket.begin = 4096;
  CHECK(begin_of_values(bucket) == 4096);
  CHECK(begin_of_values(bucket) == bucket.values());
  bucket.owner_begin = 0;
  CHECK(begin_of_values(bucket) == 0);
  CHECK(begin_of_values(bucket) == bucket.values());
}

TEST_CASE("ranks tell each other the squares of each unit, and flags, at the places that the lowering gives them") {
  Program p;
  p.unit_count = 3;
  for (const bool clips : {false, true})
    for (const bool scales : {false, true})
      for (const bool guards : {false, true}) {
        p.clips = clips;
        p.scales_loss = scales;
        p.guards = guards;
        CHECK(floats_of_norm(p) == p.norm_floats());
        CHECK(floats_of_norm(p) == (clips ? 3 : 0) + (scales ? 1 : 0) + (guards ? 1 : 0));
        if (scales) CHECK(place_of_overflow(p) == p.before_step().place(Fact::overflow, 3));
        if (guards) CHECK(place_of_guard(p) == p.before_step().place(Fact::loss, 3));
      }
}

TEST_CASE("what is told along an axis is what the lowering tells there, of all options and over all axes") {
  Graph graph;
  for (const bool split : {false, true})
    for (int options = 0; options < 8; ++options) {
      Layout layout{graph};
      for (const Axis a : {Axis::data, Axis::shard, Axis::tensor, Axis::stage}) layout.claim(a, 2);
      layout.batch_split[static_cast<int>(Axis::data)] = true;
      layout.batch_split[static_cast<int>(Axis::shard)] = split;
      Program p;
      p.mesh = layout.mesh;
      for (int a = 0; a < axis_count; ++a) p.batch_split[a] = layout.batch_split[a];
      p.unit_count = 3;
      p.clips = (options & 1) != 0;
      p.scales_loss = (options & 2) != 0;
      p.guards = (options & 4) != 0;
      p.storage = {.axis = Axis::shard, .parts = split ? 2 : 1, .states = split};
      for (const Axis a : {Axis::data, Axis::shard, Axis::tensor, Axis::stage}) {
        const ToldAlong lowered{a, p.before_step(), 3, layout, p.storage};
        const FloatsToTell checked = told_along(p, a);
        CHECK(checked.count == lowered.count);
        if (lowered.count > 0) CHECK(checked.begin == lowered.begin);
      }
    }
}
