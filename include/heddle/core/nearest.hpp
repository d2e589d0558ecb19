// SPDX-License-Identifier: MIT
// Room: core. Which known names a misspelt one may mean.
// Sees: core/language.  Does not see: every other room.
// In: a word and candidates.  Out: edit_distance, Nearest.
#pragma once

#include <cstddef>
#include <string_view>

#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

/// Letters of a name that are compared: the end of a longer one is left out.
inline constexpr std::size_t most_compared = 160;

/// How many letters must be changed, added, left out or swapped with their neighbour until one word is the other: 1 from "wieght" to "weight".
/// It is counted along the two words, a letter further at a time (Wagner and Fischer; the swaps are Damerau's).
///
/// Tested  core/nearest_test
[[nodiscard]] constexpr int edit_distance(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);  // few steps of a constant expression
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  a = a.substr(0, most_compared);
  b = b.substr(0, most_compared);
  int rows[3][most_compared + 1]{};  // row i % 3: distances of the first i letters of a to the beginnings of b
  for (std::size_t j = 0; j <= b.size(); ++j) rows[0][j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int* const now = rows[i % 3];
    const int* const before = rows[(i + 2) % 3];
    now[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      now[j] = before[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      if (before[j] + 1 < now[j]) now[j] = before[j] + 1;
      if (now[j - 1] + 1 < now[j]) now[j] = now[j - 1] + 1;
      if (i < 2 || j < 2 || a[i - 1] != b[j - 2] || a[i - 2] != b[j - 1]) continue;
      if (const int swapped = rows[(i + 1) % 3][j - 2] + 1; swapped < now[j]) now[j] = swapped;
    }
  }
  return rows[a.size() % 3][b.size()];
}

/// Of the candidates that it is shown, those nearest to a word: at most three, in the order in which they came. A candidate counts if half of its
/// letters are in their place, or if one of both contains the other: "wieght" and "first.weight" are both near to "weight".
/// Nearest{"wieght"} that is shown "bias" as 0 and "weight" as 1 has count() 1 and number(0) 1.
///
/// Tested  core/nearest_test
class Nearest {
 public:
  static constexpr int most = 3;

  constexpr explicit Nearest(std::string_view word) : word_(word) {}
  constexpr void consider(std::string_view candidate, int number) {
    const bool more = word_.size() < candidate.size();
    const std::size_t shorter = more ? word_.size() : candidate.size(), longer = more ? candidate.size() : word_.size();
    const bool contained = shorter > 0 && (word_.find(candidate) != std::string_view::npos || candidate.find(word_) != std::string_view::npos);
    if (!contained && 2 * (longer - shorter) > longer) return;  // the distance is at least the difference in length
    const int distance = edit_distance(word_, candidate);
    if (!contained && 2 * static_cast<std::size_t>(distance) > longer) return;
    if (count_ > 0 && distance > distance_) return;
    if (count_ == 0 || distance < distance_) count_ = 0;
    distance_ = distance;
    if (count_ < most) numbers_[count_++] = number;
  }
  [[nodiscard]] constexpr int count() const { return count_; }
  /// The number that a candidate was shown with.
  [[nodiscard]] constexpr int number(int i) const { return numbers_[i]; }

 private:
  std::string_view word_;
  int distance_ = 0;
  int count_ = 0;
  int numbers_[most]{};
};

}  // namespace heddle::core_room
