// SPDX-License-Identifier: MIT
// Room: core. Names of policies and options as a program writes them, whatever a compiler makes of them.
// Sees: core/language.  Does not see: every other room.
// In: the name of a type as a compiler gives it.  Out: as_written.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/language.hpp"

namespace heddle::core_room {

/// "4_MiB" of 4,194,304, "1500_B" of 1500: the largest unit that divides.
///
/// Tested  core/as_written_test
[[nodiscard]] inline std::string bytes_as_written(std::int64_t bytes) {
  constexpr std::array<std::pair<std::int64_t, const char*>, 6> units{
      {{std::int64_t{1} << 30, "_GiB"}, {1'000'000'000, "_GB"}, {1 << 20, "_MiB"}, {1'000'000, "_MB"}, {1 << 10, "_KiB"}, {1000, "_KB"}}};
  for (const auto& [size, unit] : units)
    if (bytes != 0 && bytes % size == 0) return std::to_string(bytes / size) + unit;
  return std::to_string(bytes) + "_B";
}

/// Memory<4_MiB> of Memory<NamedBytes{4194304, true}>, TensorParallel<2> of TensorParallel<2, WholeSequences>, >> of > >: arguments that nobody
/// names are left out.
///
/// Tested  core/as_written_test
[[nodiscard]] inline std::string as_written(std::string_view name) {
  std::string text{name};
  const auto replace_all = [&](std::string_view old, std::string_view now) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old)) text.replace(at, old.size(), now);
  };
  replace_all(", WholeSequences", "");
  replace_all(", void", "");
  replace_all("> >", ">>");
  replace_all("NamedBytes{", "{");
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at + 1)) {
    const std::size_t end = text.find('}', at);
    std::int64_t bytes = 0;
    std::size_t digit = at + 1;
    for (; end != std::string::npos && digit < end && text[digit] >= '0' && text[digit] <= '9'; ++digit) bytes = 10 * bytes + (text[digit] - '0');
    if (digit > at + 1) text.replace(at, end + 1 - at, bytes_as_written(bytes));
  }
  return text;
}

}  // namespace heddle::core_room
