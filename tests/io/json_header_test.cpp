// SPDX-License-Identifier: MIT
#include "heddle/io/json_header.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using heddle::JsonHeader;

namespace {

JsonHeader read(std::string_view json) { return heddle::JsonHeaderReader{json, "file"}.read(); }

/// The number of the code that refuses the text, and 0 if none does.
int refusal(std::string_view json) {
  try {
    (void)read(json);
  } catch (const heddle::Error& error) {
    CHECK(error.code().letter == 'D');
    CHECK(std::string{error.what()}.find(". Fix: ") != std::string::npos);
    CHECK(std::string{error.what()}.find('\n') == std::string::npos);
    return error.code().number;
  }
  return 0;
}

/// The value of the metadata key "k" whose JSON string is given.
std::string text_of(const std::string& json_string) { return read(R"({"__metadata__":{"k":)" + json_string + "}}").metadata.at("k"); }

std::string entry(const std::string& inside) { return R"({"a":{)" + inside + "}}"; }

}  // namespace

TEST_CASE("an empty header has no entries") { CHECK(read("{}   ").entries.empty()); }

TEST_CASE("white space may stand between all tokens and keys may come in any order") {
  const JsonHeader header = read("{ \"a\" :\t{ \"data_offsets\" : [ 4 , 12 ] ,\r\n \"shape\" : [ 2 ] , \"dtype\" : \"F32\" } } \n ");
  REQUIRE(header.entries.size() == 1);
  CHECK(header.entries[0].begin == 4);
  CHECK(header.entries[0].end == 12);
}

TEST_CASE("escapes mean the characters they stand for") {
  CHECK(text_of(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(text_of(R"("\u0041\u00e9\u20AC\ud83d\ude00")") == "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
}

TEST_CASE("the largest number is read and the next one refused") {
  CHECK(read(entry(R"("dtype":"F32","shape":[],"data_offsets":[0,18446744073709551615])")).entries[0].end == 18446744073709551615u);
  CHECK(refusal(entry(R"("dtype":"F32","shape":[],"data_offsets":[0,18446744073709551616])")) == 22);
}

TEST_CASE("what is not JSON of this grammar is refused") {
  for (const std::string_view json : {"", " {}", "[]", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"a\":{", "{\"a\":1}", "{\"a\":\"F32\"}",
                                      "{\"a\":[]}", "{}}", "{} x", "{,}", "{a:{}}", "nothing"})
    CHECK_MESSAGE(refusal(json) == 22, json);
  for (const char* inside :
       {R"("dtype":F32)", R"("dtype":null)", R"("shape":[1,])", R"("shape":[-1])", R"("shape":[1.5])", R"("shape":[1e3])", R"("shape":[01])",
        R"("shape":[,1])", R"("shape":[1 2])", R"("shape":["1"])", R"("shape":[[1]])", R"("shape":1)", R"("shape":[1)", R"("shape":[1],)"})
    CHECK_MESSAGE(refusal(entry(inside)) == 22, inside);
}

TEST_CASE("damaged strings are refused") {
  for (const char* text :
       {R"("\x")", R"("\u12g4")", R"("\u12")", R"("\ud83d")", R"("\ud83d\u0041")", R"("\ude00")", "\"line\nbreak\"", "\"\xFF\"", "\"\xC3\"",
        "\"\xC0\x80\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"", "\"\xF4\x90\x80\x80\"", "\"\xF0\x80\x80\x80\"", "\"\x80\""})
    CHECK_MESSAGE(refusal(R"({"__metadata__":{"k":)" + std::string{text} + "}}") == 22, text);
}

TEST_CASE("a name or key that occurs twice is refused") {
  const std::string whole = R"("dtype":"F32","shape":[],"data_offsets":[0,4])";
  CHECK(refusal("{\"a\":{" + whole + "},\"a\":{" + whole + "}}") == 23);
  CHECK(refusal("{\"a\":{" + whole + "},\"\\u0061\":{" + whole + "}}") == 23);
  CHECK(refusal("{\"a\":{" + whole + ",\"dtype\":\"F32\"}}") == 23);
  CHECK(refusal("{\"a\":{" + whole + ",\"shape\":[]}}") == 23);
  CHECK(refusal("{\"a\":{" + whole + ",\"data_offsets\":[0,4]}}") == 23);
  CHECK(refusal(R"({"__metadata__":{"k":"1","k":"2"}})") == 23);
  CHECK(refusal(R"({"__metadata__":{},"__metadata__":{}})") == 23);
}

TEST_CASE("the sentence names the file, the tensor and the place") {
  const auto words = [](std::string_view json) -> std::string {
    try {
      (void)read(json);
    } catch (const heddle::Error& error) {
      return error.what();
    }
    return "read";
  };
  CHECK(words("[]") ==
        "[heddle.D22] file: header is not that of a safetensors file. It does not start with '{' at byte 0 of its 2. Fix: save or download "
        "the file again.");
  CHECK(words(R"({"a":{"dtype":"F32","dtype":"F32"}})") == "[heddle.D23] file: key 'dtype' of tensor 'a' occurs twice. Fix: save the file again.");
  CHECK(words(entry("")) == "[heddle.D24] file: tensor 'a' lacks its key 'dtype'. Fix: save the file again.");
}

TEST_CASE("a tensor without a name, with too many dimensions, and more metadata than are read are refused") {
  const auto of_dimensions = [](std::size_t count) {
    std::string sizes = "1";
    for (std::size_t i = 1; i < count; ++i) sizes += ",1";
    return entry(R"("dtype":"F32","data_offsets":[0,4],"shape":[)" + sizes + "]");
  };
  CHECK(refusal(of_dimensions(heddle::most_dimensions)) == 0);
  CHECK(refusal(of_dimensions(heddle::most_dimensions + 1)) == 17);
  CHECK(refusal(R"({"":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})") == 15);
  std::string strings;
  for (std::size_t i = 0; i < heddle::most_metadata; ++i) strings += '"' + std::to_string(i) + R"(":"",)";
  const auto of_strings = [&](const std::string& last) { return R"({"__metadata__":{)" + strings + last + "}}"; };
  CHECK(refusal(of_strings("\"x\":\"\"")) == 17);
  strings.pop_back();
  CHECK(refusal(of_strings("")) == 0);
}

TEST_CASE("an entry has its three keys and no other") {
  CHECK(refusal(entry("")) == 24);
  CHECK(refusal(entry(R"("shape":[],"data_offsets":[0,4])")) == 24);
  CHECK(refusal(entry(R"("dtype":"F32","data_offsets":[0,4])")) == 24);
  CHECK(refusal(entry(R"("dtype":"F32","shape":[])")) == 24);
  CHECK(refusal(entry(R"("dtype":"F32","shape":[],"data_offsets":[0])")) == 24);
  CHECK(refusal(entry(R"("dtype":"F32","shape":[],"data_offsets":[0,4,8])")) == 24);
  CHECK(refusal(entry(R"("dtype":"F32","shape":[],"data_offsets":[0,4],"strides":[1])")) == 24);
  CHECK(refusal(R"({"__metadata__":{"k":1}})") == 24);
}
