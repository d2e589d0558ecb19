// SPDX-License-Identifier: MIT
// Room: core. The short name of a type, for sentences: "Mnist", "Linear<784, 50>".
// Sees: the standard library.  Does not see: every other room.
// In: a type.  Out: text with the namespaces removed.
#pragma once

#include <string_view>

#include "heddle/core/text.hpp"

namespace heddle::inline core_room {

/// One address per type: types compared as values.
template <class T> inline constexpr char type_identity = 0;
using TypeId = const char*;
template <class T> [[nodiscard]] constexpr TypeId type_id() { return &type_identity<T>; }

template <class T> [[nodiscard]] constexpr Text<64> type_name() {
#if defined(__clang__) || defined(__GNUC__)
  std::string_view all = __PRETTY_FUNCTION__;  // "... type_name() [T = X]" or "[with T = X]"
  const auto begin = all.find("T = ") + 4;
  const auto end = all.rfind(']');
  all = all.substr(begin, end - begin);
  if (const auto second = all.find("; "); second != std::string_view::npos) all = all.substr(0, second);
  Text<64> name;
  std::size_t word = 0;
  const auto flush = [&](std::size_t upto) { name << all.substr(word, upto - word); };
  constexpr std::string_view unnamed = "(anonymous namespace)";  // clang; g++ writes it without a space
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all.substr(i, unnamed.size()) == unnamed) {
      i += unnamed.size() - 1;
    } else if (all[i] == ':' && i + 1 < all.size() && all[i + 1] == ':') {
      word = i + 2;
      ++i;
    } else if (all[i] == '<' || all[i] == ' ' || all[i] == ',') {
      flush(i + 1);
      word = i + 1;
    }
  }
  flush(all.size());
  return name;
#else
  return Text<64>{"a type"};
#endif
}

}  // namespace heddle::inline core_room
