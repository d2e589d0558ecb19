// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_forward_on_tensor_cores.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "compute/cuda/attention_on_tensor_cores_cases.hpp"
using namespace heddle;
using attention_cases::Card;
using attention_cases::OnTensorCores;

namespace {

/// One head of 8 features: queries, keys and values are at 0, 8 and 16 of a position.
using OneHead = SelfAttention<Heads<1>>;
constexpr std::size_t width = 24, key = 8, value = 16;

/// Everything is 0 but the first feature of queries, keys and values.
template <class Value, class L = OneHead> OnTensorCores<L, Value> with_zeros(std::int64_t positions) {
  OnTensorCores<L, Value> t{L::describe(Spec{Shape{positions, std::int64_t{width}}}), 1};
  for (float& x : t.input) x = 0;
  return t;
}

}  // namespace

TEST_CASE_TEMPLATE("scores that are too large for exp, and tiles in which they rise, give weights that are numbers", Value, float, BFloat16) {
  const Card card;
  auto t = with_zeros<Value>(130);
  for (std::size_t j = 0; j < 130; ++j) {
    t.input[width * j] = 64;
    t.input[width * j + key] = static_cast<float>(j) / 2;  // scores up to 1,459, 11 apart: the last position has all the weight
    t.input[width * j + value] = j == 129 ? 2.5F : -1.0F;
  }
  t.input[width * 128 + key] = 0;  // in bfloat16 it may be that of 129
  attention_cases::run(t, 1);
  for (std::size_t i = 0; i < 130; ++i) CHECK(std::abs(t.output[8 * i] - 2.5F) < 1e-3F);
  for (const float s : t.statistics) CHECK(std::abs(s - 64 * 64.5F / std::sqrt(8.0F)) < 4);
  for (const float dx : t.input_gradient) CHECK(std::isfinite(dx));
}

TEST_CASE_TEMPLATE("a query all of whose first scores are -inf has weights of those that follow", Value, float, BFloat16) {
  const Card card;
  auto t = with_zeros<Value>(66);
  for (std::size_t j = 0; j < 66; ++j) {
    t.input[width * j] = 1;
    t.input[width * j + key] = j < 64 ? -std::numeric_limits<float>::infinity() : 0.0F;
    t.input[width * j + value] = j < 64 ? 9.0F : static_cast<float>(j - 60);
  }
  t.forward(0, 1);
  for (std::size_t i = 0; i < 66; ++i) CHECK(t.output[8 * i] == 4.5F);
  for (const float s : t.statistics) CHECK(std::abs(s - std::log(2.0F)) < 1e-6F);
}

TEST_CASE_TEMPLATE("a NaN of a key is seen by all that attend to it, and by no other", Value, float, BFloat16) {
  const Card card;
  auto t = with_zeros<Value, SelfAttention<Heads<1>, Causal>>(70);
  t.input[66 * width + key] = conformance::nan;
  t.forward(0, 1);
  for (std::size_t i = 0; i < 70; ++i) {
    CHECK(std::isnan(t.output[8 * i]) == (i >= 66));
    CHECK(std::isnan(t.statistics[i]) == (i >= 66));
  }
}

TEST_CASE_TEMPLATE("keys that a query does not see are not in its largest score", Value, float, BFloat16) {
  const Card card;
  auto t = with_zeros<Value, SelfAttention<Heads<1>, Causal>>(70);
  for (std::size_t j = 0; j < 70; ++j) {
    t.input[width * j] = 128;
    t.input[width * j + key] = static_cast<float>(j);  // scores 45 apart, so that what lies 4 keys behind is 0 beside the largest
    t.input[width * j + value] = static_cast<float>(j);
  }
  t.forward(0, 1);
  for (std::size_t i = 0; i < 70; ++i) CHECK(std::abs(t.output[8 * i] - static_cast<float>(i)) < 1e-3F);
}

TEST_CASE_TEMPLATE("without a place for log-sums none are written", Value, float, BFloat16) {
  const Card card;
  OnTensorCores<OneHead, Value> with{OneHead::describe(Spec{Shape{40, 24}}), 2}, without{OneHead::describe(Spec{Shape{40, 24}}), 2};
  without.absent = true;
  with.forward(0, 2);
  without.forward(0, 2);
  CHECK(conformance::equal_bits(with.output, without.output));
}
