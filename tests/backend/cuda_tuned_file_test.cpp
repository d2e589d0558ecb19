// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_tuned_file.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/idx_bytes.hpp"

using namespace heddle;
using backend_room::TunedFile;
using backend_room::TunedFor;
using compute_room::TunedChoices;
using idx_bytes::Folder;
using idx_bytes::sentence;

namespace {

const TunedFor of_h200{.program = 0xf1a2b3c4d5e6f7, .rank = 2, .ranks = 4, .card = "NVIDIA H200", .cublas = 130100};
TunedChoices some() {
  TunedChoices choices;
  choices.algorithms["64,128,784,0"] = {1, 0xffffffffffffffff, 3, 4, 5, 6, 7, 0xabcdef};
  choices.algorithms["10,128,64,1"] = {};
  choices.together["64,128,784,2"] = true;
  choices.together["64,128,784,3"] = false;
  return choices;
}
std::string text_of(const std::string& path) {
  std::ifstream in{path};
  return {std::istreambuf_iterator<char>{in}, {}};
}
void put(const std::string& path, const std::string& text) { std::ofstream{path} << text; }

}  // namespace

TEST_CASE("choices are read as they were written, and where there is no file there are none") {
  const Folder folder{"tuned_file"};
  const TunedFile file{folder.path.string(), of_h200};
  CHECK(file.read().empty());
  file.write(some());
  CHECK(file.read() == some());
  file.write({});
  CHECK(file.read().empty());
  CHECK(text_of(file.path()) ==
        "choices that Heddle has tuned on a card, 1\n"
        "program 00f1a2b3c4d5e6f7, rank 2 of 4, NVIDIA H200, cuBLASLt 130100, TF32 off\nend 0\n");
}

TEST_CASE("files of another program, rank, card, library or TF32 have other names") {
  const auto name = [](auto change) {
    TunedFor of = of_h200;
    change(of);
    return of.file();
  };
  std::vector<std::string> names{of_h200.file(),
                                 name([](TunedFor& of) { of.program = 1; }),
                                 name([](TunedFor& of) { of.rank = 1; }),
                                 name([](TunedFor& of) { of.ranks = 8; }),
                                 name([](TunedFor& of) { of.card = "NVIDIA H100"; }),
                                 name([](TunedFor& of) { of.cublas = 130200; }),
                                 name([](TunedFor& of) { of.tf32 = true; })};
  CHECK(names[0].find("heddle-tuned-00f1a2b3c4d5e6f7-2-of-4-") == 0);
  std::sort(names.begin(), names.end());
  CHECK(std::unique(names.begin(), names.end()) == names.end());
}

TEST_CASE("a file that was cut, changed or put there by somebody else is refused with its line, and stays") {
  const Folder folder{"tuned_broken"};
  const TunedFile file{folder.path.string(), of_h200};
  file.write(some());
  const std::string whole = text_of(file.path());
  const auto refusal = [&](const std::string& text) {
    put(file.path(), text);
    std::string said = sentence([&] { static_cast<void>(file.read()); });
    CHECK(text_of(file.path()) == text);
    return said;
  };
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK(refusal(whole.substr(0, bytes)).find("[heddle.R43] '" + file.path() + "' has no tuned choices of this program and card: line ") == 0);
  }
  CHECK(refusal(whole + "\n").find("line 7, there are 4 choices before it. Fix: remove the file; the next trainer writes it anew.") !=
        std::string::npos);
  for (std::size_t at = 0; at < whole.size(); ++at) {  // any one byte, but for those of numbers, which mean another choice
    std::string changed = whole;
    if (std::isxdigit(static_cast<unsigned char>(whole[at])) != 0 || whole[at] == ',') continue;
    changed[at] = '~';
    CAPTURE(at);
    CHECK(refusal(changed).find("[heddle.R43] ") == 0);
  }
  const std::string twice = "together 64,128,784,2 yes\n";
  std::string doubled = whole;
  doubled.insert(whole.find(twice), twice);
  CHECK(refusal(doubled).find("it is no choice") != std::string::npos);
  CHECK(refusal(std::string(std::size_t{2} << 20U, 'x')).find("it is longer than 1 MiB") != std::string::npos);
}

TEST_CASE("a folder that is not there takes no file") {
  const TunedFile file{"/nowhere/at/all", of_h200};
  CHECK(file.read().empty());
  CHECK(sentence([&] { file.write(some()); }).find("[heddle.D20] '/nowhere/at/all/heddle-tuned-") == 0);
}

TEST_CASE("a folder is the one that is named; an empty name is none") {
  const auto named = [](const char* value) {
    return TunedFile::folder([value](const char*) { return value == nullptr ? std::nullopt : std::optional<std::string>{value}; });
  };
  CHECK_FALSE(named(nullptr).has_value());
  CHECK_FALSE(named("").has_value());
  CHECK(named("/tuned").value() == "/tuned");
}
