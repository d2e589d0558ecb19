// SPDX-License-Identifier: MIT
#include "heddle/plan/unit_walk.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// A body in letters: g and G a gather's start and wait, L a layer with parameters, r and R a reduction's start and wait; each with its unit.
std::string spelled(const Program& p, const IndexRange& body) {
  std::string out;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    const auto add = [&](char letter, int unit) { out += (out.empty() ? "" : " ") + std::string{letter} + std::to_string(unit); };
    if (entry.what == Do::gather_start) add('g', entry.bucket);
    if (entry.what == Do::gather_wait) add('G', entry.bucket);
    if (entry.what == Do::reduce_start) add('r', entry.bucket);
    if (entry.what == Do::reduce_wait) add('R', entry.bucket);
    if ((entry.what == Do::leaf_forward || entry.what == Do::leaf_backward) && p.graph->nodes[entry.node].parameter_count > 0)
      add('L', p.bucket_of_node[entry.node]);
  }
  return out;
}

}  // namespace

TEST_CASE("the next unit is gathered while one computes, and a gradient's place is written again two units later") {
  const Program& p = Trained<Chain, Sharded<2>>::training;  // units from the last layer on: 0, 1, 2
  CHECK(spelled(p, p.forward_bodies[0]) == "g2 G2 g1 L2 G1 g0 L1 G0 L0");
  CHECK(spelled(p, p.backward_bodies[0]) == "g0 G0 g1 L0 r0 G1 g2 L1 r1 G2 R0 L2 r2 R1 R2");
}

TEST_CASE("parameters that stay whole are not gathered, gradients that stay whole are waited for at the end of the step") {
  const Program& kept = Trained<Chain, Sharded<2, Gradients>>::training;
  CHECK(spelled(kept, kept.forward_bodies[0]) == "L2 L1 L0");
  CHECK(spelled(kept, kept.backward_bodies[0]) == "L0 r0 L1 r1 R0 L2 r2 R1 R2");
  const Program& whole = Trained<Chain, Sharded<2>, Grain<4>>::training;
  CHECK(spelled(whole, whole.backward_bodies[0]) == "g0 G0 g1 L0 r0 G1 g2 L1 r1 G2 L2 r2");
}

TEST_CASE("units that are kept are gathered in the forward of the first micro-batch and in no backward") {
  const Program& p = Trained<Chain, Sharded<2, Keep::Step>>::training;
  CHECK(spelled(p, p.forward_bodies[0]) == "g2 G2 g1 L2 G1 g0 L1 G0 L0");
  CHECK(spelled(p, p.backward_bodies[0]) == "L0 r0 L1 r1 R0 L2 r2 R1 R2");
  for (int e = p.forward_bodies[0].begin; e < p.backward_bodies[0].end; ++e) {
    const bool gathers = p.entries[e].what == Do::gather_start || p.entries[e].what == Do::gather_wait;
    CHECK((p.entries[e].when == When::first_micro_batch) == gathers);
  }
}

TEST_CASE("a block of a Repeat is one unit, and a walk stays within its chunk") {
  const Program& blocks = Trained<Skips, Sharded<2>>::training;
  CHECK(blocks.bucket_count == 6);  // residuals outside a Repeat: every layer is a unit
  struct Repeated : Sequential<Linear<8, 6>, Repeat<3, Block>, Linear<6, 3>> {};
  const Program& repeated = Trained<Repeated, Sharded<2>>::training;
  CHECK(repeated.bucket_count == 5);
  CHECK(spelled(repeated, repeated.forward_bodies[0]) == "g4 G4 g3 L4 G3 g2 L3 L3 G2 g1 L2 L2 G1 g0 L1 L1 G0 L0");
  const Program& staged = Trained<Chain, Hybrid<Pipeline<Balanced<2>>, Sharded<2>>>::training;
  for (int c = 0; c < 2; ++c) CHECK(spelled(staged, staged.forward_bodies[c]).substr(0, 1) == "g");
}
