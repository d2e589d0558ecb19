// SPDX-License-Identifier: MIT
// Room: graph. A name for a layer: its parameters are called "name.weight" instead of "2.weight".
// Sees: core, graph/composite.  Does not see: policies, devices, memory.
// In: a name and a layer type.  Out: Named<"linear1", L>; the rules of names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/text.hpp"
#include "heddle/graph/composite.hpp"

namespace heddle::graph_room {

/// Names L as a state_dict does.
///
/// Errors  G04 at build if a name is empty, contains a dot or a star, stands twice among its siblings, or stands around another name
/// Tested  graph/named_test
template <Name Label, class L = void> struct Named : PlacesLayers {
  static constexpr auto label = Label;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) { return tracer.template named<L>(Label.view(), value); }
};

/// The name of a layer type, empty if it has none.
template <class L> [[nodiscard]] constexpr std::string_view label_of() {
  if constexpr (requires { L::label.view(); })
    return L::label.view();
  else
    return {};
}

/// Can stand in a state_dict, whose names are joined by dots; a star stands for the number of a repetition.
[[nodiscard]] constexpr bool is_name(std::string_view label) {
  for (const char c : label)
    if (c == '.' || c == '*') return false;
  return !label.empty();
}

/// The place that a label names if it is written as one: 2 for "2", -1 for "linear1", "02" and "".
[[nodiscard]] constexpr int place_named(std::string_view label) {
  if (label.empty() || label.size() > 9 || (label.size() > 1 && label.front() == '0')) return -1;
  int number = 0;
  for (const char c : label) {
    if (c < '0' || c > '9') return -1;
    number = 10 * number + (c - '0');
  }
  return number;
}

/// G04: the name of one layer L, `place` says where. A name around another one would be lost.
template <class L> [[nodiscard]] constexpr Diagnosis check_label(std::string_view name, std::string_view place) {
  if (!is_name(name))
    return Diagnosis{Code{'G', 4}, ""} << "the name '" << quoted(name).view() << "' of a layer " << place
                                       << " cannot stand in a state_dict: it is empty or has a dot or a star. Fix: use letters, digits and "
                                          "underscores.";
  if constexpr (requires { L::is_composite; })
    if (const std::string_view inner = label_of<L>(); !inner.empty())
      return Diagnosis{Code{'G', 4}, ""} << "the layer named '" << quoted(name).view() << "' " << place << " is named '" << quoted(inner).view()
                                         << "' too, but a state_dict has one name for it. Fix: keep one of them, or put Sequential between both.";
  return {};
}

/// Finds equal labels among many. They are sorted by a number made of their letters (FNV-1a), so that a thousand are no million comparisons in a
/// constant expression.
template <int Count> struct SortedLabels {
  const std::string_view* labels;
  const bool* labelled;
  std::uint64_t numbers[std::size_t{Count + 1}]{};
  int order[2][std::size_t{Count + 1}]{};
  int count = 0;

  constexpr SortedLabels(const std::string_view* all, const bool* which) : labels(all), labelled(which) {
    for (int i = 0; i < Count; ++i) {
      if (!labelled[i]) continue;
      numbers[i] = 14695981039346656037ull;
      for (const char c : labels[i]) numbers[i] = (numbers[i] ^ static_cast<unsigned char>(c)) * 1099511628211ull;
      order[0][count++] = i;
    }
    for (int width = 1; width < count; width *= 2) {
      for (int begin = 0; begin < count; begin += 2 * width) merge(begin, begin + width, begin + 2 * width);
      for (int i = 0; i < count; ++i) order[0][i] = order[1][i];
    }
  }
  /// The first layer whose label stood before, and that layer; -1 if there is none.
  [[nodiscard]] constexpr int first_twice(int& earlier) const {
    int found = -1;
    for (int k = 1; k < count; ++k)
      for (int before = k - 1; before >= 0 && numbers[order[0][before]] == numbers[order[0][k]]; --before) {
        const int i = order[0][k];
        if (labels[i] != labels[order[0][before]] || (found >= 0 && found < i)) continue;
        found = i;
        earlier = order[0][before];
      }
    return found;
  }

 private:
  constexpr void merge(int begin, int middle, int end) {
    if (middle > count) middle = count;
    if (end > count) end = count;
    int left = begin;
    int right = middle;
    for (int to = begin; to < end; ++to)
      order[1][to] = left < middle && (right == end || numbers[order[0][left]] <= numbers[order[0][right]]) ? order[0][left++] : order[0][right++];
  }
};

/// G04: the names of layers that stand side by side, `place` says where.
template <int Count>
[[nodiscard]] constexpr Diagnosis check_sibling_names(const std::string_view* labels, const bool* labelled, std::string_view place) {
  bool any = false;
  for (int i = 0; i < Count; ++i) {
    if (!labelled[i]) continue;
    any = true;
    const auto broken = [&] { return Diagnosis{Code{'G', 4}, ""} << "the name '" << quoted(labels[i]).view() << "' of layer " << i << ' ' << place; };
    if (!is_name(labels[i]))
      return broken() << " cannot stand in a state_dict: it is empty or has a dot or a star. Fix: use letters, digits and underscores.";
    if (const int j = place_named(labels[i]); j >= 0 && j < Count && !labelled[j])
      return broken() << " is the number of layer " << j << ". Fix: use a name that is no number.";
  }
  if (!any) return {};
  int earlier = 0;
  const int twice = SortedLabels<Count>{labels, labelled}.first_twice(earlier);
  if (twice < 0) return {};
  return Diagnosis{Code{'G', 4}, ""} << "the name '" << quoted(labels[twice]).view() << "' stands twice " << place << ": as layer " << earlier
                                     << " and as layer " << twice << ". Fix: rename one of them.";
}

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Named;
}  // namespace heddle
