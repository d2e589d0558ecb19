// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_forward.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "compute/cuda/attention_cases.hpp"
using namespace heddle;
using attention_cases::Card;
using attention_cases::OnCard;

TEST_CASE("a block has less than 48 KiB of shared memory, whatever the size of a head") {
  for (const int features : {1, 32, 33, 64, 65, 96, 128, 129, 256, 1024}) {
    const AttentionSizes e{24, 8, 2, 70, 1, features, 1, false, 1.0F};
    with_chunks_of_block<float>(e.chunks(), [&](auto chunks) {
      CHECK(AttentionForward<float, decltype(chunks)::value, true>::extents(e).shared_bytes <= 48 * 1024);
      CHECK(AttentionForward<float, decltype(chunks)::value, false>::extents(e).blocks == 2 * 2 * ((features + 127) / 128));
    });
  }
}

TEST_CASE("scores that are too large for exp, and tiles in which they rise, give weights that are numbers") {
  const Card card;
  using Layer = SelfAttention<Heads<1>>;
  OnCard<Layer> t{Layer::describe(Spec{Shape{130, 3}}), 1};
  for (std::size_t j = 0; j < 130; ++j) {
    t.input[3 * j] = 40;
    t.input[3 * j + 1] = static_cast<float>(j) / 2;  // scores up to 2580, 20 apart: the last position has all the weight
  }
  attention_cases::run(t, 1);
  for (const float y : t.output) CHECK(std::abs(y - t.input[3 * 129 + 2]) < 1e-6F);
  for (const float s : t.statistics) CHECK(std::isfinite(s));
  for (const float dx : t.input_gradient) CHECK(std::isfinite(dx));
}

TEST_CASE("a query all of whose first scores are -inf has weights of those that follow") {
  const Card card;
  using Layer = SelfAttention<Heads<1>>;
  OnCard<Layer> t{Layer::describe(Spec{Shape{66, 3}}), 1};
  for (std::size_t j = 0; j < 66; ++j) {
    t.input[3 * j] = 1;
    t.input[3 * j + 1] = j < 64 ? -std::numeric_limits<float>::infinity() : 0.0F;
  }
  t.forward(0, 1);
  for (const float y : t.output) CHECK(std::abs(y - (t.input[3 * 64 + 2] + t.input[3 * 65 + 2]) / 2) < 1e-6F);
}

TEST_CASE("weights are dropped behind the sum of powers: what is left for the backward is that of all keys") {
  const Card card;
  using Layer = SelfAttention<Heads<1>, Causal>;
  using Dropping = SelfAttention<Heads<1>, Causal, Dropout<1, 3>>;
  OnCard<Layer> all{Layer::describe(Spec{Shape{70, 6}}), 1};
  OnCard<Dropping> dropped{Dropping::describe(Spec{Shape{70, 6}}), 1};
  REQUIRE(all.input == dropped.input);
  all.forward(0, 1);
  dropped.forward(0, 1);
  CHECK(all.output != dropped.output);
  CHECK(all.statistics == dropped.statistics);
}

TEST_CASE("a NaN of a key is seen by all that attend to it, and by no other") {
  const Card card;
  using Layer = SelfAttention<Heads<1>, Causal>;
  OnCard<Layer> t{Layer::describe(Spec{Shape{70, 6}}), 1};
  t.input[66 * 6 + 2] = conformance::nan;
  t.forward(0, 1);
  for (std::size_t i = 0; i < 70; ++i) {
    CHECK(std::isnan(t.output[2 * i]) == (i >= 66));
    CHECK(std::isnan(t.statistics[i]) == (i >= 66));
  }
}
