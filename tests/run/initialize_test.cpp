// SPDX-License-Identifier: MIT
#include "heddle/run/initialize.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "heddle/graph/layers/linear.hpp"

using namespace heddle;

namespace {

std::vector<float> initialized(const Parameter& parameter, Seed seed, std::int64_t stream) {
  std::vector<float> elements(static_cast<std::size_t>(parameter.shape.elements()), 77.0F);
  initialize(parameter, seed, stream, elements.data());
  return elements;
}
Parameter of(Initial initial, std::int64_t elements, std::int64_t fan_in) { return {Text<16>{"weight"}, Shape{elements}, initial, fan_in}; }

struct Moments {
  double mean = 0;
  double variance = 0;
};
Moments moments(const std::vector<float>& values) {
  Moments m;
  for (const float v : values) m.mean += static_cast<double>(v) / static_cast<double>(values.size());
  for (const float v : values) m.variance += std::pow(static_cast<double>(v) - m.mean, 2) / static_cast<double>(values.size());
  return m;
}

constexpr std::int64_t many = 100'000;

}  // namespace

TEST_CASE("Linear starts as in PyTorch: weight and bias uniform within 1 / sqrt(In)") {
  constexpr Leaf leaf = Linear<784, 50>::describe(Linear<784, 50>::takes());
  static_assert(leaf.parameter_count == 2);
  for (int p = 0; p < 2; ++p) {
    const std::vector<float> elements = initialized(leaf.parameters[p], Seed{1}, p);
    REQUIRE(elements.size() == (p == 0 ? 784U * 50U : 50U));
    for (const float v : elements) REQUIRE(std::abs(v) <= 1.0F / 28.0F);
    const auto [least, most] = std::minmax_element(elements.begin(), elements.end());
    CHECK(*most - *least > 0.9F * 2.0F / 28.0F);  // 50 uniform numbers span less with probability below 50 x 0.9^49 = 0.3; the seed is fixed
  }
}

TEST_CASE("uniform elements have the mean and the variance of their range") {
  const Moments m = moments(initialized(of(Initial::uniform_fan_in, many, 16), Seed{3}, 0));
  // Range [-1/4, 1/4): variance 1/48. Six standard deviations of the mean of n, and of the variance of n: 6 sqrt(v / n), 6 v sqrt(0.8 / n).
  CHECK(std::abs(m.mean) < 6 * std::sqrt(1.0 / 48 / many));
  CHECK(std::abs(m.variance - 1.0 / 48) < 6 * (1.0 / 48) * std::sqrt(0.8 / many));
}

TEST_CASE("elements within the root of 6 by both sizes have that range") {
  const Moments m = moments(initialized(of(Initial::uniform_fan_in_and_out, many, 96), Seed{3}, 0));
  // Range [-1/4, 1/4) as above: sqrt(6 / 96) is 1/4.
  CHECK(std::abs(m.mean) < 6 * std::sqrt(1.0 / 48 / many));
  CHECK(std::abs(m.variance - 1.0 / 48) < 6 * (1.0 / 48) * std::sqrt(0.8 / many));
}

TEST_CASE("normal elements have mean 0 and variance 1") {
  const Moments m = moments(initialized(of(Initial::normal, many, 1), Seed{3}, 0));
  CHECK(std::abs(m.mean) < 6 * std::sqrt(1.0 / many));
  CHECK(std::abs(m.variance - 1) < 6 * std::sqrt(2.0 / many));
}

TEST_CASE("zeros are zeros and ones are ones") {
  CHECK(initialized(of(Initial::zeros, 5, 1), Seed{9}, 4) == std::vector<float>(5, 0.0F));
  CHECK(initialized(of(Initial::ones, 5, 1), Seed{9}, 4) == std::vector<float>(5, 1.0F));
}

TEST_CASE("a row of padding is zeros, and the other rows are what they are without one") {
  Parameter table{"weight", Shape{5, 3}, Initial::normal};
  const std::vector<float> without = initialized(table, Seed{1}, 2);
  table.padding_row = 3;
  std::vector<float> wanted = without;
  for (std::size_t i = 9; i < 12; ++i) wanted[i] = 0;
  CHECK(initialized(table, Seed{1}, 2) == wanted);
}

TEST_CASE("an element depends on seed, parameter and index, and on nothing else") {
  for (const Initial initial : {Initial::uniform_fan_in, Initial::uniform_fan_in_and_out, Initial::normal}) {
    const std::vector<float> whole = initialized(of(initial, 1000, 7), Seed{1}, 2);
    CHECK(whole == initialized(of(initial, 1000, 7), Seed{1}, 2));
    const std::vector<float> part = initialized(of(initial, 10, 7), Seed{1}, 2);
    CHECK(std::equal(part.begin(), part.end(), whole.begin()));
    CHECK(whole != initialized(of(initial, 1000, 7), Seed{2}, 2));
    CHECK(whole != initialized(of(initial, 1000, 7), Seed{1}, 3));
    CHECK(whole[0] != whole[1]);
  }
}
