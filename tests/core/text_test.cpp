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
static_assert((Text<3>{} << "abcdef").view() == "abc");

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

TEST_CASE("a full text cuts what follows and stays terminated") {
  Text<5> text;
  text << "abcde";
  CHECK(text.view() == "abcde");
  text << 'f' << "gh" << 12345;
  CHECK(text.view() == "abcde");
  CHECK(text.chars[5] == '\0');
  Text<5> cut;
  cut << "abc" << 39760;  // 39,760 does not fit: its first characters stay
  CHECK(std::string{cut.view()} == "abc39");
  Text<0> none;
  none << "a" << 1;
  CHECK(none.empty());
}
