// SPDX-License-Identifier: MIT
// Room: io. A Machine in a file, as JSON: what ./heddle measure writes, other programs read.
// Sees: cost/{machine, machine_check, machine_figures}, io/{file, json_words, replacement}.  Does not see: plans, processes, threads.
// In: a Machine, a path.  Out: write_machine, read_machine; M18 for what is none.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/cost/machine.hpp"
#include "heddle/cost/machine_check.hpp"
#include "heddle/cost/machine_figures.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/json_words.hpp"
#include "heddle/io/replacement.hpp"

namespace heddle::io_room {

using cost_room::each_figure, cost_room::each_part, cost_room::entries_of, cost_room::words_of;

/// Writes numbers so that they are read as the same bits.
class MachineText {
 public:
  [[nodiscard]] static std::string of(Machine machine) {
    MachineText text;
    each_figure(machine, [&](std::string_view name, auto& member) { text.member(name, member); });
    return std::move(text.text_) + "}\n";
  }

 private:
  template <class Member> void member(std::string_view name, Member& member) {
    if (member == Member{}) return;  // what is as a Machine begins with goes without saying, but for what a Machine sets
    begin(name);
    value(member);
  }
  void member(std::string_view name, double& number) { begin(name), value(number); }
  void member(std::string_view name, bool& fact) { begin(name), text_ += fact ? "true" : "false"; }
  void begin(std::string_view name) { text_.append(",\n \"").append(name).append("\": "); }
  void value(double number) { text_ += json_number(number); }
  void value(int number) { text_ += std::to_string(number); }
  void value(const Bytes& bytes) { text_ += std::to_string(bytes.value); }
  void value(const char (&kind)[25]) { text_ += json_word({kind, static_cast<std::size_t>(std::find(kind, kind + sizeof kind, '\0') - kind)}); }
  void value(CollectiveAlgorithm algorithm) { text_ += json_word(words_of(algorithm).in_files); }
  template <class Entry, std::size_t Most> void member(std::string_view name, Entry (&list)[Most]) {
    const std::size_t count = entries_of(list);
    if (count == 0) return;
    begin(name);
    for (std::size_t i = 0; i < count; ++i) {
      const char* comma = i == 0 ? "[[" : ", [";
      each_part(list[i], [&](auto& part) {
        text_ += comma;
        value(part);
        comma = ", ";
      });
      text_ += ']';
    }
    text_ += ']';
  }

  std::string text_ = "{\"heddle machine\": 1";
};

/// M18, of a file of this path.
[[nodiscard]] inline JsonRefusal no_machine(const std::string& path) {
  return {Code{'M', 18}, quoted_path(path) + " is no Machine", "give a file that ./heddle measure --json or write_machine() has written"};
}

/// Reads what MachineText writes, the members in any order: {"heddle machine": 1, "alpha": 5e-05} has an alpha of 50 microseconds.
class MachineReader {
 public:
  MachineReader(const std::string& path, std::string text) : words_(std::move(text), no_machine(path)) {}
  [[nodiscard]] Machine read() {
    Machine machine;
    words_.take('{');
    if (words_.word() != "heddle machine") words_.refuse("does not begin with \"heddle machine\"");
    words_.take(':');
    double form = 0;
    value(form);
    if (form != 1) words_.refuse("has another form than 1");
    std::string seen;
    while (words_.next(',')) {
      const std::string figure = words_.word();
      if (seen.find('"' + figure + '"') != std::string::npos) words_.refuse("has '" + figure.substr(0, 40) + "' twice");
      seen += '"' + figure + '"';
      words_.take(':');
      bool known = false;
      each_figure(machine, [&](std::string_view called, auto& member) {
        if (figure == called) known = true, value(member);
      });
      if (!known) words_.refuse("has '" + figure.substr(0, 40) + "', which is no figure of a Machine");
    }
    words_.take('}');
    words_.end();
    return machine;
  }

 private:
  template <class Member> void value(Member& member) { words_.value(member); }
  void value(Bytes& bytes) { words_.value(bytes.value); }
  void value(char (&kind)[25]) {
    const std::string named = words_.word();
    const bool printable = std::all_of(named.begin(), named.end(), [](char c) { return c > ' ' && c < 127 && c != '"' && c != '\\'; });
    if (named.empty() || named.size() >= sizeof kind || !printable) words_.refuse("has no kind of layer of 1 to 24 letters where one belongs");
    named.copy(kind, sizeof kind);
  }
  void value(CollectiveAlgorithm& algorithm) {
    const std::string named = words_.word();
    for (int i = 0; !words_of(static_cast<CollectiveAlgorithm>(i)).in_files.empty(); ++i)
      if (named == words_of(static_cast<CollectiveAlgorithm>(i)).in_files) return void(algorithm = static_cast<CollectiveAlgorithm>(i));
    words_.refuse("has '" + named.substr(0, 40) + "', which is no way to sum");
  }
  template <class Entry, std::size_t Most> void value(Entry (&list)[Most]) {
    std::size_t count = 0;
    words_.take('[');
    if (words_.next(']')) return;
    do {
      if (count == Most) words_.refuse("has a list of more than " + std::to_string(Most) + " entries");
      words_.take('[');
      bool later = false;
      each_part(list[count++], [&](auto& part) {
        if (std::exchange(later, true)) words_.take(',');
        value(part);
      });
      words_.take(']');
    } while (words_.next(','));
    words_.take(']');
  }

  JsonWords words_;
};

/// A Machine as a file of JSON, replaced at once.
///
/// Errors  D20 if it cannot be written, D31 at build if the path is none
/// Tested  io/machine_file_test, tools.measure
template <class Path> void write_machine(const Path& path, const Machine& machine) {
  const std::string text = MachineText::of(machine);
  Replacement file{path_text(path, Code{'D', 20})};
  file.append(std::as_bytes(std::span{text}));
  file.commit();
}

/// Errors  D01 if the file cannot be read, D31 at build if the path is none, M18 if it is none of a Machine or too long,
///         M16 if its figures cannot be
/// Tested  io/machine_file_test
template <class Path> [[nodiscard]] Machine read_machine(const Path& path) {
  constexpr std::uint64_t most = 1 << 16;
  const std::string name = path_text(path);
  const Machine machine = MachineReader{name, text_of_file(name, most, no_machine(name))}.read();
  if (const Diagnosis fault = check(machine); !fault.ok()) throw Error{fault};
  return machine;
}

}  // namespace heddle::io_room

namespace heddle::extending {
using io_room::read_machine, io_room::write_machine;
}  // namespace heddle::extending
