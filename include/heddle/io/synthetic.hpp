// SPDX-License-Identifier: MIT
// Room: io. A data set without files: one centre for each class, noise around it, values in [0, 1].
// Sees: core/random, io/dataset, io/file for its memory.  Does not see: formats, policies, devices.
// In: a seed and sizes.  Out: a Dataset, the same bits on every platform.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "heddle/core/random.hpp"
#include "heddle/io/dataset.hpp"
#include "heddle/io/file.hpp"

namespace heddle::inline io_room {

/// Rows that can be learned: row r has class r mod classes; feature f is the class's centre in [0.2, 0.8) plus noise in [-0.2, 0.2).
/// Both splits share the centres and differ in the noise. Uniform numbers only: no mathematics library can change a bit.
///
/// Shape   images (rows, features), labels (rows)
/// Errors  D10 no rows, D11 features or classes below 1, D14 more than there is memory for
/// Tested  io/synthetic_test
[[nodiscard]] inline Dataset synthetic(Seed seed, std::int64_t rows, std::int64_t features, int classes, Split split = Split::train) {
  constexpr const char* images = "synthetic images";
  constexpr const char* remedy = "ask for fewer rows";
  const std::uint64_t noise = split == Split::train ? 1 : 2;  // stream 0 has the centres
  if (rows > 0 && features > 0) {
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t row_bytes = sizeof(float) * std::min(static_cast<std::uint64_t>(features), most / sizeof(float));
    refuse_beyond_memory(row_bytes > most / static_cast<std::uint64_t>(rows) ? most : row_bytes * static_cast<std::uint64_t>(rows), images, remedy);
  }
  const auto make = [&] {
    LabelledRows made;
    made.features = features;
    made.classes = classes;
    if (rows > 0 && features > 0 && classes > 0) {
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
    return Dataset{std::move(made), images, "synthetic labels"};
  };
  return within_memory(images, make, remedy);
}

}  // namespace heddle::inline io_room
