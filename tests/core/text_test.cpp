// SPDX-License-Identifier: MIT
#include "heddle/core/text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

using namespace heddle;

namespace {

template <Name N> constexpr std::string_view spelled() { return N.view(); }

template <class T> constexpr Text<40> written(T part) {
  Text<40> text;
  text << part;
  return text;
}

}  // namespace

static_assert(spelled<"linear1">() == "linear1");
static_assert(spelled<"">().empty());
static_assert(Text<8>{}.empty());
static_assert(Text<8>{"ab"} == Text<8>{"ab"});
static_assert(!(Text<8>{"ab"} == Text<8>{"abc"}));
static_assert(written(std::numeric_limits<std::int64_t>::min()).view() == "-9,223,372,036,854,775,808");
static_assert((Text<3>{} << "abcdef").view() == "...");

TEST_CASE("digits are grouped from five digits on, with the sign before them") {
  CHECK(written(0).view() == "0");
  CHECK(written(7).view() == "7");
  CHECK(written(-7).view() == "-7");
  CHECK(written(4096).view() == "4096");
  CHECK(written(9999).view() == "9999");
  CHECK(written(10000).view() == "10,000");
  CHECK(written(-39760).view() == "-39,760");
  CHECK(written(100000).view() == "100,000");
  CHECK(written(std::int64_t{1000000}).view() == "1,000,000");
  CHECK(written(std::numeric_limits<std::int64_t>::max()).view() == "9,223,372,036,854,775,807");
  CHECK(written(std::numeric_limits<std::int64_t>::min()).view() == "-9,223,372,036,854,775,808");
}

TEST_CASE("words, characters and numbers follow each other in the order written") {
  Text<40> text;
  text << "layer " << 2 << ' ' << std::string_view{"'relu'"};
  CHECK(text.view() == "layer 2 'relu'");
  CHECK_FALSE(text.empty());
}

TEST_CASE("a text that is too long ends in dots, says so and stays terminated") {
  Text<5> text;
  text << "abcde";
  CHECK(text.view() == "abcde");
  CHECK_FALSE(text.cut);
  text << 'f' << "gh" << 12345;
  CHECK(text.view() == "ab...");
  CHECK(text.cut);
  CHECK(text.chars[5] == '\0');
  Text<5> number;
  number << "abc" << 39760;  // 39,760 does not fit
  CHECK(number.view() == "ab...");
  Text<0> none;
  none << "a" << 1;
  CHECK(none.empty());
  CHECK(none.cut);
  CHECK(Text<2>{"abc"}.view() == "..");
}

TEST_CASE("a text taken over from another capacity is cut if it was cut before") {
  CHECK(Text<40>{Text<16>{"weight"}} == Text<40>{"weight"});
  CHECK_FALSE(Text<40>{Text<16>{"weight"}}.cut);
  CHECK(Text<40>{Text<16>{"query_projection_weight"}}.cut);
  CHECK(Text<4>{Text<16>{"weight"}}.view() == "w...");
}

TEST_CASE("a sentence quotes 40 characters of a name") {
  CHECK(quoted("short").view() == "short");
  CHECK(quoted(std::string(500, 'n')).view() == std::string(37, 'n') + "...");
}
