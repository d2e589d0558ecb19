// SPDX-License-Identifier: MIT
// Room: io. What the layers of a model were measured to take, in a file, as JSON: what ./heddle measure --profile writes, ./heddle plan reads.
// Sees: cost/search/layer_times, io/{file, json_words, replacement}.  Does not see: plans, machines, processes.
// In: LayerTimes, a path.  Out: write_profile, read_profile; M21 for what is none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "heddle/core/written.hpp"
#include "heddle/cost/search/layer_times.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/json_words.hpp"
#include "heddle/io/replacement.hpp"

namespace heddle::io_room {

/// As read_profile reads it, a line for each layer: {"heddle profile": 1, "model": "Mnist", "values": "float32", "rows": 64, "layers": [
///  [0, "linear1 Linear<784, 50>", 0.000912]]}
[[nodiscard]] inline std::string profile_text(const LayerTimes& times) {
  std::string text = written({"{\"heddle profile\": 1, \"model\": ", json_word(times.model), ", \"values\": ", json_word(name_of(times.values)),
                              ", \"rows\": ", times.rows, ", \"layers\": ["});
  const char* comma = "\n ";
  for (const LayerTime& time : times.layers) {
    text += written({comma, "[", time.layer, ", ", json_word(time.name), ", ", json_number(time.seconds.value), "]"});
    comma = ",\n ";
  }
  return text + "]}\n";
}

/// M21, of a file of this path.
[[nodiscard]] inline JsonRefusal no_profile(const std::string& path) {
  return {Code{'M', 21}, quoted_path(path) + " is no profile", "give a file that ./heddle measure --profile or write_profile() has written"};
}

/// Reads what profile_text writes, its members in that order. Whether the layers are those of a model, check_times says.
class ProfileReader {
 public:
  ProfileReader(const std::string& path, std::string text) : words_(std::move(text), no_profile(path)) {}

  [[nodiscard]] LayerTimes read() {
    LayerTimes times;
    words_.take('{');
    int form = 0;
    number("heddle profile", form);
    if (form != 1) words_.refuse("has another form than 1");
    words_.take(',');
    times.model = word("model");
    words_.take(',');
    const std::string values = word("values");
    if (values == name_of(ElementType::bfloat16))
      times.values = ElementType::bfloat16;
    else if (values != name_of(ElementType::float32))
      words_.refuse("has '" + values.substr(0, 40) + "', as which no values are kept");
    words_.take(',');
    number("rows", times.rows);
    words_.take(',');
    member("layers");
    read_layers(times);
    words_.take('}');
    words_.end();
    return times;
  }

 private:
  void member(const char* name) {
    if (words_.word() != name) words_.refuse(std::string{"lacks \""} + name + "\" where it belongs");
    words_.take(':');
  }
  template <class Number> void number(const char* name, Number& value) {
    member(name);
    words_.value(value);
  }
  [[nodiscard]] std::string word(const char* name) {
    member(name);
    return words_.word();
  }
  void read_layers(LayerTimes& times) {
    words_.take('[');
    do {
      LayerTime time;
      words_.take('[');
      words_.value(time.layer);
      words_.take(',');
      time.name = words_.word();
      words_.take(',');
      words_.value(time.seconds.value);
      words_.take(']');
      times.layers.push_back(std::move(time));
    } while (words_.next(','));
    words_.take(']');
  }

  JsonWords words_;
};

/// Times of layers as a file of JSON, replaced at once.
///
/// Errors  D20 if it cannot be written, D31 at build if the path is none
/// Tested  io/profile_file_test, tools.measure
template <class Path> void write_profile(const Path& path, const LayerTimes& times) {
  const std::string text = profile_text(times);
  Replacement file{path_text(path, Code{'D', 20})};
  file.append(std::as_bytes(std::span{text}));
  file.commit();
}

/// Errors  D01 if the file cannot be read, D31 at build if the path is none, M21 if it is no profile or has more than 1,048,576 bytes
/// Tested  io/profile_file_test, tools.plan
template <class Path> [[nodiscard]] LayerTimes read_profile(const Path& path) {
  constexpr std::uint64_t most = 1 << 20;
  const std::string name = path_text(path);
  return ProfileReader{name, text_of_file(name, most, no_profile(name))}.read();
}

}  // namespace heddle::io_room

namespace heddle::extending {
using io_room::read_profile, io_room::write_profile;
}  // namespace heddle::extending
