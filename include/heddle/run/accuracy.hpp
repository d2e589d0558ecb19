// SPDX-License-Identifier: MIT
// Room: run. How many outputs of a classifier have their largest value at the label.
// Sees: graph/losses, seams, run/examples, run/results.  Does not see: plans, memory, threads, any backend.
// In: outputs and the batch that they were made of.  Out: Accuracy, accuracy().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/losses/several_losses.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/labels.hpp"
#include "heddle/run/results.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Whether a loss, or the rows of a batch, have class numbers as targets, and nothing else.
template <class Target> inline constexpr bool has_classes = std::is_same_v<Target, std::int32_t>;
/// Whether some of them are.
template <class Target> inline constexpr bool has_some_classes = !std::is_same_v<Target, float>;

/// Where the labels of one loss lie in a row of targets, and the classes of each in a row of outputs. Of 10 and 4 outputs the second has classes 4,
/// first_output 10 and one label.
struct LabelledOutputs {
  TargetRange targets;
  std::int64_t first_output = 0;
  std::int64_t stride = 0;    ///< outputs from the classes of one label to those of the next
  std::int64_t elements = 0;  ///< of a row
};
/// Of one of several losses, by its number.
template <class Losses> [[nodiscard]] constexpr LabelledOutputs outputs_of_loss(int number, const Spec& output) {
  const PlaceOfLoss place = Losses::place_of(number, output);
  const std::int64_t classes = place.reads.shape.last();
  return {Losses::target_ranges(output).all[number], place.first, place.positions > 1 ? place.stride : classes, output.elements()};
}

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
  constexpr explicit Accuracy(TargetCount counts) : counts_(counts) {}
  /// Of one of several losses.
  constexpr explicit Accuracy(const LabelledOutputs& of) : of_(of) {}
  /// Shape   outputs (rows, positions, classes), as predict() and evaluate() give them for the rows of the batch
  template <class Target, class Input>
  requires(has_some_classes<Target>) void add(std::span<const float> outputs, const Examples<Target, Input>& batch) {
    if (!has_classes<Target> && of_.elements == 0) refuse_several();  // floats among the targets are no labels
    add(outputs, batch, of_.elements > 0 ? of_ : whole_output(outputs, batch, counts_));
  }
  /// Of an evaluation positions count whose targets its loss counts.
  template <class Target, class Input>
  requires(has_some_classes<Target>) void add(const Evaluation& evaluation, const Examples<Target, Input>& batch) {
    const std::span<const float> outputs{evaluation.outputs};
    if (of_.elements > 0) return add(outputs, batch, of_);
    if (evaluation.targets.several()) refuse_several();
    add(outputs, batch, whole_output(outputs, batch, counts_ != nullptr ? counts_ : evaluation.targets.all[0].counts));
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
  [[noreturn]] HEDDLE_COLD static void refuse_several() {
    throw Error(Code{'D', 30},
                "an accuracy was asked for of several losses together. Fix: name one of them, as in trainer.accuracy<\"digit\">(rows).");
  }
  /// Each label has as many classes.
  template <class Target, class Input>
  static LabelledOutputs whole_output(std::span<const float> outputs, const Examples<Target, Input>& batch, TargetCount counts) {
    const std::int64_t labels = batch.rows * batch.target_features;
    if (labels <= 0 ? !outputs.empty() : (outputs.empty() || std::ssize(outputs) % labels != 0)) refuse_other_outputs(outputs, batch);
    const std::int64_t classes = labels <= 0 ? 0 : std::ssize(outputs) / labels;
    return {{0, batch.target_features, classes, counts}, 0, classes, classes * batch.target_features};
  }
  template <class Target, class Input>
  [[noreturn]] HEDDLE_COLD static void refuse_other_outputs(std::span<const float> outputs, const Examples<Target, Input>& batch) {
    throw Error(Code{'D', 7}, written({"there are ", outputs.size(), " outputs for ", batch.rows, " rows with ", batch.target_features,
                                       " labels each. Fix: give the outputs of these rows, and the batch that they were made of."}));
  }
  template <class Target, class Input> void add(std::span<const float> outputs, const Examples<Target, Input>& batch, const LabelledOutputs& of) {
    if (std::ssize(outputs) != batch.rows * of.elements) refuse_other_outputs(outputs, batch);
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      const float* at = outputs.data() + row * of.elements + of.first_output;
      for (std::int64_t position = 0; position < of.targets.features; ++position, at += of.stride) {
        const std::int32_t label = label_at(batch.target(row), of.targets.first + position);
        if (of.targets.counts != nullptr && !of.targets.counts(label)) continue;
        ++positions_;
        if (label < 0 || label >= of.targets.classes)
          throw Error(Code{'D', 8}, written({"row ", row, " of the batch has label ", label, ", but the outputs have ", of.targets.classes,
                                             " classes. Fix: use labels from 0 to ", of.targets.classes - 1,
                                             label < 0 ? ", or say which count: Accuracy{&MyLoss::counts}." : "."}));
        right_ += is_first_largest(at, of.targets.classes, label) ? 1 : 0;
      }
    }
  }
  TargetCount counts_ = nullptr;
  LabelledOutputs of_{};
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

/// What an accuracy of a plan counts: all outputs of one loss, or those of the one that is named of several. AccuracyOf<Losses<...>, "digit"> begins
/// one of its ten outputs.
///
/// Errors  D30 at build, of a loss without classes, of several losses together, or of one that is none of them
/// Tested  run/accuracy_test, equivalence/several_losses_test, fail/D30_accuracy_of_a_regression, fail/D30_accuracy_of_several_losses
template <class Loss, Name... Of> struct AccuracyOf {
  static constexpr bool of_classes = has_classes<typename Loss::Target>, of_one_loss = sizeof...(Of) == 0, names_none = false;
  static constexpr Accuracy begun(const Spec&) { return Accuracy{target_count<Loss>()}; }
};
template <class... Each, Name... Of> struct AccuracyOf<graph_room::Losses<Each...>, Of...> {
  using All = graph_room::Losses<Each...>;
  static constexpr int number = [] {
    int named = -1;
    if constexpr (sizeof...(Of) == 1) (..., (named = All::number_of(Of.view())));
    return named;
  }();
  static constexpr bool of_one_loss = number >= 0, of_classes = !of_one_loss || All::said[of_one_loss ? number : 0].target == 1;
  static constexpr bool names_none = sizeof...(Of) > 0 && !of_one_loss;
  static constexpr Accuracy begun(const Spec& output) { return Accuracy{outputs_of_loss<All>(of_one_loss ? number : 0, output)}; }
};
template <class Asked, bool Sound> constexpr void check_accuracy() {
  static_assert(
      Asked::of_classes || !Sound,
      "[heddle.D30] the loss has no classes, so there is no accuracy. Fix: name CrossEntropy, or one of several losses that has classes, or use "
      "evaluate(batch).loss.");
  static_assert(!Asked::names_none || !Sound,
                "[heddle.D30] accuracy() names no loss of the plan. Fix: write the name of a LossOf that has classes, as accuracy<\"digit\">(rows).");
  static_assert(
      Asked::of_one_loss || Asked::names_none || !Asked::of_classes || !Sound,
      "[heddle.D30] an accuracy is that of one loss. Fix: of several losses name one, as accuracy<\"digit\">(rows) of LossOf<\"digit\", ...>; of "
      "a plan with one loss write accuracy(rows).");
}

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
