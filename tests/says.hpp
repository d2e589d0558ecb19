// SPDX-License-Identifier: MIT
// Room: tests. Whether a diagnosis has these words.
// Sees: core.  Does not see: rules.
#pragma once

#include <string_view>

#include "heddle/core/rule.hpp"

namespace heddle::tests {

/// Whether the sentence has these words: says(found, "Fix: ") of every sentence.
[[nodiscard]] inline bool says(const core_room::Diagnosis& found, std::string_view words) {
  return found.sentence().view().find(words) != std::string_view::npos;
}

}  // namespace heddle::tests
