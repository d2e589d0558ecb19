// SPDX-License-Identifier: MIT
// A Machine as C++ to paste into a program.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstddef>
#include <heddle/cost/machine_figures.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace machine_text {

using namespace heddle;
using namespace heddle::extending;

/// Members behind each other, each on a line of its own.
class Members {
 public:
  template <class... Parts> void add(fmt::format_string<Parts...> words, Parts&&... parts) {
    text_ += (text_.empty() ? "" : ",\n                               ") + fmt::format(words, std::forward<Parts>(parts)...);
  }
  /// {{a, b}, {c, d}} of entries that are written so.
  void add_list(std::string_view name, const std::vector<std::string>& entries, const char* open, const char* close) {
    if (!entries.empty()) add(".{} = {}{}{}", name, open, fmt::join(entries, ", "), close);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A part of an entry as C++ has it.
inline std::string spelled(double x) { return fmt::format("{:.3g}", x); }
inline std::string spelled(int n) { return fmt::format("{}", n); }
inline std::string spelled(const char (&kind)[25]) { return fmt::format("\"{}\"", std::string_view{kind}); }

/// "constexpr Machine this_machine{.alpha = 1.2e-07, ...};": every member that is not as a Machine begins with, in the order in which it has them.
inline std::string as_code(const Machine& machine) {
  Members all;
  const auto write = [&]<class Figure>(std::string_view name, const Figure& figure, const Figure& otherwise) {
    if constexpr (std::is_array_v<Figure>) {
      std::vector<std::string> entries;
      for (std::size_t i = 0; i < cost_room::entries_of(figure); ++i) {
        std::vector<std::string> parts;
        cost_room::each_part(figure[i], [&](const auto& part) { parts.push_back(spelled(part)); });
        entries.push_back(fmt::format("{{{}}}", fmt::join(parts, ", ")));
      }
      constexpr bool is_curve = std::is_same_v<std::remove_extent_t<Figure>, EfficiencyPoint>;
      all.add_list(name, entries, is_curve ? "{{" : "{", is_curve ? "}}" : "}");
    } else if (figure != otherwise) {
      if constexpr (std::is_same_v<Figure, Bytes>)
        all.add(".{} = {}_B", name, figure.value);
      else if constexpr (std::is_same_v<Figure, CollectiveAlgorithm>)
        all.add(".{} = CollectiveAlgorithm::{}", name, cost_room::words_of(figure).in_code);
      else if constexpr (std::is_same_v<Figure, bool>)
        all.add(".{} = {}", name, figure);
      else
        all.add(".{} = {}", name, spelled(figure));
    }
  };
  const Machine free{};
  cost_room::each_figure(machine, [&](std::string_view name, const auto& figure) {
    cost_room::each_figure(free, [&](std::string_view other, const auto& otherwise) {
      if constexpr (std::is_same_v<decltype(figure), decltype(otherwise)>)
        if (name == other) write(name, figure, otherwise);
    });
  });
  return "constexpr Machine this_machine{" + all.text() + "};\n";
}

}  // namespace machine_text
