// SPDX-License-Identifier: MIT
// A Program whose lines and entries may be changed: what a wrong lowering could have made.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <vector>

#include "heddle/plan/program/program.hpp"

namespace proof_test {

using namespace heddle;

/// A copy of the lists and bodies of a Program; all else is the original's.
class MutableProgram {
 public:
  using Lines = std::function<bool(const Instruction&)>;
  using Entries = std::function<bool(const Entry&)>;

  explicit MutableProgram(const Program& from)
      : instructions(from.instructions, from.instructions + from.lists[from.roles - 1].end), lists_(from.lists, from.lists + from.roles),
        program_(from) {
    const std::array of{from.forward_bodies, from.backward_bodies, from.weight_bodies};
    int most = 0;
    for (std::size_t k = 0; k < of.size(); ++k)
      for (int c = 0; of[k] != nullptr && c < from.chunks; ++c) {
        bodies_[k].push_back(of[k][c]);
        most = of[k][c].end > most ? of[k][c].end : most;
      }
    entries.assign(from.entries, from.entries + most);
  }
  /// Leaves lines out of every list. Returns how many.
  int drop(const Lines& gone) {
    std::vector<Instruction> left;
    for (IndexRange& list : lists_) list = without(instructions, list, gone, left);
    const auto dropped = static_cast<int>(instructions.size() - left.size());
    instructions = left;
    return dropped;
  }
  /// Leaves entries out of every body: all that are `gone`, or the number-th of them alone.
  int drop_entries(const Entries& gone, int number = -1) {
    std::vector<Entry> left;
    int dropped = 0;
    int seen = 0;
    for (std::vector<IndexRange>& of : bodies_)
      for (IndexRange& body : of)
        body = without(
            entries, body,
            [&](const Entry& entry) {
              const bool goes = gone(entry) && (number < 0 || seen++ == number);
              dropped += goes ? 1 : 0;
              return goes;
            },
            left);
    entries = left;
    return dropped;
  }
  [[nodiscard]] const Program& program() {
    program_.instructions = instructions.data();
    program_.lists = lists_.data();
    program_.entries = entries.data();
    program_.forward_bodies = bodies_[0].data();
    program_.backward_bodies = bodies_[1].data();
    program_.weight_bodies = bodies_[2].data();
    return program_;
  }

  std::vector<Instruction> instructions;
  std::vector<Entry> entries;

 private:
  template <class Line, class Gone> static IndexRange without(const std::vector<Line>& all, IndexRange range, Gone gone, std::vector<Line>& left) {
    const auto begin = static_cast<int>(left.size());
    for (int i = range.begin; i < range.end; ++i)
      if (const Line& line = all[static_cast<std::size_t>(i)]; !gone(line)) left.push_back(line);
    return {begin, static_cast<int>(left.size())};
  }
  std::vector<IndexRange> lists_;
  std::array<std::vector<IndexRange>, 3> bodies_;  // forward, backward, weight
  Program program_;
};

}  // namespace proof_test
