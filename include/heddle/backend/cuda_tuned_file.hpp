// SPDX-License-Identifier: MIT
// Room: backend. Where choices that were found on a card stay for the next run: a text file beside whose name the hash of the Program stands.
// Sees: compute/cuda/tuning, io/file, io/replacement, run/world, seams/error, core.  Does not see: plans as types, policies, which transport.
// In: a folder, what the choices are of.  Out: TunedFor, TunedFile.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/compute/cuda/tuning.hpp"
#include "heddle/core/byte_sum.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/replacement.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::backend_room {

using compute_room::TunedChoices;

/// What choices hold for: rank 2 of a Program of 4 ranks on an H200, whose cuBLASLt is 130100, without TF32. Algorithms are of one version of
/// cuBLASLt, and times of one kind of card.
struct TunedFor {
  std::uint64_t program = 0;
  int rank = 0, ranks = 1;
  std::string card;
  std::uint64_t cublas = 0;
  bool tf32 = false;

  /// The second line of the file.
  [[nodiscard]] HEDDLE_COLD std::string in_words() const {
    return written(
        {"program ", sixteen_digits(program), ", rank ", rank, " of ", ranks, ", ", card, ", cuBLASLt ", cublas, ", TF32 ", (tf32 ? "on" : "off")});
  }
  /// "heddle-tuned-00f1a2b3c4d5e6f7-2-of-4-9c0d1e2f.txt": the end is of the card, the library and TF32.
  [[nodiscard]] HEDDLE_COLD std::string file() const {
    const std::string others = sixteen_digits(byte_sum(written({card, ' ', cublas, (tf32 ? " on" : " off")})));
    return written({"heddle-tuned-", sixteen_digits(program), "-", rank, "-of-", ranks, "-", others.substr(8), ".txt"});
  }
};

/// The choices of one rank in a folder. A line for each of them, the number of these lines last, so that a file that was cut is not taken for whole:
/// "algorithm 64,128,784,... 00000000000000ff ..." has eight numbers of 16 digits, "together 64,... yes" one word.
///
/// Errors  R43 of a file that is not one of these; D01, D20
/// Tested  backend/cuda_tuned_file_test
class TunedFile {
 public:
  static constexpr std::string_view first_line = "choices that Heddle has tuned on a card, 1";
  TunedFile(const std::string& folder, TunedFor of) : of_(std::move(of)), path_(folder + "/" + of_.file()) {}
  /// The folder of HEDDLE_TUNED; none if it is not set, or empty.
  [[nodiscard]] HEDDLE_COLD static std::optional<std::string> folder(const run_room::Environment& environment = run_room::process_environment) {
    std::optional<std::string> named = environment("HEDDLE_TUNED");
    if (named && named->empty()) named.reset();
    return named;
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// None where there is no such file.
  [[nodiscard]] HEDDLE_COLD TunedChoices read() const {
    TunedChoices choices;
    if (!io_room::file_is_there(path_)) return choices;
    const std::string text = whole();
    std::string_view rest = text;
    int number = 0;
    const auto next = [&]() -> std::string_view {
      ++number;
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) refuse(number, "the file ends there");
      const std::string_view here = rest.substr(0, end);
      rest.remove_prefix(end + 1);
      return here;
    };
    if (next() != first_line) refuse(number, "it is not '" + std::string{first_line} + "'");
    if (next() != of_.in_words()) refuse(number, "it is not '" + of_.in_words() + "'");
    for (std::size_t count = 0;; ++count) {
      const std::string_view here = next();
      if (here.starts_with("end ")) {
        if (here != "end " + std::to_string(count) || !rest.empty()) refuse(number, "there are " + std::to_string(count) + " choices before it");
        return choices;
      }
      if (!take(choices, here)) refuse(number, "it is no choice");
    }
  }
  /// All of them, or the file before stays. Errors  D20
  HEDDLE_COLD void write(const TunedChoices& choices) const {
    std::string text = std::string{first_line} + "\n" + of_.in_words() + "\n";
    for (const auto& [key, algorithm] : choices.algorithms) {
      text += "algorithm " + key;
      for (const std::uint64_t word : algorithm) text += " " + sixteen_digits(word);
      text += "\n";
    }
    for (const auto& [key, yes] : choices.together) text += "together " + key + (yes ? " yes\n" : " no\n");
    text += written({"end ", choices.algorithms.size() + choices.together.size(), "\n"});
    io_room::Replacement file{path_};
    file.append(std::as_bytes(std::span{text}));
    file.commit();
  }

 private:
  static constexpr std::uint64_t most_bytes = std::uint64_t{1} << 20;

  [[noreturn]] HEDDLE_COLD void refuse(int line, const std::string& why) const {
    throw Error(Code{'R', 43}, written({"'", path_, "' has no tuned choices of this program and card: line ", line, ", ", why,
                                        ". Fix: remove the file; the next trainer writes it anew."}));
  }
  [[nodiscard]] HEDDLE_COLD std::string whole() const {
    io_room::InputFile file{path_};
    if (file.most() > most_bytes) refuse(1, "it is longer than 1 MiB");
    std::string text(static_cast<std::size_t>(file.most()), '\0');
    text.resize(file.read(std::as_writable_bytes(std::span{text})));
    return text;
  }
  /// Numbers with a comma between them.
  static bool is_key(std::string_view key) { return !key.empty() && key.find_first_not_of("0123456789,") == std::string_view::npos; }
  static bool take(TunedChoices& choices, std::string_view line) {
    const auto word = [&] {
      const std::size_t end = std::min(line.find(' '), line.size());
      const std::string_view here = line.substr(0, end);
      line.remove_prefix(std::min(end + 1, line.size()));
      return here;
    };
    const std::string_view kind = word(), key = word();
    if (!is_key(key)) return false;
    if (kind == "together") {
      const bool yes = line == "yes";
      return (yes || line == "no") && choices.together.emplace(key, yes).second;
    }
    TunedChoices::Algorithm algorithm{};
    for (std::uint64_t& number : algorithm) {
      const std::string_view digits = word();
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number, 16);
      if (digits.size() != 16 || error != std::errc{} || end != digits.data() + digits.size()) return false;
    }
    return kind == "algorithm" && line.empty() && choices.algorithms.emplace(key, algorithm).second;
  }

  TunedFor of_;
  std::string path_;
};

}  // namespace heddle::backend_room
