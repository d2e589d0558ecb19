// SPDX-License-Identifier: MIT
#include "heddle/io/machine_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "heddle/cost/presets.hpp"

using namespace heddle;

namespace {

/// In a folder of its own, gone at the end.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("heddle-machine-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file(const char* name) const { return (path / name).string(); }
  [[nodiscard]] std::string of(const std::string& text) const {
    std::ofstream{file("text.json")} << text;
    return file("text.json");
  }
};
std::string refusal(const std::string& path) {
  try {
    static_cast<void>(read_machine(path));
  } catch (const HeddleError& error) {
    return error.what();
  }
  return "nothing is refused";
}

/// Every member is another than that of a Machine that names nothing.
constexpr Machine everything{.alpha = 1.0 / 3,
                             .beta = 1e-9,
                             .per_flop = 1.7e-11,
                             .per_bfloat16_flop = 2e-15,
                             .per_memory_byte = 3e-10,
                             .per_call = 4e-7,
                             .per_message = 5e-7,
                             .per_collective = 6e-6,
                             .gamma = 7e-10,
                             .acknowledgement = 8e-6,
                             .memory_aside = 0.25,
                             .overlaps = false,
                             .efficiency = {{{4096, 0.1}, {1e9, 0.7}}},
                             .narrow = {{{8, 0.6}, {64, 1}}},
                             .attention = {{{8192, 0.2}, {1e8, 0.3}}},
                             .cached = {{{1e6, 4}, {1e8, 1}}},
                             .collectives = CollectiveAlgorithm::hierarchical,
                             .levels = {{8, 1e-6, 1e-11}, {64, 2e-6, 2e-11}},
                             .speeds = {{3, 5, 0.3}},
                             .layers = {{"GELU", 3e-9, 5e-9}, {"CrossEntropy", 4e-9, 0}},
                             .memory = 80_GB,
                             .devices = 512};

}  // namespace

TEST_CASE("what is written is read, to the last bit, of any machine") {
  const Folder folder;
  for (const Machine& machine : {Machine{}, everything, h100_nodes(), b200_nodes(), toy_machine(3, 7), with_speed(everything, 7, 9, 2)}) {
    write_machine(folder.file("a.json"), machine);
    CHECK(read_machine(folder.file("a.json")) == machine);
  }
}

TEST_CASE("a file that is none says where, with the remedy") {
  const Folder folder;
  CHECK(refusal(folder.of(R"({"heddle machine": 1, "alfa": 2})")) ==
        "[heddle.M18] '" + folder.file("text.json") +
            "' is no Machine: it has 'alfa', which is no figure of a Machine, at byte 29. Fix: give a file that ./heddle measure --json or "
            "write_machine() has written.");
  for (const char* const text : {"",
                                 "{",
                                 "[]",
                                 R"({"alpha": 1})",
                                 R"({"heddle machine": 2})",
                                 R"({"heddle machine": 1)",
                                 R"({"heddle machine": 1}{})",
                                 R"({"heddle machine": 1, "alpha": x})",
                                 R"({"heddle machine": 1, "beta": 1, "beta": 1})",
                                 R"({"heddle machine": 1, "alpha})",
                                 R"({"heddle machine": 1, "overlaps": 0})",
                                 R"({"heddle machine": 1, "collectives": "star"})",
                                 R"({"heddle machine": 1, "levels": [[8, 1]]})",
                                 R"({"heddle machine": 1, "devices": 1.5})",
                                 R"({"heddle machine": 1, "layers": [["", 1, 1]]})",
                                 R"({"heddle machine": 1, "layers": [["a name of more than 24 letters", 1, 1]]})",
                                 R"({"heddle machine": 1, "layers": [[1, 1, 1]]})",
                                 R"({"heddle machine": 1, "layers": [["a\"}}; b", 1, 1]]})",
                                 "{\"heddle machine\": 1, \"layers\": [[\"a\x1b[31m\", 1, 1]]}",
                                 R"({"heddle machine": 1, "levels": [[8, 1, 1], [16, 1, 1], [32, 1, 1], [64, 1, 1]]})"})
    CHECK(refusal(folder.of(text)).find("[heddle.M18] ") == 0);
}

TEST_CASE("figures that cannot be, and files that are not there, are refused as such") {
  const Folder folder;
  CHECK(refusal(folder.of(R"({"heddle machine": 1, "alpha": -1})")).find("[heddle.M16] a Machine has alpha -1.") == 0);
  CHECK(refusal(folder.of(R"({"heddle machine": 1, "alpha": inf})")).find("[heddle.M16] a Machine has alpha infinite.") == 0);
  CHECK(refusal(folder.file("none.json")).find("[heddle.D01] ") == 0);
  CHECK(refusal(folder.path.string()).find("[heddle.D01] ") == 0);
  CHECK_THROWS_AS(write_machine(folder.file("none/a.json"), Machine{}), HeddleError);
  const char* const nowhere = nullptr;
  CHECK_THROWS_AS(static_cast<void>(read_machine(nowhere)), HeddleError);
  CHECK_THROWS_AS(write_machine(nowhere, Machine{}), HeddleError);
}

TEST_CASE("a Machine in front of more than 65,536 bytes is none") {
  const Folder folder;
  const std::string text = "{\"heddle machine\": 1, \"per_flop\": 2.5}";
  CHECK(read_machine(folder.of(text + std::string(65'536 - text.size(), ' '))) == Machine{.per_flop = 2.5});
  CHECK(refusal(folder.of(text + std::string(65'536 - text.size(), ' ') + "garbage")) ==
        "[heddle.M18] '" + folder.file("text.json") +
            "' is no Machine: it has 65,543 bytes, more than 65,536. Fix: give a file that ./heddle measure --json or write_machine() has written.");
}

TEST_CASE("space between the parts is free, and an empty list is none") {
  const Folder folder;
  CHECK(read_machine(folder.of("\n{ \"heddle machine\" :1 ,\t\"per_flop\":2.5,\"levels\":[ ] }\r\n")) == Machine{.per_flop = 2.5});
}
