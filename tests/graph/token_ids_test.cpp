// SPDX-License-Identifier: MIT
#include "heddle/graph/token_ids.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

TEST_CASE("a token id is a whole number of the vocabulary") {
  static_assert(is_token(0, 3) && is_token(2, 3) && is_token(-0.0F, 3));
  static_assert(!is_token(3, 3) && !is_token(-1, 3) && !is_token(1.5F, 3));
  CHECK_FALSE(is_token(std::numeric_limits<float>::quiet_NaN(), 3));
  CHECK_FALSE(is_token(std::numeric_limits<float>::infinity(), 3));
  static_assert(is_token(16'777'215.0F, 1 << 24));
}

TEST_CASE("ids may be reshaped on their way from the input") {
  struct Reshaped : Sequential<Input<2, 3>, Flatten, Embedding<5, 4>, Linear<4, 5>> {};
  static_assert(graph_of<Reshaped>.fault.ok() && output_spec<Reshaped>.shape == Shape(6, 5));
  static_assert(vocabulary_of(graph_of<Reshaped>) == 5);
  struct None : Sequential<Linear<4, 5>> {};
  static_assert(vocabulary_of(graph_of<None>) == 0);
  CHECK(before_reshapes(graph_of<Reshaped>, 2) == 0);
}

TEST_CASE("what a layer computes is no token id") {
  struct Computed : Sequential<Linear<4, 6>, Flatten, Embedding<5, 4>> {};
  CHECK(graph_of<Computed>.fault.sentence().view() ==
        "[heddle.G18] layer 2 '2' Embedding<5, 4> looks token ids up, but it reads what layer 0 '0' Linear<4, 6> computes, through which no gradient "
        "could come back. Fix: let it read the input of the model.");
}
