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

TEST_CASE("PyTorch's number of steps beside what is tracked is no tensor of a model, and is left where it is") {
  const std::vector<NamedShape> norm{{"norm.running_mean", {3}}, {"norm.running_var", {3}}};
  const auto beside = [&](const NamedShape& third) { return sentence(norm, {norm[0], norm[1], third}); };
  CHECK(beside({"norm.num_batches_tracked", {}, "I64"}) == "the same");
  CHECK(beside({"other.num_batches_tracked", {}, "I64"}).find("'other.num_batches_tracked' is not in the model") != std::string::npos);
  CHECK(beside({"norm.num_batches_tracked", {3}, "I64"}).find("is not in the model") != std::string::npos);
  CHECK(beside({"norm.num_batches_tracked", {}}).find("is not in the model") != std::string::npos);
  CHECK(sentence(two, {two[0], two[1], {"a.num_batches_tracked", {}, "I64"}}).find("is not in the model") != std::string::npos);
}

TEST_CASE("a tied tensor may have either of its names, or both with the same values") {
  const std::vector<TiedName> ties{{"head.weight", "a.weight"}, {"tail.weight", "a.weight"}};
  const auto said_of = [&](std::vector<NamedShape> given, bool same) -> std::string {
    try {
      refuse_other_tensors("Mlp", {}, two, given, ties, [&](const std::string&, const std::string&) { return same; });
    } catch (const Error& error) {
      return error.what();
    }
    return "the same";
  };
  const NamedShape head{"head.weight", {2, 3}};
  const NamedShape tail{"tail.weight", {2, 3}};
  CHECK(said_of({two[0], two[1]}, false) == "the same");
  CHECK(said_of({two[0], two[1], head, tail}, true) == "the same");
  CHECK(said_of({two[1], head}, false) == "the same");
  CHECK(given_name("a.weight", ties, {two[1], tail}) == "tail.weight");
  CHECK(given_name("a.weight", ties, {two[0], tail}) == "a.weight");
  CHECK(said_of({two[0], two[1], head}, false) ==
        "[heddle.D16] the tensors are not those of Mlp: 'head.weight' is tied to 'a.weight', but holds other values. Fix: load a file of the same "
        "model, or set single tensors with set_parameter.");
  CHECK(said_of({two[1], head, tail}, false).find("'tail.weight' is tied to 'head.weight', but holds") != std::string::npos);
  CHECK(said_of({two[0], two[1], {"head.weight", {3, 2}}}, true).find("Mlp: 'head.weight' has shape [3, 2], not [2, 3]. Fix") != std::string::npos);
  CHECK(said_of({two[0]}, true).find("'a.bias' is missing") != std::string::npos);
  CHECK(said_of({two[1]}, true).find("'a.weight' is missing") != std::string::npos);
  CHECK(said_of({two[0], two[1], {"haed.weight", {2, 3}}}, true).find("'haed.weight' is not in the model") != std::string::npos);
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

TEST_CASE("a long name is cut between characters, not within one") {
  std::string name = "x";
  for (int i = 0; i < 120; ++i) name += "\u00e9";
  std::string shown = "x";
  for (int i = 0; i < 99; ++i) shown += "\u00e9";
  CHECK(sentence(two, {two[0], two[1], {name, {1}}}).find("'" + shown + "' is not in the model") != std::string::npos);
}
