// SPDX-License-Identifier: MIT
// Room: run. How many outputs of a classifier have their largest value at the label.
// Sees: graph/loss, seams, run/examples, run/results.  Does not see: plans, memory, threads, any backend.
// In: outputs and the batch that they were made of.  Out: Accuracy, accuracy().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "heddle/core/written.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/results.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Whether a loss, or the rows of a batch, have class numbers as targets.
template <class Target> inline constexpr bool has_classes = std::is_same_v<Target, std::int32_t>;

/// Counts the positions at which the largest output is the one of the label: of a row one, of a sequence each of its positions. Batches may be of any
/// size, so a data set is counted batch by batch, and a smaller last batch weighs as much as it has rows.
///
/// Of equal outputs the first is the largest. A position with an output that is NaN is never right.
/// Outputs (0.1, 0.7, 0.2) and (0.4, 0.4, 0.2), labels 1 and 1: one of two is right, because the largest of the second is output 0.
///
/// Errors  D07 outputs that are not those of the batch; D08 a label that is no class; D10 the share of nothing
/// Tested  run/accuracy_test
class Accuracy {
 public:
  Accuracy() = default;
  /// Of outputs that are no evaluation: positions whose target a loss leaves out are no positions, as in
  /// Accuracy{&CrossEntropyWith<Ignored<-100>>::counts}.
  explicit Accuracy(TargetCount counts) : counts_(counts) {}
  /// Shape   outputs (rows, positions, classes), as predict() and evaluate() give them for the rows of the batch
  template <class Input> void add(std::span<const float> outputs, const Examples<std::int32_t, Input>& batch) { add(outputs, batch, counts_); }
  /// Of an evaluation positions count whose targets its loss counts.
  template <class Input> void add(const Evaluation& evaluation, const Examples<std::int32_t, Input>& batch) {
    add(std::span<const float>{evaluation.outputs}, batch, counts_ != nullptr ? counts_ : evaluation.counts);
  }

  [[nodiscard]] std::int64_t positions() const { return positions_; }
  [[nodiscard]] std::int64_t right() const { return right_; }
  /// From 0 to 1.
  [[nodiscard]] double share() const {
    if (positions_ == 0)
      throw Error(Code{'D', 10},
                  "an accuracy was asked for of no row that counts. Fix: count at least one row with a target that the loss does not ignore.");
    return static_cast<double>(right_) / static_cast<double>(positions_);
  }

 private:
  template <class Input> void add(std::span<const float> outputs, const Examples<std::int32_t, Input>& batch, TargetCount counts) {
    const std::int64_t count = batch.rows * batch.target_features;
    if (count <= 0 ? !outputs.empty() : (outputs.empty() || std::ssize(outputs) % count != 0))
      throw Error(Code{'D', 7}, written({"there are ", outputs.size(), " outputs for ", batch.rows, " rows with ", batch.target_features,
                                         " labels each. Fix: give the outputs of these rows, and the batch that they were made of."}));
    const std::int64_t classes = count <= 0 ? 0 : std::ssize(outputs) / count;
    const float* at = outputs.data();
    for (std::int64_t row = 0; row < batch.rows; ++row)
      for (std::int64_t position = 0; position < batch.target_features; ++position, at += classes) {
        const std::int32_t label = batch.target(row)[position];
        if (counts != nullptr && !counts(label)) continue;
        ++positions_;
        if (label < 0 || label >= classes)
          throw Error(Code{'D', 8}, written({"row ", row, " of the batch has label ", label, ", but the outputs have ", classes,
                                             " classes. Fix: use labels from 0 to ", classes - 1,
                                             label < 0 ? ", or say which count: Accuracy{&MyLoss::counts}." : "."}));
        right_ += is_first_largest(at, classes, label) ? 1 : 0;
      }
  }
  TargetCount counts_ = nullptr;
  /// Comparisons with NaN are false, so every one must hold.
  static bool is_first_largest(const float* outputs, std::int64_t classes, std::int64_t label) {
    const float largest = outputs[label];
    for (std::int64_t k = 0; k < classes; ++k)
      if (!(k < label ? outputs[k] < largest : outputs[k] <= largest)) return false;
    return true;
  }
  std::int64_t positions_ = 0;
  std::int64_t right_ = 0;
};

/// The share of positions whose largest output is the label, of rows that are evaluated already.
///
/// Errors  D07, D08, D10; D30 at build, of targets that are no classes
/// Tested  run/accuracy_test, fail/D30_accuracy_of_a_regression
template <class Target, class Input> [[nodiscard]] double accuracy(const Evaluation& evaluation, const Examples<Target, Input>& batch) {
  static_assert(has_classes<Target>, "[heddle.D30] accuracy() counts class numbers, but the targets are real. Fix: compare evaluation.loss.");
  if constexpr (has_classes<Target>) {
    Accuracy counted;
    counted.add(evaluation, batch);
    return counted.share();
  } else {
    return 0;
  }
}

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::Accuracy;
}  // namespace heddle::extending
