// SPDX-License-Identifier: MIT
// Room: tests. What a library calls its codes, and what it says of them.
// Sees: cuda_emulator/state.  Does not see: which library.
// In: a table of codes.  Out: CodeText, text_of, said_of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>

#include "state.hpp"

namespace cuda_emulator {

/// A code, its name, and what the library says of it.
template <class T> struct CodeText {
  T code;
  const char* name;
  const char* text;
};
#define CUDA_EMULATOR_CODE(code, text) \
  { code, #code, text }

/// What a table has of a code, or what it has of none.
template <class T, std::size_t n> [[nodiscard]] const CodeText<T>& text_of(const CodeText<T> (&all)[n], const CodeText<T>& unknown, T code) {
  const auto* const found = std::find_if(std::begin(all), std::end(all), [&](const CodeText<T>& known) { return known.code == code; });
  return found == std::end(all) ? unknown : *found;
}
/// That text; of a code that tells of a failure with why the last call of this thread failed. It stays until the next call with a T.
template <class T> [[nodiscard]] const char* said_of(const CodeText<T>& known, bool failed) {
  thread_local std::string said;
  const std::string why = failed ? why_last_call_failed() : "";
  said = known.text + (why.empty() ? "" : " (" + why + ")");
  return said.c_str();
}

}  // namespace cuda_emulator
