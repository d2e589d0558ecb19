// SPDX-License-Identifier: MIT
#include "heddle/plan/program/conversion.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

TEST_CASE("Where a value lies and how it is taken name the conversion") {
  constexpr Laid part = laid::shard(0);
  static_assert(conversion(laid::partial, laid::replicate) == BodyOp::reduce_value);
  static_assert(conversion(laid::partial, part) == BodyOp::scatter_value);
  static_assert(conversion(part, laid::replicate) == BodyOp::gather_value);
  static_assert(conversion(laid::replicate, part) == BodyOp::slice_value);
  CHECK_FALSE(travels(laid::replicate, part));  // each rank cuts its part out of what it has
  CHECK(travels(part, laid::replicate));
}

TEST_CASE("Exactly the four conversions convert, and two kinds of backward pass a gradient back") {
  for (const BodyOp what : {BodyOp::reduce_value, BodyOp::gather_value, BodyOp::scatter_value, BodyOp::slice_value}) CHECK(converts(what));
  for (const BodyOp what : {BodyOp::leaf_forward, BodyOp::reduce_parameter, BodyOp::copy, BodyOp::add}) CHECK_FALSE(converts(what));
  CHECK(passes_back(BodyOp::leaf_backward));
  CHECK(passes_back(BodyOp::leaf_backward_input));
  CHECK_FALSE(passes_back(BodyOp::leaf_backward_weight));
}
