// SPDX-License-Identifier: MIT
// Room: run. Labels of the rows that a rank has loaded: each is a class, or counts nothing.
// Sees: graph/loss, seams/error.  Does not see: plans, policies, threads, any backend.
// In: what losses read, rows of targets.  Out: D08 with the first that is no class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Target `i` of an array of targets, each of which has 4 bytes, as a class number.
[[nodiscard]] inline std::int32_t label_at(const void* targets, std::int64_t i) {
  std::int32_t label = 0;
  std::memcpy(&label, static_cast<const std::byte*>(targets) + i * std::int64_t{sizeof label}, sizeof label);
  return label;
}

[[noreturn]] HEDDLE_COLD inline void refuse_label(const TargetRange& range, std::int64_t row, std::int64_t position, std::int32_t label) {
  const std::string who = range.name.empty() ? std::string{", but the model gives "} : written({" for '", range.name, "', which has "});
  throw Error(Code{'D', 8},
              written({"row ", row, " of the batch has label ", label, (range.features > 1 ? " at position " + std::to_string(position) : ""), who,
                       range.classes, " classes. Fix: use labels from 0 to ", range.classes - 1, "."}));
}

/// `first_row`: row of the batch of the first of them.
///
/// Errors  D08 a label that is no class, and counts
/// Tested  run/labels_test, run/trainer_test
inline void refuse_other_labels(const TargetRanges& ranges, const void* targets, std::int64_t rows, std::int64_t targets_of_a_row,
                                std::int64_t first_row) {
  for (int k = 0; k < ranges.count; ++k) {
    const TargetRange& range = ranges.all[k];
    if (range.classes == 0) continue;
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i < range.features; ++i) {
        const std::int32_t label = label_at(targets, row * targets_of_a_row + range.first + i);
        if (range.counts != nullptr && !range.counts(label)) continue;
        if (label < 0 || label >= range.classes) refuse_label(range, first_row + row, i, label);
      }
  }
}

}  // namespace heddle::run_room
