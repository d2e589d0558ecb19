// SPDX-License-Identifier: MIT
#include "heddle/core/not_printed.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <string>
#include <type_traits>

namespace {

struct Law {};
struct OtherLaw {};
struct Unread : heddle::NotForEllipses {
  using RuleOfPrinting = Law;
};
struct UnreadToo {
  using RuleOfPrinting = OtherLaw;
};

}  // namespace

TEST_CASE("a class that names its rule is not printed, beside whatever stands before and after it") {
  static_assert(heddle::OneIsNotPrinted<Unread>);
  static_assert(heddle::OneIsNotPrinted<int, const char*, Unread, double>);
  static_assert(!heddle::OneIsNotPrinted<int, const char*, double>);
  static_assert(!heddle::OneIsNotPrinted<>);
}

TEST_CASE("the rule is that of the first argument that names one") {
  static_assert(std::is_same_v<heddle::RuleOfPrintingIn<int, Unread, UnreadToo>::Rule, Law>);
  static_assert(std::is_same_v<heddle::RuleOfPrintingIn<UnreadToo, int, Unread>::Rule, OtherLaw>);
}

TEST_CASE("what has the base is passed through no ellipsis and copied as ever") {
  static_assert(!std::is_trivially_copy_constructible_v<Unread>);
  static_assert(std::is_nothrow_default_constructible_v<Unread> && std::is_copy_constructible_v<Unread> && std::is_copy_assignable_v<Unread>);
}

TEST_CASE("plain numbers are printed by the C library") {
  std::array<char, 16> text{};
  using namespace heddle;
  CHECK(snprintf(text.data(), text.size(), "%d %.1f", 3, 0.5) == 5);
  CHECK(std::string{text.data()} == "3 0.5");
  CHECK(std::snprintf(text.data(), text.size(), "%s", "words") == 5);
  CHECK(std::string{text.data()} == "words");
}
