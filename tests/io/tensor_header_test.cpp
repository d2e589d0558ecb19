// SPDX-License-Identifier: MIT
#include "heddle/io/tensor_header.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <string>

#include "heddle/io/json_header.hpp"

using namespace heddle;

namespace {

std::string sentence(std::deque<HeaderEntry> entries, std::uint64_t data_bytes) {
  try {
    check_layout(entries, data_bytes, "file");
  } catch (const Error& error) {
    return error.what();
  }
  return "fits";
}

}  // namespace

TEST_CASE("writing and reading a header gives it back") {
  JsonHeader header;
  header.metadata = {{"format", "pt"}, {"quote \" backslash \\ line \n", "\x01 \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"}};
  header.entries = {{"linear1.weight", "F32", {50, 784}, 0, 156800}, {"step", "I64", {}, 156800, 156808}, {"none", "F32", {0, 3}, 156808, 156808}};
  const std::string json = write_json_header(header);
  const JsonHeader again = JsonHeaderReader{json, "file"}.read();
  CHECK(again.metadata == header.metadata);
  REQUIRE(again.entries.size() == header.entries.size());
  for (std::size_t i = 0; i < header.entries.size(); ++i) {
    CHECK(again.entries[i].name == header.entries[i].name);
    CHECK(again.entries[i].dtype == header.entries[i].dtype);
    CHECK(again.entries[i].shape == header.entries[i].shape);
    CHECK(again.entries[i].begin == header.entries[i].begin);
    CHECK(again.entries[i].end == header.entries[i].end);
  }
  CHECK(write_json_header(again) == write_json_header(header));
}

TEST_CASE("an empty header is two braces, and metadata alone are one entry") {
  CHECK(write_json_header({}) == "{}");
  CHECK(write_json_header({{}, {{"a", "{"}, {"b", ""}}}) == R"({"__metadata__":{"a":"{","b":""}})");
}

TEST_CASE("tensors lie one behind the other, in any order of the header, and fill the data") {
  CHECK(sentence({{"b", "F32", {2}, 4, 12}, {"e", "F32", {0}, 4, 4}, {"a", "I32", {1}, 0, 4}}, 12) == "fits");
  CHECK(sentence({{"b", "F32", {2}, 4, 12}}, 12) ==
        "[heddle.D27] file: tensor 'b' has the bytes [4, 12) but the tensors before it end at byte 0. Fix: save the file again.");
  CHECK(sentence({{"a", "F32", {2}, 0, 8}}, 9) ==
        "[heddle.D28] file: the tensors take 8 bytes but 9 follow the header. Fix: save or download the file again.");
  CHECK(sentence({{"a", "F32", {2}, 0, 4}}, 4) == "[heddle.D26] file: tensor 'a' of F32 [2] takes 8 bytes but has [0, 4). Fix: save the file again.");
  CHECK(sentence({{"a", "F16", {2}, 0, 4}}, 4) ==
        "[heddle.D25] file: tensor 'a' has elements of type 'F16'; F32, I32 and I64 are read. Fix: convert it before saving.");
}

TEST_CASE("a sentence shows a name in one line, cut at about 60 bytes between two characters") {
  CHECK(cited("a\nb\x7f,\xc2\x9b") == "'a?b?,?'");
  CHECK(cited(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
  CHECK(cited(std::string(61, 'x')) == "'" + std::string(60, 'x') + "...'");
  CHECK(cited(std::string(59, 'x') + "\xe2\x82\xac") == "'" + std::string(59, 'x') + "\xe2\x82\xac'");
  CHECK(cited(std::string(59, 'x') + "\xe2\x82\xac!") == "'" + std::string(59, 'x') + "\xe2\x82\xac...'");
  CHECK(cited(std::string(1000, '\x80')).size() == 2 + 3 + 63);
}
