// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_sizes.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/attention.hpp"
#include "heddle/heddle.hpp"
using namespace heddle;

TEST_CASE("blocks, tiles and what queries see are counted as the text says") {
  const Leaf leaf = SelfAttention<Heads<4>>::describe(Spec{Shape{5, 24}});
  const AttentionSizes e = AttentionSizes::of(leaf, 2, false);
  CHECK(e.sequences == 2);
  CHECK(e.positions == 5);
  CHECK(e.heads == 4);
  CHECK(e.features == 2);
  CHECK(e.key_values == 4);
  CHECK(e.value_at(1, 3) == 5 * 24 + 22);
  AttentionSizes three{3 * 8, 8, 1, 150, 1, 8, 1, false, 1.0F};
  three.heads = 2;
  const AttentionPlace place = three.place(7, 2, 1);
  CHECK(place.sequence == 1);
  CHECK(place.head == 0);
  CHECK(place.tile == 1);
  CHECK(three.seen(149) == 150);
  CHECK(three.seen(150) == 0);
  three.causal = true;
  CHECK(three.seen(149) == 150);
  CHECK(three.seen(7) == 8);
  CHECK(three.seen_by_tile(0) == 64);
  CHECK(three.seen_by_tile(128) == 150);
  CHECK(AttentionSizes{3 * 300, 300, 1, 1, 1, 300, 1, false, 1.0F}.parts(4) == 3);
  const HeadRows<float> rows{nullptr, 24, 70};
  CHECK(rows.tile(0).count == 64);
  CHECK(rows.tile(64).count == 6);
  CHECK(rows.tile(32, 32).count == 32);
  CHECK(rows.tile(80, 16).count < 0);
}
