// SPDX-License-Identifier: MIT
// Room: core. Values that printf must not read: a format would take the bytes of the class for a number.
// Sees: core/fire.  Does not see: which values these are, every other room.
// In: a class that names its rule of printing.  Out: one error with that rule where printf, fprintf or snprintf is given one.
#pragma once

#include <cstddef>
#include <type_traits>

#include "heddle/core/fire.hpp"

namespace heddle::core_room {

/// A class with this base is not trivially copied, so clang passes it through no ellipsis: printf("%f", x) does not compile.
struct NotForEllipses {
  constexpr NotForEllipses() = default;
  constexpr NotForEllipses(const NotForEllipses&) {}
  constexpr NotForEllipses& operator=(const NotForEllipses&) { return *this; }
};

// g++ passes any class through an ellipsis, so that a better match must say it. Nobody else is concerned: one of the arguments names a rule.
template <class Value>
concept NamesItsRuleOfPrinting = requires {
  typename Value::RuleOfPrinting;
};
template <class... Values>
concept OneIsNotPrinted = (NamesItsRuleOfPrinting<Values> || ...);
/// The rule of the first argument that names one.
template <class First, class... Rest> struct RuleOfPrintingIn : RuleOfPrintingIn<Rest...> {};
template <NamesItsRuleOfPrinting First, class... Rest> struct RuleOfPrintingIn<First, Rest...> { using Rule = typename First::RuleOfPrinting; };

template <class... Values>
requires OneIsNotPrinted<Values...>
constexpr int printf(const char*, const Values&...) {
  static_assert(sizeof(fired<typename RuleOfPrintingIn<Values...>::Rule>) > 0);
  return 0;
}
template <class File, class... Values>
requires OneIsNotPrinted<Values...>
constexpr int fprintf(File*, const char* format, const Values&... values) { return core_room::printf(format, values...); }
template <class... Values>
requires OneIsNotPrinted<Values...>
constexpr int snprintf(char*, std::size_t, const char* format, const Values&... values) { return core_room::printf(format, values...); }

}  // namespace heddle::core_room

#if defined(__GNUC__) && !defined(__clang__)
// The library's own names find no overload by their arguments where they are written with std::.
namespace std {                     // NOLINT(cert-dcl58-cpp): for types of Heddle only
using heddle::core_room::fprintf;   // NOLINT(misc-unused-using-decls)
using heddle::core_room::printf;    // NOLINT(misc-unused-using-decls)
using heddle::core_room::snprintf;  // NOLINT(misc-unused-using-decls)
}  // namespace std
#endif
