// SPDX-License-Identifier: MIT
#include "heddle/core/rule.hpp"

#include <doctest/doctest.h>

#include <sstream>
#include <string>

#include "heddle/core/shape.hpp"

using namespace heddle;

namespace {

constexpr Diagnosis uneven(int batch, int replicas) {
  Diagnosis found{Code{'B', 1}, "a batch of "};
  found << batch << " rows does not divide by " << replicas << " replicas. Fix: name DropLast, PadLast or KeepLast.";
  return found;
}

}  // namespace

// A check is a constant expression: what it finds can be a compile error.
static_assert(Diagnosis{}.ok());
static_assert(!uneven(63, 4).ok());
static_assert(uneven(63, 4).code == Code{'B', 1});
static_assert(uneven(63, 4).code == "B01" && uneven(63, 4).code != "B10" && Code{'P', 42} == "P42");
static_assert(uneven(63, 4).words.view() == "a batch of 63 rows does not divide by 4 replicas. Fix: name DropLast, PadLast or KeepLast.");
static_assert(Diagnosis{}.words.empty() && Diagnosis{}.sentence().empty());
static_assert(label(Code{'B', 1}).view() == "[heddle.B01] " && label(Code{'B', 1}).length == 13);
static_assert(uneven(63, 4).sentence().view() ==
              "[heddle.B01] a batch of 63 rows does not divide by 4 replicas. Fix: name DropLast, PadLast or KeepLast.");

TEST_CASE("a code has two digits in its sentence") {
  CHECK(Diagnosis(Code{'M', 7}, "x").sentence().view() == "[heddle.M07] x");
  CHECK(Diagnosis(Code{'M', 42}, "x").sentence().view() == "[heddle.M42] x");
  CHECK_FALSE(Code{'M', 7} == Code{'G', 7});
  CHECK_FALSE(Code{'M', 7} == Code{'M', 8});
}

TEST_CASE("the numbers of the sentence are kept as facts in their order") {
  const Diagnosis found = uneven(63, 4);
  REQUIRE(found.number_count == 2);
  CHECK(found.numbers[0] == 63);
  CHECK(found.numbers[1] == 4);
}

TEST_CASE("more numbers than are kept still stand in the sentence") {
  Diagnosis found{Code{'C', 1}, ""};
  for (int i = 1; i <= 6; ++i) found << i;
  CHECK(found.sentence().view() == "[heddle.C01] 123456");
  CHECK(found.number_count == 4);
  CHECK(found.numbers[3] == 4);
}

TEST_CASE("a shape can be a word of the sentence") {
  Diagnosis found{Code{'G', 1}, "features "};
  found << Shape{28, 28} << '.';
  CHECK(found.sentence().view() == "[heddle.G01] features (28, 28).");
  CHECK(found.number_count == 0);
}

TEST_CASE("a sentence is printed as it is, and of what is sound nothing") {
  std::ostringstream out;
  out << Diagnosis{Code{'C', 1}, "words. Fix: other words."} << Diagnosis{};
  CHECK(out.str() == "[heddle.C01] words. Fix: other words.");
}

TEST_CASE("code, words and sentence are printed and become strings without another call") {
  const Diagnosis found = uneven(63, 4);
  std::ostringstream out;
  out << found.code << ' ' << found.words << '\n' << found.sentence();
  CHECK(out.str() ==
        "B01 a batch of 63 rows does not divide by 4 replicas. Fix: name DropLast, PadLast or KeepLast.\n" + std::string{found.sentence()});
  const std::string words = found.words;
  const std::string text{found.sentence()};
  const std::string sentence(found.sentence());
  CHECK(words == found.words.view());
  CHECK(text == "[heddle.B01] " + words);
  CHECK(sentence == text);
  std::string again;
  again = found.sentence();
  CHECK(again == text);
  CHECK(std::string{Text<4>{}}.empty());
}
