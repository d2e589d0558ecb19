// SPDX-License-Identifier: MIT
// A Machine as C++ to paste into a program.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <heddle/cost/machine.hpp>
#include <string>
#include <utility>
#include <vector>

namespace machine_text {

using namespace heddle::extending;

/// Names and figures of what is not as a Machine begins with, in the order of its members.
inline std::vector<std::pair<std::string, double>> figures(const Machine& m) {
  const Machine free{};
  std::vector<std::pair<std::string, double>> all;
  const auto add = [&](const char* name, double value, double otherwise) {
    if (value != otherwise) all.emplace_back(name, value);
  };
  add("alpha", m.alpha, free.alpha);
  add("beta", m.beta, free.beta);
  add("per_flop", m.per_flop, free.per_flop);
  add("per_bfloat16_flop", m.per_bfloat16_flop, free.per_bfloat16_flop);
  add("per_memory_byte", m.per_memory_byte, free.per_memory_byte);
  add("per_call", m.per_call, free.per_call);
  add("per_message", m.per_message, free.per_message);
  add("per_collective", m.per_collective, free.per_collective);
  add("gamma", m.gamma, free.gamma);
  add("acknowledgement", m.acknowledgement, free.acknowledgement);
  return all;
}

/// Members behind each other, each on a line of its own.
class Members {
 public:
  template <class... Parts> void add(fmt::format_string<Parts...> words, Parts&&... parts) {
    text_ += (text_.empty() ? "" : ",\n                               ") + fmt::format(words, std::forward<Parts>(parts)...);
  }
  /// {{a, b}, {c, d}} of entries that are written so.
  void add_list(const char* name, const std::vector<std::string>& entries, const char* open = "{", const char* close = "}") {
    if (!entries.empty()) add(".{} = {}{}{}", name, open, fmt::join(entries, ", "), close);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// "constexpr Machine this_machine{.alpha = 1.2e-07, ...};": every member that is not as a Machine begins with, in the order in which it has them.
inline std::string as_code(const Machine& m) {
  Members all;
  for (const auto& [name, value] : figures(m)) all.add(".{} = {:.3g}", name, value);
  if (!m.overlaps) all.add(".overlaps = false");
  for (const auto& [name, curve] : {std::pair{"efficiency", &m.efficiency}, {"attention", &m.attention}, {"cached", &m.cached}}) {
    std::vector<std::string> points;
    for (int i = 0; i < curve->count(); ++i) points.push_back(fmt::format("{{{:.3g}, {:.2f}}}", curve->points[i].flops, curve->points[i].share));
    all.add_list(name, points, "{{", "}}");
  }
  constexpr const char* algorithms[] = {"ring", "recursive_doubling", "halving_doubling", "hierarchical", "fastest"};
  if (m.collectives != Machine{}.collectives) all.add(".collectives = CollectiveAlgorithm::{}", algorithms[static_cast<int>(m.collectives)]);
  std::vector<std::string> levels, speeds;
  for (int l = 0; l < m.level_count(); ++l)
    levels.push_back(fmt::format("{{{}, {:.3g}, {:.3g}}}", m.levels[l].ranks, m.levels[l].alpha, m.levels[l].beta));
  for (const RankSpeed& s : m.speeds)
    if (s != RankSpeed{}) speeds.push_back(fmt::format("{{{}, {}, {:.3g}}}", s.first, s.last, s.speed));
  all.add_list("levels", levels);
  all.add_list("speeds", speeds);
  if (m.memory.value > 0) all.add(".memory = {}_B", m.memory.value);
  if (m.devices > 0) all.add(".devices = {}", m.devices);
  return "constexpr Machine this_machine{" + all.text() + "};\n";
}

}  // namespace machine_text
