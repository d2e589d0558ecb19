// SPDX-License-Identifier: MIT
// A Machine as C++ to paste into a program.
#pragma once

#include <fmt/core.h>

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
  add("per_memory_byte", m.per_memory_byte, free.per_memory_byte);
  add("per_call", m.per_call, free.per_call);
  add("per_message", m.per_message, free.per_message);
  add("per_collective", m.per_collective, free.per_collective);
  add("gamma", m.gamma, free.gamma);
  return all;
}

/// "constexpr Machine this_machine{.alpha = 1.2e-07, ...};"
inline std::string as_code(const Machine& m) {
  std::string text = "constexpr Machine this_machine{";
  const char* const next = ",\n                               ";
  const char* comma = "";
  for (const auto& [name, value] : figures(m)) {
    text += fmt::format("{}.{} = {:.3g}", comma, name, value);
    comma = next;
  }
  if (!m.overlaps) text += fmt::format("{}.overlaps = false", comma), comma = next;
  for (const auto& [name, curve] : {std::pair{"efficiency", &m.efficiency}, {"attention", &m.attention}, {"cached", &m.cached}}) {
    if (curve->count() == 0) continue;
    text += fmt::format("{}.{} = {{{{", comma, name);
    for (int i = 0; i < curve->count(); ++i)
      text += fmt::format("{}{{{:.3g}, {:.2f}}}", i == 0 ? "" : ", ", curve->points[i].flops, curve->points[i].share);
    text += "}}";
    comma = next;
  }
  return text + "};\n";
}

}  // namespace machine_text
