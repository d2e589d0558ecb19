// SPDX-License-Identifier: MIT
// Room: io. Data without files that can be learned: classes, a regression, a stream of tokens.
// Sees: core/random, io/dataset, io/file for its memory.  Does not see: formats, policies, devices.
// In: a seed and sizes.  Out: a Dataset, a RegressionDataset or tokens, the same bits on every platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "heddle/core/not_included.hpp"
#include "heddle/core/random.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/dataset.hpp"
#include "heddle/io/file.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<SyntheticHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::io_room {

/// Refuses rows of `inputs` and `targets` numbers, all above 0, whose sum the memory does not hold, where it can be counted and where not: 10 rows of
/// 3 and 1 take 160 bytes. Errors  D14
inline void refuse_synthetic_rows(std::int64_t rows, std::int64_t inputs, std::int64_t targets, const char* name, const char* remedy) {
  const std::uint64_t numbers = static_cast<std::uint64_t>(inputs) + static_cast<std::uint64_t>(targets);
  const std::uint64_t bytes = product_or_most(product_or_most(sizeof(float), numbers), static_cast<std::uint64_t>(rows));
  refuse_beyond_memory(bytes, name, remedy);
  if (bytes > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw std::bad_alloc{};  // also where nobody knows how much memory is free
}

/// Rows that can be learned: row r has class r mod classes; feature f is the class's centre in [0.2, 0.8) plus noise in [-0.2, 0.2).
/// Both splits share the centres and differ in the noise. Uniform numbers only: no mathematics library can change a bit.
///
/// Shape   images (rows, features), labels (rows)
/// Errors  D06 more rows than an order can number, D10 no rows, D11 features or classes below 1, D14 more than there is memory for; all before
///         anything is made
/// Tested  io/synthetic_test
[[nodiscard]] inline Dataset synthetic(  // Fix: write datasets::synthetic (compilers show this line where a program leaves that out)
    Seed seed, std::int64_t rows, std::int64_t features, int classes, DataSplit split = DataSplit::train) {
  constexpr const char* name = "synthetic rows and labels";
  constexpr const char* remedy = "ask for fewer rows";
  const std::uint64_t noise = split == DataSplit::train ? 1 : 2;  // stream 0 has the centres
  const auto make = [&] {
    LabelledRows made;
    made.features = features;
    made.classes = classes;
    if (rows > 0 && features > 0 && classes > 0) {
      refuse_synthetic_rows(rows, features, 1, name, remedy);
      refuse_row_count(rows, "synthetic rows");
      made.images.reserve(static_cast<std::size_t>(rows * features));
      made.labels.reserve(static_cast<std::size_t>(rows));
      for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t label = row % classes;
        made.labels.push_back(static_cast<std::int32_t>(label));
        for (std::int64_t feature = 0; feature < features; ++feature)
          made.images.push_back(uniform(seed, 0, static_cast<std::uint64_t>(label * features + feature), 0.2F, 0.8F) +
                                uniform(seed, noise, static_cast<std::uint64_t>(row * features + feature), -0.2F, 0.2F));
      }
    }
    return Dataset{std::move(made), "synthetic rows", "synthetic labels"};
  };
  return within_memory(name, make, remedy);
}

/// Rows whose targets are fixed sums of their features, so that a Linear layer learns them: features are multiples of 1/64 in [-1, 1), weights
/// multiples of 1/16, the same in both splits. All sums are whole numbers until the end, so no rounding can change a bit.
///
/// Shape   inputs (rows, features), targets (rows, targets_of_a_row), about as large as the features
/// Errors  D06 more rows than an order can number, D10 no rows, D11 features or targets below 1, D14 more than there is memory for; all before
///         anything is made
/// Tested  io/synthetic_test
[[nodiscard]] inline RegressionDataset synthetic_regression(Seed seed, std::int64_t rows, std::int64_t features, std::int64_t targets_of_a_row = 1,
                                                            DataSplit split = DataSplit::train) {
  constexpr const char* name = "synthetic inputs and targets";
  constexpr const char* remedy = "ask for fewer rows";
  const auto whole = [&](std::uint64_t stream, std::int64_t index) {
    return static_cast<std::int64_t>(bits64(seed, stream, static_cast<std::uint64_t>(index)) >> 57) - 64;  // -64 to 63
  };
  const auto make = [&] {
    RegressionRows made;
    made.features = features;
    made.targets_of_a_row = targets_of_a_row;
    if (rows > 0 && features > 0 && targets_of_a_row > 0) {
      refuse_synthetic_rows(rows, features, targets_of_a_row, name, remedy);
      refuse_row_count(rows, "synthetic inputs");
      made.inputs.reserve(static_cast<std::size_t>(rows * features));
      made.targets.reserve(static_cast<std::size_t>(rows * targets_of_a_row));
      std::int64_t scale = 64 * 64;  // a weight of 64 counts as 4 at most: sums of many features grow as the root of their number
      for (std::int64_t of = 16; of < features; of *= 4) scale *= 2;
      for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t f = 0; f < features; ++f)
          made.inputs.push_back(static_cast<float>(whole(split == DataSplit::train ? 1 : 2, row * features + f)) / 64.0F);
        for (std::int64_t t = 0; t < targets_of_a_row; ++t) {
          std::int64_t sum = 0;
          for (std::int64_t f = 0; f < features; ++f)
            sum += whole(0, t * features + f) * static_cast<std::int64_t>(64.0F * made.inputs[static_cast<std::size_t>(row * features + f)]);
          made.targets.push_back(static_cast<float>(sum) / static_cast<float>(scale));
        }
      }
    }
    return RegressionDataset{std::move(made), "synthetic inputs", "synthetic targets"};
  };
  return within_memory(name, make, remedy);
}

/// A stream of tokens for next_token_rows(): three times of four a token has the follower that the seed chose for it, else any token follows.
/// A model that knows the followers is right for a little more than three tokens of four.
///
/// Errors  D11 fewer than one token or a vocabulary of none, D14 more than there is memory for
/// Tested  io/synthetic_test
[[nodiscard]] inline std::vector<std::int32_t> synthetic_tokens(Seed seed, std::int64_t count, int vocabulary) {
  constexpr const char* name = "synthetic tokens";
  constexpr const char* remedy = "ask for fewer tokens";
  if (count < 1 || vocabulary < 1)
    throw Error(Code{'D', 11}, written({grouped_digits(count), " synthetic tokens of a vocabulary of ", grouped_digits(vocabulary),
                                        " were asked for. Fix: give at least 1 of each."}));
  const auto draw = [&](std::uint64_t stream, std::int64_t index, int below) {
    return static_cast<std::int32_t>(bits64(seed, stream, static_cast<std::uint64_t>(index)) % static_cast<std::uint64_t>(below));
  };
  return within_memory(
      name,
      [&] {
        refuse_synthetic_rows(count, 1, 0, name, remedy);
        std::vector<std::int32_t> tokens;
        tokens.reserve(static_cast<std::size_t>(count));
        tokens.push_back(draw(0, 0, vocabulary));
        while (std::ssize(tokens) < count) {
          const std::int64_t at = std::ssize(tokens);
          tokens.push_back(draw(1, at, 4) == 0 ? draw(2, at, vocabulary) : draw(3, tokens.back(), vocabulary));
        }
        return tokens;
      },
      remedy);
}

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::synthetic, io_room::synthetic_regression, io_room::synthetic_tokens;
}  // namespace heddle::datasets
