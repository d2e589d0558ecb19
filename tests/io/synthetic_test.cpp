// SPDX-License-Identifier: MIT
#include "heddle/io/synthetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using idx_bytes::has;
using idx_bytes::sentence;

TEST_CASE("synthetic data have the sizes asked for, classes in turn and values in [0, 1]") {
  const Dataset data = synthetic(Seed{1}, 103, 20, 10);
  CHECK(data.size() == 103);
  CHECK(data.features() == 20);
  CHECK(data.classes() == 10);
  CHECK(data.images().size() == 103 * 20);
  CHECK(data.labels()[102] == 2);
  CHECK(std::all_of(data.images().begin(), data.images().end(), [](float x) { return x >= 0 && x <= 1; }));
}

TEST_CASE("the seed alone decides synthetic data, and fewer rows are the first rows") {
  const Dataset few = synthetic(Seed{1}, 30, 7, 3);
  const Dataset many = synthetic(Seed{1}, 60, 7, 3);
  CHECK(std::equal(few.images().begin(), few.images().end(), many.images().begin()));
  const Dataset other = synthetic(Seed{2}, 30, 7, 3);
  CHECK_FALSE(std::equal(few.images().begin(), few.images().end(), other.images().begin()));
}

TEST_CASE("what one half teaches holds in the other: the nearest mean of the training rows names the test rows' class") {
  constexpr std::int64_t features = 64;
  constexpr int classes = 10;
  const Dataset train = synthetic(Seed{3}, 1000, features, classes);
  const Dataset test = synthetic(Seed{3}, 500, features, classes, Split::test);
  CHECK_FALSE(std::equal(test.images().begin(), test.images().end(), train.images().begin()));
  std::vector<double> means(classes * features);
  for (std::int64_t row = 0; row < train.size(); ++row)
    for (std::int64_t f = 0; f < features; ++f)
      means[static_cast<std::size_t>(train.labels()[row] * features + f)] += train.images()[row * features + f] / 100.0;
  int right = 0;
  for (std::int64_t row = 0; row < test.size(); ++row) {
    std::vector<double> distances(classes);
    for (int c = 0; c < classes; ++c)
      for (std::int64_t f = 0; f < features; ++f) {
        const double difference = test.images()[row * features + f] - means[static_cast<std::size_t>(c * features + f)];
        distances[static_cast<std::size_t>(c)] += difference * difference;
      }
    right += std::min_element(distances.begin(), distances.end()) - distances.begin() == test.labels()[row];
  }
  // Two centres are 64 x 0.06 = 3.84 apart in squared distance (variance 0.36 / 12 each), the noise projected on their difference has
  // deviation 0.4 / sqrt(12) = 0.115: a row is 8 deviations from the border, so all 500 are right.
  CHECK(right == 500);
}

TEST_CASE("sizes below one are refused") {
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 0, 4, 2)); }), "[heddle.D10] 'synthetic images' holds 0 images"));
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 4, 0, 2)); }), "[heddle.D11] 'synthetic images' has 0 features a row"));
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 4, 4, 0)); }), "'synthetic labels' 0 classes"));
}

TEST_CASE("more data than there is memory for are refused before any are made, also where their bytes cannot be counted") {
  constexpr std::int64_t many = std::int64_t{1} << 40, beyond = std::int64_t{1} << 62;
  for (const auto& sizes : {std::pair{many, std::int64_t{1000}}, std::pair{std::int64_t{1000}, many}, std::pair{beyond, beyond}}) {
    const std::string said = sentence([&] { static_cast<void>(synthetic(Seed{1}, sizes.first, sizes.second, 2)); });
    CHECK(has(said, "[heddle.D14] 'synthetic images' takes "));
    CHECK(has(said, " are free. Fix: ask for fewer rows, or a machine with more memory."));
  }
}
