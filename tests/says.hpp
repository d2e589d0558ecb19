// SPDX-License-Identifier: MIT
// Room: tests. Whether a diagnosis has these words, and what a call throws.
// Sees: core, seams/error.  Does not see: rules.
#pragma once

#include <string>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::tests {

/// Whether the sentence has these words: says(found, "Fix: ") of every sentence.
[[nodiscard]] inline bool says(const core_room::Diagnosis& found, std::string_view words) {
  return found.sentence().view().find(words) != std::string_view::npos;
}

/// What the thrown Error says; "nothing was thrown" if nothing was. Anything else that is thrown fails the test.
template <class Action> [[nodiscard]] std::string sentence(Action action) {
  try {
    action();
  } catch (const seams_room::Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace heddle::tests
