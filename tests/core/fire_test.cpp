// SPDX-License-Identifier: MIT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "heddle/core/fire.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

using namespace heddle;

namespace {

struct Sound {
  static constexpr Diagnosis found{};
};

std::string joined(const Spelled& spelled) {
#if defined(__clang__)
  std::string all;
  for (const auto& piece : spelled.sentence) all += piece;
  return all;
#else
  return spelled.sentence;
#endif
}

constexpr Diagnosis broken = Diagnosis{Code{'B', 1}, ""} << "Batch<" << 63 << "> does not divide by " << 4 << " ranks.";

}  // namespace

// A holder whose Diagnosis is ok fires nothing; tests/fail has every holder that does.
static_assert(sizeof(fired<Sound>) > 0);
static_assert(std::is_same_v<fired<Sound>, rule<true, Code{}, Spelled{Sentence{}}, 0, 0, 0, 0>>);

TEST_CASE("a sentence survives as a template argument, whole and in order") {
  CHECK(joined(Spelled{broken.text}) == "[heddle.B01] Batch<63> does not divide by 4 ranks.");
  CHECK(joined(Spelled{Sentence{}}).empty());
}

TEST_CASE("the longest sentence fits, to the last character") {
  Sentence longest;
  for (int i = 0; i < 600; ++i) longest << static_cast<char>('a' + i % 26);
  REQUIRE(longest.length == 480);
  CHECK(joined(Spelled{longest}) == std::string{longest.view()});
}

TEST_CASE("rules of other codes hold when one is broken, so one fault is one error") {
  using Rule = rule<true, Code{'S', 3}, Spelled{Sentence{"words"}}>;
  static_assert(Rule::is('S', 3));
  static_assert(!Rule::is('S', 4) && !Rule::is('G', 3));
  CHECK(Rule::is('S', 3));
}
