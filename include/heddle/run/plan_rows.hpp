// SPDX-License-Identifier: MIT
// Room: run. The rows of a data set held against a plan, once and before the first step.
// Sees: seams, plan, run/examples.  Does not see: where rows come from, any backend.
// In: a plan, rows.  Out: the rows of a batch of the plan, or one sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "heddle/core/rule.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/input_elements.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// D33 or D12, or what refuses the plan: inputs or targets of a data set that the plan does not take.
template <class Asked, class Target, class Input = float> struct RowsOfData {
  static constexpr Diagnosis find() {
    if constexpr (!Verdict<Asked>::found.ok())
      return Verdict<Asked>::found;
    else
      return WrongRows<typename Asked::Request, Target, Input>::found;
  }
  static constexpr Diagnosis found = find();
};

/// What a plan takes of each row, as plain numbers: one function compares them for all plans.
/// A model of 784 inputs with CrossEntropy over 10 classes and Batch<64> has inputs 784, targets 1, classes 10 and batch 64.
struct RowsOfPlan {
  std::string_view model;
  std::int64_t inputs = 0;
  std::int64_t targets = 0;  ///< 0: not asked
  std::int64_t classes = 0;  ///< of a loss that takes class numbers, else 0
  std::int64_t batch = 1;
  bool has_remedy = false;
};

/// Errors  D07 rows of another shape, D08 more classes than outputs, B05 a smaller last batch without a remedy
inline void refuse_other_data(const RowsOfPlan& plan, std::int64_t rows, std::int64_t inputs, std::int64_t targets, std::int64_t classes) {
  const auto number = [](std::int64_t n, const char* one, const char* many) { return std::to_string(n) + (n == 1 ? one : many); };
  const std::string model{plan.model};
  if (inputs != plan.inputs)
    throw Error(Code{'D', 7}, written({"the data set has ", number(inputs, " feature", " features"), " a row, but ", model, " takes ", plan.inputs,
                                       ". Fix: give rows of the model's shape, or the model the shape of the rows."}));
  if (plan.targets != 0 && targets != plan.targets)
    throw Error(Code{'D', 7}, written({"the data set has ", number(targets, " target", " targets"), " a row, but the loss of ", model, " takes ",
                                       plan.targets, ". Fix: give as many targets a row as the loss takes."}));
  if (plan.classes != 0 && classes > plan.classes)
    throw Error(Code{'D', 8}, written({"the data set has ", number(classes, " class", " classes"), ", but ", model, " gives ", plan.classes,
                                       ". Fix: give the last layer ", classes, " outputs, or the data set its own number of classes."}));
  if (const std::int64_t last = rows % plan.batch; last != 0 && !plan.has_remedy)
    throw Error(Code{'B', 5}, written({"the data set has ", number(rows, " row", " rows"), ", so its last batch has ", last, ", and Batch<",
                                       plan.batch, "> names no remedy. Fix: name KeepLast, PadLast or DropLast in the Batch."}));
}

/// The rows of a batch of the plan; 1 where a rule has refused it. The caller fires RowsOfData, as near to the user as it is.
///
/// Errors  D07, D08, B05
/// Tested  run/plan_rows_test, fail/D12_labels_for_a_regression, fail/D33_floats_for_token_ids
template <class Asked, class Target, class Input>
[[nodiscard]] std::int64_t batch_rows_of(const Examples<Target, Input>& all, std::int64_t class_count) {
  if constexpr (RowsOfData<Asked, Target, Input>::found.ok()) {
    using Request = typename Asked::Request;
    constexpr TargetRanges targets = target_ranges_of<typename Request::Loss>(Request::graph.output());
    constexpr bool one_sort = targets.all[0].features == Request::target_features;  // else a data set has classes of one loss, or of several
    const RowsOfPlan asked{Request::graph.model.view(),
                           Request::graph.input.elements(),
                           Request::trains ? Request::target_features : 0,
                           one_sort ? targets.fewest_classes() : 0,
                           Request::batch_request.batch,
                           Request::batch_request.remedy != Remedy::none};
    refuse_other_inputs(Request::graph, element_type<Input>, all.more);
    refuse_other_data(asked, all.rows, all.input_features, all.target_features, class_count);
    return asked.batch;
  } else {
    return 1;
  }
}

}  // namespace heddle::run_room
