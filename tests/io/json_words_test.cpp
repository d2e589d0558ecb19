// SPDX-License-Identifier: MIT
#include "heddle/io/json_words.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

using namespace heddle;
using io_room::json_number, io_room::json_word, io_room::JsonWords;

namespace {

JsonWords words(std::string text) { return {std::move(text), {Code{'M', 18}, "'a.json' is no list", "write one"}}; }
template <class Read> std::string refusal(std::string text, Read read) {
  JsonWords of = words(std::move(text));
  try {
    read(of);
  } catch (const HeddleError& error) {
    return error.what();
  }
  return "nothing is refused";
}
std::string sentence(const std::string& what) { return "[heddle.M18] 'a.json' is no list: it " + what + ". Fix: write one."; }

}  // namespace

TEST_CASE("a text is walked through, with space anywhere between its parts") {
  JsonWords of = words(" {\"rows\"\n:\t8 , \"wide\": true,\"narrow\":false , \"x\": -2.5e-3}\r\n");
  of.take('{');
  CHECK(of.word() == "rows");
  of.take(':');
  int rows = 0;
  of.value(rows);
  CHECK(rows == 8);
  bool wide = false, narrow = true;
  of.take(',');
  CHECK(of.word() == "wide");
  of.take(':');
  of.value(wide);
  of.take(',');
  CHECK(of.word() == "narrow");
  of.take(':');
  of.value(narrow);
  CHECK((wide && !narrow));
  CHECK_FALSE(of.next('}'));
  CHECK(of.next(','));
  CHECK(of.word() == "x");
  of.take(':');
  double x = 0;
  of.value(x);
  CHECK(x == -2.5e-3);
  of.take('}');
  of.end();
}

TEST_CASE("words and numbers are read as they were written") {
  for (const std::string word : {"", "h.0 Linear<4, 3>", "a \"b\" \\ c", "\\\"", "\xc3\xa4"}) CHECK(words(json_word(word)).word() == word);
  for (const double number : {0.0, 1.0 / 3, 1e-300, -5e-324, std::numeric_limits<double>::max()}) {
    double read = 7;
    words(json_number(number)).value(read);
    CHECK(read == number);
  }
}

TEST_CASE("what does not belong is one sentence with the place") {
  CHECK(refusal("[", [](JsonWords& of) { of.take('{'); }) == sentence("has no '{' where one belongs, at byte 0"));
  CHECK(refusal("", [](JsonWords& of) { of.take('{'); }) == sentence("has no '{' where one belongs, at byte 0"));
  CHECK(refusal("\"ab", [](JsonWords& of) { (void)of.word(); }) == sentence("has a name without an end, at byte 3"));
  CHECK(refusal("\"a\\\"", [](JsonWords& of) { (void)of.word(); }) == sentence("has a name without an end, at byte 4"));
  CHECK(refusal("\"a\\", [](JsonWords& of) { (void)of.word(); }) == sentence("has a name without an end, at byte 3"));
  CHECK(refusal("\"a\\n\"", [](JsonWords& of) { (void)of.word(); }) == sentence("has an escape that is not read, at byte 3"));
  const auto number = [](JsonWords& of) {
    double x = 0;
    of.value(x);
  };
  CHECK(refusal("x", number) == sentence("has no number where one belongs, at byte 0"));
  CHECK(refusal("1e999", number) == sentence("has no number where one belongs, at byte 0"));
  const auto fact = [](JsonWords& of) {
    bool x = false;
    of.value(x);
  };
  CHECK(refusal("tru", fact) == sentence("has neither true nor false where one belongs, at byte 0"));
  CHECK(refusal(" {}", [](JsonWords& of) { of.end(); }) == sentence("goes on behind its end, at byte 1"));
}
