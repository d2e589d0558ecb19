// SPDX-License-Identifier: MIT
#include "heddle/report/json.hpp"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

using namespace heddle;

TEST_CASE("strings of any bytes are read back as they were, but for bytes that are no UTF-8") {
  for (unsigned first = 0; first < 0x80; ++first)
    for (const std::string& rest : {std::string{}, std::string{"\xE6\xB1\x89"}, std::string{"\\u0041\"/"}}) {
      const std::string text = static_cast<char>(first) + rest;
      CHECK(nlohmann::json::parse(json_string(text)).get<std::string>() == text);
    }
  CHECK(json_string("\xFF\xC0 a") == "\"?? a\"");
  CHECK(json_string(std::string_view{"\0\x1F\x7F", 3}) == "\"\\u0000\\u001f\\u007f\"");
  CHECK(json_string("\"\\") == "\"\\\"\\\\\"");
}

TEST_CASE("an object has its members in the order in which they were added") {
  const JsonObject inner = JsonObject{}.add("a b", true);
  const std::string text = JsonObject{}.add("ph", "X").add("n", std::int64_t{-9'000'000'000}).member("ts", "0.001").add("args", inner).text();
  CHECK(text == R"({"ph":"X","n":-9000000000,"ts":0.001,"args":{"a b":true}})");
  CHECK(nlohmann::json::parse(text)["args"]["a b"] == true);
  CHECK(JsonObject{}.text() == "{}");
  CHECK(JsonObject{}.empty());
}
