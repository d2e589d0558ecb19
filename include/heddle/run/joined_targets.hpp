// SPDX-License-Identifier: MIT
// Room: run. Targets of several losses, those of each row side by side.
// Sees: graph/loss, run/arrays, seams/error.  Does not see: files, data sets, policies, devices.
// In: two arrays of targets.  Out: JoinedTarget, joined_targets; D07.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// What targets of two arrays are together: of two arrays of labels std::int32_t, of labels and floats TargetValue.
template <class First, class Second> using JoinedTarget = std::conditional_t<std::is_same_v<First, Second>, First, TargetValue>;

/// Each row of `first`, `each_first` wide, and behind it that of `second`: rows (1, 2) and (3, 4), joined with (5) and (6), are (1, 2, 5) and (3, 4,
/// 6).
///
/// Errors  D07 `second` has no `rows` rows, or fewer where only some are taken
/// Tested  run/joined_targets_test
template <class First, class Second>
[[nodiscard]] std::vector<JoinedTarget<First, Second>> joined_targets(const First* first, std::int64_t each_first, std::span<const Second> second,
                                                                      std::int64_t each_second, std::int64_t rows, bool exactly) {
  const std::int64_t count = std::ssize(second);
  const bool whole = each_second > 0 && count % each_second == 0;
  if (const std::int64_t there = whole ? count / each_second : -1; exactly ? there != rows : there < rows)
    throw Error(Code{'D', 7}, written({"the further targets have ", count, " elements for ", rows, (rows == 1 ? " row" : " rows"), " of ",
                                       each_second, ". Fix: give rows x targets elements, and the number of targets of one row."}));
  std::vector<JoinedTarget<First, Second>> all;
  all.reserve(static_cast<std::size_t>(rows * (each_first + each_second)));
  for (std::int64_t row = 0; row < rows; ++row) {
    all.insert(all.end(), first + row * each_first, first + (row + 1) * each_first);
    const auto next = second.subspan(static_cast<std::size_t>(row * each_second), static_cast<std::size_t>(each_second));
    all.insert(all.end(), next.begin(), next.end());
  }
  return all;
}

}  // namespace heddle::run_room
