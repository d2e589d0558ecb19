// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/body.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr const Graph& chain = graph_of<Chain>;

constexpr Layout three_on(int a, int b, int c) {
  Layout layout{chain};
  layout.chunk_count = 3;
  layout.first_node[1] = 2;
  layout.first_node[2] = 4;
  layout.first_node[3] = 5;
  layout.device_of_chunk[0] = a;
  layout.device_of_chunk[1] = b;
  layout.device_of_chunk[2] = c;
  return layout;
}
constexpr BatchDivision two_grains = [] {
  BatchDivision d;
  d.micro_rows = 6;
  d.grain_rows = 3;
  return d;
}();
using TwoEdges = BodyTables<5, 3, 2, 8>;

}  // namespace

TEST_CASE("every chunk has a pool of each kind, numbered without a gap") {
  static_assert(pool_of(0, PoolKind::frame) == 0 && pool_of(0, PoolKind::gradient_out) == 2);
  static_assert(pool_of(1, PoolKind::frame) == pool_kinds);
  CHECK(pool_of(7, PoolKind::gradient_in) == 7 * pool_kinds + 1);
}

TEST_CASE("places of one pool follow one another") {
  TwoEdges tables;
  Bodies bodies = tables.open();
  const Place first = bodies.take(1, PoolKind::frame, 128);
  const Place second = bodies.take(1, PoolKind::frame, 64);
  const std::int16_t pool = pool_of(1, PoolKind::frame);
  CHECK(first == Place{pool, 0});
  CHECK(second == Place{pool, 128});
  CHECK(bodies.slot_bytes[pool] == 192);
}

TEST_CASE("a value that goes to another device is received into the frame of the chunk that takes it, its gradient comes back") {
  constexpr Layout layout = three_on(0, 1, 2);
  const BodyInput in{chain, layout, two_grains};
  TwoEdges tables;
  Bodies bodies = tables.open();
  place_edges(in, bodies);
  for (int e = 0; e < 2; ++e) {
    const PlacedEdge& edge = bodies.edges[e];
    CHECK(edge.remote);
    CHECK(edge.value_target.pool == pool_of(edge.edge.to_chunk, PoolKind::frame));
    CHECK(edge.gradient_source.pool == pool_of(edge.edge.to_chunk, PoolKind::gradient_out));
    CHECK(edge.gradient_target.pool == pool_of(edge.edge.from_chunk, PoolKind::gradient_in));
  }
  bodies.home[2] = Place{0, 64};
  place_transfers(in, bodies);
  REQUIRE(bodies.transfers.count == 4);
  const Transfer& there = bodies.transfers[0];
  const Transfer& back = bodies.transfers[1];
  CHECK((there.value == 2 && there.from_chunk == 0 && there.to_chunk == 1 && !there.gradient));
  CHECK(there.source == Place{0, 64});
  CHECK(there.target == bodies.edges[0].value_target);
  CHECK((back.value == 2 && back.from_chunk == 1 && back.to_chunk == 0 && back.gradient));
  CHECK((back.from_role == there.to_role && back.to_role == there.from_role));
  CHECK(there.payload == 6 * 6);         // features x rows
  CHECK(there.elements == 2 * 128 / 4);  // padded
  CHECK(back.elements == there.elements);
}

TEST_CASE("an edge within a device has one place at both ends and no transfer") {
  constexpr Layout layout = three_on(0, 0, 1);
  const BodyInput in{chain, layout, two_grains};
  TwoEdges tables;
  Bodies bodies = tables.open();
  place_edges(in, bodies);
  CHECK_FALSE(bodies.edges[0].remote);
  CHECK_FALSE(bodies.edges[0].value_target.set());
  CHECK(bodies.edges[0].gradient_source == bodies.edges[0].gradient_target);
  place_transfers(in, bodies);
  CHECK(bodies.transfers.count == 2);
}

TEST_CASE("in evaluation no gradient has a place or comes back") {
  constexpr Layout layout = three_on(0, 1, 2);
  BodyInput in{chain, layout, two_grains};
  in.training = false;
  TwoEdges tables;
  Bodies bodies = tables.open();
  place_edges(in, bodies);
  place_transfers(in, bodies);
  CHECK(bodies.transfers.count == 2);
  for (int c = 0; c < 3; ++c)
    CHECK(bodies.slot_bytes[pool_of(c, PoolKind::gradient_in)] + bodies.slot_bytes[pool_of(c, PoolKind::gradient_out)] == 0);
}
