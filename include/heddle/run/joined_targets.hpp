// SPDX-License-Identifier: MIT
// Room: run. Targets of several losses, those of each row side by side.
// Sees: graph/loss, run/arrays, seams/error.  Does not see: files, data sets, policies, devices.
// In: two arrays of targets.  Out: JoinedTarget, joined_targets, TargetKinds; D07, D12.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "heddle/core/written.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Which targets of a row are class numbers and which are floats, as arrays have joined them: of a label and four floats 2 runs, of 1 and 4. A batch
/// that is made in another way has none.
///
/// Tested  run/joined_targets_test
struct TargetKinds {
  static constexpr int most = TargetRanges::most + 1;
  /// So many targets behind one another are class numbers, or floats: 4 floats.
  struct Run {
    std::int64_t targets = 0;
    bool labels = false;
  };
  Run all[most]{};
  int count = 0;

  /// Those of `first` targets of one type, if they are not known yet, and behind them `second` of another.
  template <class First, class Second> [[nodiscard]] constexpr TargetKinds joined(std::int64_t first, std::int64_t second) const {
    TargetKinds both = *this;
    if (count == 0 && std::is_same_v<First, TargetValue>) return both;  // nobody has said what they are
    if (count == 0) both.append(first, std::is_same_v<First, std::int32_t>);
    both.append(second, std::is_same_v<Second, std::int32_t>);
    return both;
  }
  constexpr void append(std::int64_t targets, bool labels) {
    if (count < most) all[count++] = {targets, labels};  // more than losses may read are refused by their number
  }
  /// Whether target `i` of a row is a class number.
  [[nodiscard]] constexpr bool is_label(std::int64_t i) const {
    int k = 0;
    while (k + 1 < count && i >= all[k].targets) i -= all[k++].targets;
    return all[k].labels;
  }
};

/// D12: a loss reads floats where the rows have class numbers, or the other way round. Both have four bytes, so nothing else would tell.
inline void refuse_other_kinds(const TargetRanges& ranges, const TargetKinds& given) {
  if (given.count == 0) return;
  for (int k = 0; k < ranges.count; ++k) {
    const TargetRange& range = ranges.all[k];
    const bool labels = range.classes > 0;
    for (std::int64_t i = range.first; i < range.first + range.features; ++i)
      if (given.is_label(i) != labels)
        throw Error(Code{'D', 12},
                    written({"target ", i, " of each row is ", (labels ? "a float" : "a class number"), ", but loss '", range.name, "' reads ",
                             (labels ? "class numbers" : "floats"),
                             " there. Fix: give the targets in the order of Losses, std::int32_t for class numbers and float for real ones."}));
  }
}

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
