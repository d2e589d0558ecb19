// SPDX-License-Identifier: MIT
#include "heddle/core/fire.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

using namespace heddle;

namespace {

struct Sound {
  static constexpr Diagnosis found{};
};

// clang gets lines that are filled up with blanks.
template <int Extent> std::string joined(const Spelled<Extent>& spelled) {
#if defined(__clang__)
  std::string all;
  for (const auto& row : spelled.sentence)
    for (const auto& line : row) {
      const std::string words{line};
      const auto end = words.find_last_not_of(' ') + 1;
      if (end > 0) all += (all.empty() ? "" : " ") + words.substr(0, end);
    }
  return all;
#else
  return spelled.sentence;
#endif
}

constexpr Diagnosis broken = Diagnosis{Code{'B', 1}, ""} << "Batch<" << 63 << "> does not divide by " << 4 << " ranks.";

}  // namespace

// A holder whose Diagnosis is ok fires nothing; tests/fail has every holder that does.
static_assert(sizeof(fired<Sound>) > 0);
static_assert(heard(static_cast<fired<Sound>*>(nullptr)));
static_assert(std::is_same_v<fired<Sound>, rule<true, Code{}, Spelled<0>{Sentence{}}, 0, 0, 0, 0>>);

TEST_CASE("a sentence survives as a template argument, whole and in order") {
  CHECK(joined(Spelled<spelled_extent(broken.sentence())>{broken.sentence()}) == "[heddle.B01] Batch<63> does not divide by 4 ranks.");
  CHECK(joined(Spelled<0>{Sentence{}}).empty());
}

TEST_CASE("the longest sentence fits, to the last character") {
  static constexpr Sentence longest = [] {
    Sentence text;
    for (int i = 0; i < 120; ++i) text << "abc ";
    text.chars[text.length - 1] = '.';
    return text;
  }();
  static_assert(longest.length == 480);
  CHECK(joined(Spelled<spelled_extent(longest)>{longest}) == std::string{longest.view()});
}

TEST_CASE("quotes become backticks, which compilers print as they are") {
  static constexpr Sentence quoted{"layer 'a'"};
  CHECK(joined(Spelled<spelled_extent(quoted)>{quoted}) == "layer `a`");
}

#if defined(__clang__)
TEST_CASE("clang gets whole words in lines of 36 characters, ten lines a row") {
  static constexpr Sentence words{"the value before it has 50 features, of which none is left."};
  constexpr Spelled<spelled_extent(words)> spelled{words};
  static_assert(spelled_extent(words) == 2);
  CHECK(std::string{spelled.sentence[0][0]} == "the value before it has 50 features,");
  CHECK(std::string{spelled.sentence[0][1]} == "of which none is left.              ");
}
#endif

TEST_CASE("rules of other codes hold when one is broken, so one fault is one error") {
  // Complete only if no static_assert of it fails: no rule has the code S99.
  static_assert(sizeof(rule<false, Code{'S', 99}, Spelled<0>{Sentence{}}>) > 0);
  static_assert(sizeof(rule<true, Code{'S', 3}, Spelled<0>{Sentence{}}>) > 0);
  CHECK(Code{'S', 3} != Code{'S', 4});
}
