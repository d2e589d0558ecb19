// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_backward.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/attention_cases.hpp"
using namespace heddle;
using attention_cases::Card;
using attention_cases::follows_the_definition;

static_assert(attention_shared(1) + QueryFacts<true>::bytes <= 48 * 1024);

TEST_CASE("outputs, log-sums and gradients are those of the definition and of the host, for positions below, at and beyond a tile") {
  const Card card;
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{1, 3}, 3);
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{64, 48}, 1);
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{65, 30}, 1);
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{150, 24}, 1);
  follows_the_definition<SelfAttention<Heads<2>>>(Shape{150, 18}, 1);
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{3, 2, 18}, 2);
}

TEST_CASE("so are they for heads of 1 feature, of 4 n, of odd numbers, and of so many that blocks have parts of them") {
  const Card card;
  follows_the_definition<SelfAttention<Heads<3>, Causal>>(Shape{66, 9}, 1);
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{5, 3 * 32}, 1);
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{65, 3 * 33}, 1);
  follows_the_definition<SelfAttention<Heads<1>, Causal>>(Shape{70, 3 * 64}, 1);
  follows_the_definition<SelfAttention<Heads<1>, Causal>>(Shape{66, 3 * 80}, 1);
  follows_the_definition<SelfAttention<Heads<2>>>(Shape{9, 2 * 3 * 131}, 1);
  follows_the_definition<SelfAttention<Heads<1>, Causal>>(Shape{66, 3 * 256}, 1);
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{7, 3 * 301}, 1);
}

TEST_CASE("heads that share keys and values add what each gives to their gradients") {
  const Card card;
  follows_the_definition<SelfAttention<Heads<6>, KeyValueHeads<1>, Causal>>(Shape{67, 8 * 3}, 1);
  follows_the_definition<SelfAttention<Heads<6>, KeyValueHeads<3>>>(Shape{4, 12 * 2}, 3);
}

TEST_CASE("weights are dropped as the host drops them, where four that are drawn together lie in two tiles or two queries") {
  const Card card;
  follows_the_definition<SelfAttention<Heads<2>, Dropout<1, 4>>>(Shape{67, 18}, 2);
  follows_the_definition<SelfAttention<Heads<2>, Causal, Dropout<1, 10>>>(Shape{130, 24}, 1);
  follows_the_definition<SelfAttention<Heads<4>, KeyValueHeads<2>, Dropout<2, 3>>>(Shape{2, 65, 24}, 1, 0);
  follows_the_definition<SelfAttention<Heads<1>, Dropout<1, 4>>>(Shape{6, 3 * 131}, 2);
  follows_the_definition<SelfAttention<Heads<1>, Dropout<1, 4>>>(Shape{1, 3}, 5);
}
