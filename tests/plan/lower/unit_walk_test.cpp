// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/unit_walk.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/one_unit.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// A body in letters: g and G a gather's start and wait, L a layer with parameters (I and W its parts in a split
/// backward), r and R a reduction's start and wait; each with its unit.
std::string spelled(const Program& p, const IndexRange& body) {
  std::string out;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    const auto add = [&](char letter, int unit) { out += (out.empty() ? "" : " ") + std::string{letter} + std::to_string(unit); };
    if (entry.what == BodyOp::gather_start) add('g', entry.bucket);
    if (entry.what == BodyOp::gather_wait) add('G', entry.bucket);
    if (entry.what == BodyOp::reduce_start) add('r', entry.bucket);
    if (entry.what == BodyOp::reduce_wait) add('R', entry.bucket);
    if (entry.what == BodyOp::leaf_backward_input && p.graph->nodes[entry.node].parameter_count > 0) add('I', p.bucket_of_node[entry.node]);
    if (entry.what == BodyOp::leaf_backward_weight) add('W', p.bucket_of_node[entry.node]);
    if ((entry.what == BodyOp::leaf_forward || entry.what == BodyOp::leaf_backward) && p.graph->nodes[entry.node].parameter_count > 0)
      add('L', p.bucket_of_node[entry.node]);
  }
  return out;
}

template <class Model, class Slices> using Split = Trained<Model, Hybrid<Pipeline<Balanced<1>, ZeroBubbleH1, Microbatches<2>>, Slices>>;

}  // namespace

TEST_CASE("the next unit is gathered while one computes, and a gradient's place is written again two units later") {
  const Program& p = training_of<Trained<Chain, Sharded<2>>>();  // units from the last layer on: 0, 1, 2
  CHECK(spelled(p, p.forward_bodies[0]) == "g2 G2 g1 L2 G1 g0 L1 G0 L0");
  CHECK(spelled(p, p.backward_bodies[0]) == "g0 G0 g1 L0 r0 G1 g2 L1 r1 G2 R0 L2 r2 R1 R2");
}

TEST_CASE("parameters that stay whole are not gathered, gradients that stay whole are waited for at the end of the step") {
  const Program& kept = training_of<Trained<Chain, Sharded<2, Gradients>>>();
  CHECK(spelled(kept, kept.forward_bodies[0]) == "L2 L1 L0");
  CHECK(spelled(kept, kept.backward_bodies[0]) == "L0 r0 L1 r1 R0 L2 r2 R1 R2");
  const Program& whole = training_of<Trained<Chain, Sharded<2>, Grain<4>>>();
  CHECK(spelled(whole, whole.backward_bodies[0]) == "g0 G0 g1 L0 r0 G1 g2 L1 r1 G2 L2 r2");
}

TEST_CASE("units that are kept are gathered in the forward of the first micro-batch and in no backward") {
  const Program& p = training_of<Trained<Chain, Sharded<2, Keep::Step>>>();
  CHECK(spelled(p, p.forward_bodies[0]) == "g2 G2 g1 L2 G1 g0 L1 G0 L0");
  CHECK(spelled(p, p.backward_bodies[0]) == "L0 r0 L1 r1 R0 L2 r2 R1 R2");
  for (int e = p.forward_bodies[0].begin; e < p.backward_bodies[0].end; ++e) {
    const bool gathers = p.entries[e].what == BodyOp::gather_start || p.entries[e].what == BodyOp::gather_wait;
    CHECK((p.entries[e].when == When::first_micro_batch) == gathers);
  }
}

TEST_CASE("the parts of a split backward gather what they read, and the part that makes gradients of parameters reduces them") {
  const Program& p = training_of<Split<Chain, Sharded<2>>>();  // the first layer has no part for its input
  CHECK(spelled(p, p.forward_bodies[0]) == "g2 G2 g1 L2 G1 g0 L1 G0 L0");
  CHECK(spelled(p, p.backward_bodies[0]) == "g0 G0 g1 I0 G1 I1");
  CHECK(spelled(p, p.weight_bodies[0]) == "W0 r0 W1 r1 R0 W2 r2 R1 R2");
  const Program& kept = training_of<Split<Chain, Sharded<2, Keep::Step>>>();
  CHECK(spelled(kept, kept.backward_bodies[0]) == "I0 I1");
  CHECK(spelled(kept, kept.weight_bodies[0]) == "W0 r0 W1 r1 R0 W2 r2 R1 R2");
}

