// SPDX-License-Identifier: MIT
#include "heddle/io/synthetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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
  const Dataset test = synthetic(Seed{3}, 500, features, classes, DataSplit::test);
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
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 0, 4, 2)); }), "[heddle.D10] 'synthetic rows' holds 0 rows"));
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 4, 0, 2)); }), "[heddle.D11] 'synthetic rows' has 0 features a row"));
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 4, 4, 0)); }), "'synthetic labels' 0 classes"));
}

TEST_CASE("more data than there is memory for are refused before any are made, also where their bytes cannot be counted") {
  constexpr std::int64_t many = std::int64_t{1} << 40, beyond = std::int64_t{1} << 62;
  for (const auto& sizes : {std::pair{many, std::int64_t{1000}}, std::pair{std::int64_t{1000}, many}, std::pair{beyond, beyond}}) {
    const std::string said = sentence([&] { static_cast<void>(synthetic(Seed{1}, sizes.first, sizes.second, 2)); });
    CHECK(has(said, "[heddle.D14] 'synthetic rows and labels' takes "));
    CHECK(has(said, " are free. Fix: ask for fewer rows, or a machine with more memory."));
  }
}

TEST_CASE("a regression without files has targets that are sums of its features, the same in both halves") {
  constexpr std::int64_t features = 20;
  const RegressionDataset train = synthetic_regression(Seed{3}, 60, features, 2);
  const RegressionDataset test = synthetic_regression(Seed{3}, 60, features, 2, DataSplit::test);
  CHECK((train.size() == 60 && train.features() == features && train.targets_of_a_row() == 2));
  CHECK_FALSE(std::equal(test.inputs().begin(), test.inputs().end(), train.inputs().begin()));
  CHECK(std::all_of(train.inputs().begin(), train.inputs().end(), [](float x) { return x >= -1 && x < 1; }));
  // Whoever finds weights on the training half by relaxation is right on the test half: x W^T = y has 20 unknowns and 60 rows, without noise.
  std::vector<double> weights(2 * features);
  const auto error = [&](const RegressionDataset& data, std::int64_t row, std::int64_t t) {
    double sum = -static_cast<double>(data.all().target(row)[t]);
    for (std::int64_t f = 0; f < features; ++f)
      sum += weights[static_cast<std::size_t>(t * features + f)] * static_cast<double>(data.all().input(row)[f]);
    return sum;
  };
  for (int pass = 0; pass < 300; ++pass)
    for (std::int64_t row = 0; row < 60; ++row)
      for (std::int64_t t = 0; t < 2; ++t) {
        double norm = 0;
        for (std::int64_t f = 0; f < features; ++f)
          norm += static_cast<double>(train.all().input(row)[f]) * static_cast<double>(train.all().input(row)[f]);
        const double off = error(train, row, t) / norm;
        for (std::int64_t f = 0; f < features; ++f)
          weights[static_cast<std::size_t>(t * features + f)] -= off * static_cast<double>(train.all().input(row)[f]);
      }
  double worst = 0;
  double largest = 0;
  for (std::int64_t row = 0; row < 60; ++row)
    for (std::int64_t t = 0; t < 2; ++t) {
      worst = std::max(worst, std::abs(error(test, row, t)));
      largest = std::max(largest, std::abs(static_cast<double>(test.all().target(row)[t])));
    }
  CHECK(largest > 0.3);
  CHECK(largest < 4);
  CHECK(worst < 1e-5);
  CHECK(has(sentence([] { static_cast<void>(synthetic_regression(Seed{1}, 0, 4)); }), "[heddle.D10] 'synthetic inputs' holds 0 rows"));
  CHECK(has(sentence([] { static_cast<void>(synthetic_regression(Seed{1}, 4, 0)); }), "[heddle.D11] 'synthetic inputs' has 0 features a row"));
  CHECK(has(sentence([] { static_cast<void>(synthetic_regression(Seed{1}, std::int64_t{1} << 40, 1000)); }),
            "[heddle.D14] 'synthetic inputs and targets' takes "));
}

TEST_CASE("sizes below one are refused before anything is made, however large the others are") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), many = std::int64_t{1} << 40;
  const auto regression = [](std::int64_t rows, std::int64_t features, std::int64_t targets) {
    return sentence([&] { static_cast<void>(synthetic_regression(Seed{1}, rows, features, targets)); });
  };
  CHECK(has(regression(0, most, 1), "[heddle.D10] 'synthetic inputs' holds 0 rows"));
  CHECK(has(regression(-1, most, most), "[heddle.D10] 'synthetic inputs' holds 0 rows"));
  CHECK(has(regression(many, 1, 0), "[heddle.D11] 'synthetic inputs' has 1 features a row and 'synthetic targets' 0 targets."));
  CHECK(has(regression(many, -1, many), "[heddle.D11] 'synthetic inputs' has -1 features a row"));
  CHECK(has(regression(most, most, most), "[heddle.D14] 'synthetic inputs and targets' takes "));
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, 0, most, 2)); }), "[heddle.D10] 'synthetic rows' holds 0 rows"));
  CHECK(has(sentence([] { static_cast<void>(synthetic(Seed{1}, many, 1000, 0)); }), "[heddle.D11]"));
}

TEST_CASE("inputs and targets that fit alone, and not together, are refused; what is made takes no more than its size") {
  if (const std::int64_t usable = read_memory_limits().usable().value; usable > 200'000'000) {
    const std::int64_t most_of_it = usable / 5 * 3 / 4;  // three of five parts, in numbers of 4 bytes
    CHECK(has(sentence([&] { static_cast<void>(synthetic_regression(Seed{1}, 1, most_of_it, most_of_it)); }),
              "[heddle.D14] 'synthetic inputs and targets' takes "));
    CHECK(has(sentence([&] { static_cast<void>(synthetic(Seed{1}, most_of_it, 1, 2)); }), "[heddle.D14] 'synthetic rows and labels' takes "));
  }
  const std::vector<std::int32_t> tokens = synthetic_tokens(Seed{5}, 20'001, 16);
  CHECK(tokens.capacity() == tokens.size());
}

TEST_CASE("tokens without files have a follower that can be learned") {
  const std::vector<std::int32_t> tokens = synthetic_tokens(Seed{5}, 20'000, 16);
  CHECK(tokens == synthetic_tokens(Seed{5}, 20'000, 16));
  CHECK(tokens.size() == 20'000);
  int follows[16][16]{};
  for (std::size_t i = 1; i < tokens.size(); ++i) {
    REQUIRE((tokens[i] >= 0 && tokens[i] < 16));
    ++follows[tokens[i - 1]][tokens[i]];
  }
  int right = 0;
  for (const auto& of_one : follows) right += *std::max_element(std::begin(of_one), std::end(of_one));
  // Expected: 3/4 + 1/4 x 1/16 = 0.7656 of 20,000, standard deviation sqrt(20,000 x 0.766 x 0.234) = 60; five deviations, and the best of 16 counts
  // is never below the one that was chosen.
  CHECK(std::abs(right - 15'312) < 300);
  CHECK(sentence([] { static_cast<void>(synthetic_tokens(Seed{1}, 0, 4)); }) ==
        "[heddle.D11] 0 synthetic tokens of a vocabulary of 4 were asked for. Fix: give at least 1 of each.");
  CHECK(has(sentence([] { static_cast<void>(synthetic_tokens(Seed{1}, std::int64_t{1} << 45, 4)); }), "[heddle.D14] 'synthetic tokens' takes "));
}
