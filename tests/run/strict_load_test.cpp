// SPDX-License-Identifier: MIT
#include "heddle/run/strict_load.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace heddle;

namespace {

std::string sentence(const std::vector<NamedShape>& wanted, const std::vector<NamedShape>& given) {
  try {
    refuse_other_tensors("Mlp", wanted, given);
  } catch (const Error& error) {
    CHECK(error.code() == Code{'D', 16});
    return error.what();
  }
  return "the same";
}

const std::vector<NamedShape> two{{"a.weight", {2, 3}}, {"a.bias", {2}}};

}  // namespace

TEST_CASE("the same tensors in any order are the same") {
  CHECK(sentence(two, two) == "the same");
  CHECK(sentence(two, {two[1], two[0]}) == "the same");
  CHECK(sentence({}, {}) == "the same");
}

TEST_CASE("the file that has other tensors is named") {
  CHECK_THROWS_WITH_AS(refuse_other_tensors("Mlp", two, {two[0]}, "runs/x"),
                       "[heddle.D16] the tensors of 'runs/x' are not those of Mlp: 'a.bias' is missing. Fix: load a file of the same model, or set "
                       "single tensors with set_parameter.",
                       Error);
}

TEST_CASE("shapes of as many elements are not the same shape") {
  CHECK(sentence(two, {{"a.weight", {6}}, {"a.bias", {2}}}) ==
        "[heddle.D16] the tensors are not those of Mlp: 'a.weight' has shape [6], not [2, 3]. Fix: load a file of the same model, or set single "
        "tensors "
        "with set_parameter.");
  CHECK(sentence(two, {{"a.weight", {3, 2}}, {"a.bias", {2, 1}, "I64"}})
            .find("'a.weight' has shape [3, 2], not [2, 3]; 'a.bias' has shape [2, 1], not "
                  "[2]; 'a.bias' is of I64, not F32. Fix:") != std::string::npos);
}

TEST_CASE("a tensor that the model does not have is told with the names that it may mean, and with none where none is near") {
  const std::vector<NamedShape> misspelt{{"a.wieght", {2, 3}}, {"a.bias", {2}}};
  CHECK(sentence(two, misspelt).find("'a.weight' is missing; 'a.wieght' is not in the model; nearest: 'a.weight'. Fix:") != std::string::npos);
  CHECK(sentence(two, {two[0], two[1], {"transformer.wte", {2}}}).find("'transformer.wte' is not in the model. Fix:") != std::string::npos);
  CHECK(nearest_names("bias", {"first.bias", "last.bias", "last.weight"}) == "; nearest: 'last.bias'");
  CHECK(nearest_names("0.bias", {"1.bias", "2.bias"}) == "; nearest: '1.bias', '2.bias'");
}

TEST_CASE("a file with thousands of other tensors is told in a sentence that can be read, and so is a long name that commands a terminal") {
  std::vector<NamedShape> many;
  for (int i = 0; i < 5000; ++i) many.push_back({"t" + std::to_string(i), {1}});
  const std::string words = sentence(two, many);
  CHECK(words.size() < 2000);
  CHECK(words.find("'a.weight' is missing; 'a.bias' is missing; 't0' is not in the model") != std::string::npos);
  CHECK(words.find("'t19' is not in the model; 4980 more are not in the model. Fix:") != std::string::npos);
  const std::string evil = sentence(two, {two[0], two[1], {"\x1b[2J" + std::string(100'000, 'x'), {1}}});
  CHECK(evil.size() < 400);
  CHECK(evil.find('\x1b') == std::string::npos);
}
