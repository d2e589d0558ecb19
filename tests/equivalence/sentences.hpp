// SPDX-License-Identifier: MIT
// Text for language models: what a token is follows from its row and position.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/run/examples.hpp"

namespace equivalence {

using namespace heddle;

/// Sentences of 5 tokens of a vocabulary, and the tokens that follow.
struct Sentences {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> next;
  Sentences(std::int64_t rows, std::int64_t vocabulary) {
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j <= 5; ++j) {
        const std::int64_t token = (3 * i + 5 * j + i * j) % vocabulary;
        if (j < 5) ids.push_back(static_cast<std::int32_t>(token));
        if (j > 0) next.push_back(static_cast<std::int32_t>(token));
      }
  }
  [[nodiscard]] Examples<std::int32_t, std::int32_t> batch(std::int64_t first, std::int64_t count) const {
    return examples(ids, next, 5, 5).slice(first, count);
  }
};

}  // namespace equivalence
