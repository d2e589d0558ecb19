// SPDX-License-Identifier: MIT
#include "heddle/core/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace heddle;

static_assert(code_point_at("A", 0).value == 'A');
static_assert(code_point_at("\xC3\xA9", 0).value == 0xE9 && code_point_at("\xC3\xA9", 0).bytes == 2);
static_assert(code_point_at("\xE2\x82\xAC", 0).value == 0x20AC);
static_assert(code_point_at("\xF0\x9F\x98\x80", 0).value == 0x1F600 && code_point_at("\xF0\x9F\x98\x80", 0).bytes == 4);

TEST_CASE("every code point is read back from its bytes, and surrogates and what lies beyond the last are none") {
  for (std::uint32_t c = 0; c < 0x110100; ++c) {
    std::string bytes;
    const auto put = [&](std::uint32_t byte) { bytes += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    }
    const CodePoint read = code_point_at(bytes, 0);
    const bool legal = c <= 0x10FFFF && (c < 0xD800 || c > 0xDFFF);
    const bool right = legal ? read.value == c && read.bytes == bytes.size() : read.bytes == 0;
    if (!right) FAIL("code point " << c);
    if (bytes.size() > 1 && is_utf8(bytes.substr(0, bytes.size() - 1))) FAIL("code point " << c << " without its last byte");
  }
}

TEST_CASE("bytes that are not UTF-8 are told from those that are") {
  for (const char* text : {"", "plain", "gewicht\xC3\xBC", "\xE2\x82\xAC", "\xF4\x8F\xBF\xBF"}) CHECK_MESSAGE(is_utf8(text), text);
  for (const char* text : {"gewicht\xFC", "\x80", "\xE2\x82", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF",
                           "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF", "a\xC3"})
    CHECK_FALSE_MESSAGE(is_utf8(text), printable(text));
}

TEST_CASE("characters are counted whole, and a byte that is none counts as one") {
  static_assert(characters_of("") == 0 && characters_of("gain") == 4 && characters_of("Gr\xC3\xB6\xC3\x9F\x65 \xE2\x82\xAC") == 7);
  static_assert(characters_of("\xC3") == 1 && characters_of("a\xFF\xFE") == 3);
  static_assert(first_characters("Gr\xC3\xB6\xC3\x9F\x65", 3) == "Gr\xC3\xB6" && first_characters("Gr\xC3\xB6", 9) == "Gr\xC3\xB6");
  static_assert(first_characters("Gr", 0).empty() && first_characters("\xE2\x82\xAC", 1) == "\xE2\x82\xAC");
}

TEST_CASE("what is printed commands no terminal, breaks no line and turns no text around") {
  CHECK(printable("weights of layer 1, Gr\xC3\xB6\xC3\x9F\x65 \xE2\x82\xAC") == "weights of layer 1, Gr\xC3\xB6\xC3\x9F\x65 \xE2\x82\xAC");
  CHECK(printable("\x1B[2J") == "?[2J");
  CHECK(printable("\xC2\x9B"
                  "2J") == "?2J");  // U+009B in UTF-8
  CHECK(printable("\x9B"
                  "2J") == "?2J");  // the same as a byte, which a terminal in Latin-1 obeys
  CHECK(printable("a\nb\rc\td\x7F\a") == "a?b?c?d??");
  CHECK(printable(std::string("a\0b", 3)) == "a?b");
  CHECK(printable("\xE2\x80\xAEtxt.exe") == "?txt.exe");  // right to left from here on
  CHECK(printable("a\xE2\x80\xA8"
                  "b") == "a?b");  // a separator of lines
  CHECK(printable("\xC3") == "?");
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  for (const char c : printable(all)) CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7F));
}