TEST_CASE("a unit that is gathered two units after one of the same slot waits until that is done") {
  const Program& p = training_of<Split<Blended, Sharded<2>>>();
  CHECK(spelled(p, p.backward_bodies[0]) == "g0 G0 g1 I0 G1 g2 I1 G2 g3 I2 G3 I3");
  CHECK(spelled(p, p.weight_bodies[0]) == "g1 W0 r0 G1 W1 r1 g3 R0 W2 r2 G3 R1 W3 r3 R2 W4 r4 R3 R4");
  const Program& kept = training_of<Split<Blended, Sharded<2, Keep::Step>>>();
  CHECK(spelled(kept, kept.weight_bodies[0]) == "W0 r0 W1 r1 R0 W2 r2 R1 W3 r3 R2 W4 r4 R3 R4");
}

TEST_CASE("a block of a Repeat is one unit, and a walk stays within its chunk") {
  const Program& blocks = training_of<Trained<Skips, Sharded<2>>>();
  CHECK(blocks.bucket_count == 6);  // residuals outside a Repeat: every layer is a unit
  struct Repeated : Sequential<Linear<8, 6>, Repeat<3, Block>, Linear<6, 3>> {};
  const Program& repeated = training_of<Trained<Repeated, Sharded<2>>>();
  CHECK(repeated.bucket_count == 5);
  CHECK(spelled(repeated, repeated.forward_bodies[0]) == "g4 G4 g3 L4 G3 g2 L3 L3 G2 g1 L2 L2 G1 g0 L1 L1 G0 L0");
  const Program& staged = training_of<Trained<Chain, Hybrid<Pipeline<Balanced<2>>, Sharded<2>>>>();
  for (int c = 0; c < 2; ++c) CHECK(spelled(staged, staged.forward_bodies[c]).substr(0, 1) == "g");
}

TEST_CASE("frozen units are gathered in a ring of their own, also beside trained ones of one block, and in a backward only where a gradient passes") {
  // layer 0 is frozen in front; the block has a frozen and a trained layer; the last is frozen. Trained units are 0 and 1, frozen ones 2, 3 and 4.
  struct Adapted : Sequential<Frozen<Linear<8, 6>>, Tanh, Linear<6, 6>, OneUnit<Frozen<Linear<6, 12>>, GELU, Linear<12, 6>>, Frozen<Linear<6, 4>>> {};
  const Program& p = training_of<Trained<Adapted, Sharded<2>>>();
  CHECK(spelled(p, p.forward_bodies[0]) == "g1 g4 G4 g3 L4 G1 g0 L1 G3 g2 L3 G0 L0 G2 L2");
  CHECK(spelled(p, p.backward_bodies[0]) == "g0 g2 G2 g3 I2 G0 g1 L0 r0 G3 I3 G1 L1 r1 R0 R1");
  const Program& kept = training_of<Trained<Adapted, Sharded<2, Keep::Step>>>();
  CHECK(spelled(kept, kept.forward_bodies[0]) == spelled(p, p.forward_bodies[0]));
  CHECK(spelled(kept, kept.backward_bodies[0]) == "I2 L0 r0 I3 L1 r1 R0 R1");
  const Program& whole = training_of<Trained<Adapted, Sharded<2, Gradients>>>();
  CHECK(whole.frozen_count == 0);
  const Program& halves = training_of<Split<Adapted, Sharded<2>>>();
  CHECK(spelled(halves, halves.backward_bodies[0]) == "g0 g2 G2 g3 I2 G0 I0 G3 I3");
  CHECK(spelled(halves, halves.weight_bodies[0]) == "W0 r0 W1 r1 R0 R1");
}
