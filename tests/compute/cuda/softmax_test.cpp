// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/softmax.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "compute/cuda/against_loops.hpp"

using namespace heddle;
using against_loops::Card;
using against_loops::Ran;
using conformance::UploadedCuda;

TEST_CASE("Softmax and LogSoftmax keep the laws of every Compute") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<Softmax, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<LogSoftmax, UploadedCuda>(20) == "");
}

TEST_CASE("vectors of any length are shared by a warp, by a block, or read in tiles") {
  const Card card;
  for (const std::int64_t n : {260, 1022, 1030, 8200, 17001}) {
    CHECK(against_loops::off<Softmax>(Shape{n}, 3) == "");
    CHECK(against_loops::off<LogSoftmax>(Shape{n}, 3) == "");
  }
}

TEST_CASE("what is masked out has no share, a NaN spoils its vector alone, and a vector that is masked out altogether is NaN") {
  const Card card;
  for (const std::int64_t n : {5, 2000, 17000}) {
    Ran<Softmax> some(Shape{n}, 3);
    for (std::int64_t j = 0; j < n; ++j) {
      some.input[static_cast<std::size_t>(j)] = j == n / 2 ? 3.0F : -infinity;
      some.input[static_cast<std::size_t>(2 * n + j)] = -infinity;
    }
    some.input[static_cast<std::size_t>(n)] = conformance::nan;
    some.forward(0, 3);
    int wrong = 0;
    const auto y = [&](std::int64_t v, std::int64_t j) { return some.output[static_cast<std::size_t>(v * n + j)]; };
    for (std::int64_t j = 0; j < n; ++j) wrong += y(0, j) == (j == n / 2 ? 1.0F : 0.0F) && std::isnan(y(1, j)) && std::isnan(y(2, j)) ? 0 : 1;
    CHECK(wrong == 0);
  }
}

TEST_CASE("the bits do not depend on the order in which threads and blocks run") {
  CHECK(against_loops::same_bits_in_any_order<LogSoftmax>(Shape{9001}, 3));
}
