// SPDX-License-Identifier: MIT
#include "heddle/io/profile_file.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Net : Sequential<Named<"in \"1\"", Linear<4, 3>>, ReLU, Linear<3, 2>> {};

/// In a folder of its own, gone at the end.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("heddle-profile-" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  [[nodiscard]] std::string file() const { return (path / "profile.json").string(); }
  [[nodiscard]] std::string of(const std::string& text) const {
    std::ofstream{file()} << text;
    return file();
  }
};
std::string refusal(const std::string& path) {
  try {
    static_cast<void>(read_profile(path));
  } catch (const HeddleError& error) {
    return error.what();
  }
  return "nothing is refused";
}
LayerTimes measured() { return layer_times(graph_of<Net>, 8, {Seconds{1.0 / 3}, Seconds{0}, Seconds{2e-7}}); }

}  // namespace

TEST_CASE("what is written is read as the same bits, also names with quotes and values as bfloat16") {
  const Folder folder;
  LayerTimes times = measured();
  write_profile(folder.file(), times);
  CHECK(read_profile(folder.file()) == times);
  times.values = ElementType::bfloat16;
  write_profile(folder.file(), times);
  CHECK(read_profile(folder.file()) == times);
}

TEST_CASE("a file that is no profile is one sentence with a place") {
  const Folder folder;
  const std::string text = io_room::profile_text(measured());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return refusal(folder.of(changed));
  };
  const auto says = [](const std::string& sentence, const std::string& what) {
    CAPTURE(sentence);
    CHECK(sentence.find("profile.json' is no profile: it " + what) != std::string::npos);
    CHECK(sentence.find("[heddle.M21] ") == 0);
    CHECK(sentence.find(". Fix: give a file that ./heddle measure --profile or write_profile() has written.") != std::string::npos);
  };
  says(refusal(folder.of("hello")), "has no '{' where one belongs, at byte 0");
  says(refusal(folder.of("")), "has no '{' where one belongs, at byte 0");
  says(refusal(folder.of("{\"heddle machine\": 1}")), "lacks \"heddle profile\" where it belongs");
  says(with("profile\": 1", "profile\": 2"), "has another form than 1");
  says(with("float32", "float8"), "has 'float8', as which no values are kept");
  says(with("\"rows\": 8", "\"rows\": many"), "has no number where one belongs");
  says(with("\"layers\"", "\"lines\""), "lacks \"layers\" where it belongs");
  says(with("2e-07", "1e999"), "has no number where one belongs");
  says(with("2e-07", "\"slow\""), "has no number where one belongs");
  says(with("[1, ", "["), "has no number where one belongs");
  says(with("]}", "}"), "has no ']' where one belongs");
  says(with("]}", "]}{"), "goes on behind its end");
  CHECK(refusal((folder.path / "none.json").string()).find("[heddle.D01]") == 0);
}

TEST_CASE("a profile in front of more than 1,048,576 bytes is none") {
  const Folder folder;
  std::string text = io_room::profile_text(measured());
  text.resize(1 << 20, ' ');
  CHECK(read_profile(folder.of(text)) == measured());
  CHECK(refusal(folder.of(text + "garbage")).find("' is no profile: it has 1,048,583 bytes, more than 1,048,576. Fix: ") != std::string::npos);
}

TEST_CASE("numbers that a time cannot be are read, and refused where the layers are known") {
  const Folder folder;
  std::string text = io_room::profile_text(measured());
  text.replace(text.find("2e-07"), 5, "nan");
  CHECK(check_times(graph_of<Net>, read_profile(folder.of(text))).code == "M22");
}
