// SPDX-License-Identifier: MIT
// Room: run. What one step is given, and which rows and groups belong to a rank.
// Sees: graph/loss, plan/program, mesh, seams.  Does not see: policies, threads, any backend.
// In: a Program, a rank.  Out: StepInput, rows of a grain, groups of the transport.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/labels.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"

namespace heddle::run_room {

/// What one step is given, the same on every rank. 12 rows that are given to Batch<16, PadLast> have source_rows 12 and rows 16.
struct StepInput {
  const Program* program = nullptr;
  const void* inputs = nullptr;  // of the type of the graph's first input
  const void* targets = nullptr;
  const std::uint32_t* order = nullptr;  // row -> source row, or null
  std::int64_t source_rows = 0;          // rows that are there
  std::int64_t rows = 0;                 // rows that count: source rows, or the capacity if missing rows are repeated
  std::int64_t step = 0;
  bool reporting = false;
  const void* constants = nullptr;  // of the optimizer, for one group of parameters behind the other
  float* outputs = nullptr;         // evaluation: (rows, output features)
  Observer* observer = nullptr;
  double max_norm = 0;                                         // of a plan that clips
  double max_value = std::numeric_limits<double>::infinity();  // of one that clips each value
  float loss_scale = 1;                                        // of a plan that scales its loss
  std::uint32_t options = 0;                                   // hash of the constants
  float learning_rate = 0;
  std::size_t constants_bytes = 0;  // of one group
  Seed seed{0};                     // of what layers draw
  // Of the loss, or of each of several: what counts, and of which rows; of the one that weighs classes the weights, and how many.
  std::array<CountedTargets, TargetRanges::most> counted{};
  std::int64_t rows_counted = 0;  // of a whole evaluation; 0: those of the step
  const float* class_weights = nullptr;
  std::size_t classes = 0;
  bool several = false;                               // losses, each of which is a mean already
  const void* more_inputs[Graph::most_inputs - 1]{};  // of the types of the others

  [[nodiscard]] std::int64_t counted_rows() const { return rows_counted > 0 ? rows_counted : rows; }
  [[nodiscard]] const void* input(int number) const { return number == 0 ? inputs : more_inputs[number - 1]; }
  /// What counts is that of all rows of an evaluation, if these are counted.
  void count_as(const StepInput& all) {
    counted = all.counted;
    rows_counted = all.rows_counted;
  }
  /// Row of the arrays of a row of the batch; missing rows are repeated.
  [[nodiscard]] std::int64_t source(std::int64_t row) const {
    if (row >= source_rows) row %= source_rows;
    return order == nullptr ? row : static_cast<std::int64_t>(order[row]);
  }
  /// By what the sum of losses is divided: the rows, less those of targets that count nothing. Of 4 rows of 8 targets, 8 of which are left out, it
  /// is 3.
  [[nodiscard]] double rows_of_loss(std::int64_t targets_of_a_row) const {
    if (several) return static_cast<double>(rows);
    return counted[0].rows(static_cast<double>(rows), targets_of_a_row, class_weights != nullptr);
  }
};

/// What a rank says of this step to ranks in other processes.
[[nodiscard]] inline CallPledge pledge_of(const StepInput& in) {
  CallPledge pledge;
  const bool trains = in.program->training;
  pledge.call = trains ? CallPledge::step : in.reporting ? CallPledge::evaluation : CallPledge::prediction;
  pledge.reports = trains && in.reporting ? 1 : 0;
  pledge.number = static_cast<std::int32_t>(in.step);
  pledge.rows = static_cast<std::int32_t>(in.source_rows);
  if (in.order != nullptr) pledge.order = hash_of_words({in.order, static_cast<std::size_t>(in.source_rows)});
  pledge.options = hash_of_number(static_cast<double>(in.loss_scale), hash_of_number(in.max_norm, hash_of_number(in.max_value, in.options)));
  for (std::size_t c = 0; c < in.classes; ++c)
    pledge.options = hash_of_words(std::array{std::bit_cast<std::uint32_t>(in.class_weights[c])}, pledge.options);
  for (int k = 0; k < TargetRanges::most; ++k)
    if (const CountedTargets& counted = in.counted[static_cast<std::size_t>(k)]; counted.left_out != 0 || counted.sum_of_weights != 0)
      pledge.targets = hash_of_number(counted.sum_of_weights,
                                      hash_of_number(static_cast<double>(counted.left_out), pledge.targets + 1U + static_cast<std::uint32_t>(k)));
  pledge.learning_rate = in.learning_rate;
  return pledge;
}

[[noreturn]] HEDDLE_COLD inline void refuse_no_rows(std::int64_t rows) {
  throw Error(Code{'B', 5}, written({"a batch of ", rows, " rows was given. Fix: give at least one row."}));
}

[[noreturn]] HEDDLE_COLD inline void refuse_rows(const Program& p, std::int64_t rows, std::int64_t steps, bool drops_all) {
  const std::string capacity = std::to_string(p.batch.batch);
  const std::string given = "a batch of " + std::to_string(rows) + " rows was given to a plan with Batch<" + capacity;
  if (rows > p.batch.batch) throw Error(Code{'B', 6}, written({given, ">. Fix: give at most ", capacity, " rows."}));
  const std::string smaller = ". Fix: write data.batches<MyPlan>(), or Batch<" + std::to_string(rows);
  if (drops_all)
    throw Error(Code{'B', 5},
                written({given, ", DropLast>, which leaves smaller batches out, and no step was made before", smaller, ", DropLast> in the plan."}));
  if (steps == 0 || p.batch.batch % rows == 0) throw Error(Code{'B', 5}, written({given, "> that names no remedy", smaller, "> in the plan."}));
  throw Error(Code{'B', 5}, given + "> that names no remedy. Fix: name KeepLast, PadLast or DropLast in the Batch.");
}

/// `steps`: those that were made before. A smaller batch is the last of many if a step was made and the plan's batch is no multiple of it.
///
/// Errors  B05 too few rows for a plan that names no remedy, or for the first batch of one that drops them; B06 too many; an evaluation takes any
inline void refuse_other_rows(const Program& p, std::int64_t rows, std::int64_t steps = 1) {
  if (rows < 1) refuse_no_rows(rows);
  const bool drops_all = p.batch.remedy == Remedy::drop && steps == 0;
  const bool short_of_rows = rows < p.batch.batch && (p.batch.remedy == Remedy::none || drops_all);
  if (p.training && (rows > p.batch.batch || short_of_rows)) refuse_rows(p, rows, steps, drops_all);
}

/// `name` of one of several losses.
[[noreturn]] HEDDLE_COLD inline void refuse_no_targets(std::int64_t rows, std::string_view name = {}) {
  const std::string which = name.empty() ? std::string{"the loss"} : written({"loss '", name, "'"});
  throw Error(Code{'D', 10}, written({"a batch of ", rows, (rows == 1 ? " row" : " rows"), " has no target that ", which,
                                      " counts, so there is no mean of losses. Fix: leave such batches out."}));
}

/// Counts the targets that count nothing, and adds the weights of the others if classes have some, before a step or an evaluation. Every rank is
/// given the whole batch, so none has to be asked. A label that is no class has no weight: it is refused where its row is loaded.
///
/// Errors  D10 of a step all of whose targets are left out, or have the weight 0; of several losses also of an evaluation
/// Tested  run/step_input_test, equivalence/several_losses_test
inline void count_targets(StepInput& in, std::int64_t targets_of_a_row, std::span<const float> class_weights, const TargetRanges& ranges,
                          bool all_of_an_evaluation = false) {
  in.class_weights = class_weights.empty() ? nullptr : class_weights.data();
  in.classes = class_weights.size();
  in.several = ranges.several();
  if (in.targets == nullptr || in.rows_counted > 0) return;
  for (int k = 0; k < ranges.count; ++k) {
    const TargetRange& range = ranges.all[k];
    CountedTargets& counted = in.counted[static_cast<std::size_t>(k)] = {};
    const bool weighs = range.weighs && in.class_weights != nullptr;
    if (range.counts == nullptr && !weighs) continue;
    for (std::int64_t row = 0; row < in.rows; ++row)
      for (std::int64_t i = range.first; i < range.first + range.features; ++i) {
        const std::int32_t target = label_at(in.targets, in.source(row) * targets_of_a_row + i);
        if (range.counts != nullptr && !range.counts(target))
          ++counted.left_out;
        else if (weighs && target >= 0 && target < std::ssize(class_weights))
          counted.sum_of_weights += static_cast<double>(in.class_weights[target]);
      }
    const bool none = weighs ? !(counted.sum_of_weights > 0) : counted.left_out == in.rows * range.features;
    if (none && (in.program->training || all_of_an_evaluation)) refuse_no_targets(std::min(in.rows, in.source_rows), range.name);
  }
}

/// Several losses are means over all rows of an evaluation, not over those that are taken together: what counts of all of them, before the first. Of
/// one loss what counts is added up.
/// Tested  equivalence/several_losses_test
[[nodiscard]] inline StepInput counted_whole(StepInput in, std::int64_t targets_of_a_row, std::span<const float> class_weights,
                                             const TargetRanges& ranges) {
  if (!ranges.several()) return {};
  count_targets(in, targets_of_a_row, class_weights, ranges, true);
  in.rows_counted = in.rows;
  return in;
}

/// R02: the sum of losses `of` some rows.
///
/// Tested  run/body_runner_test, equivalence/non_finite_test
/// A smaller scale mends an overflow that the scale has made, and no other.
[[noreturn]] HEDDLE_COLD inline void refuse_overflow(const StepInput& in) {
  throw NonFinite(in.step, written({"gradients of step ", in.step, " are not finite, and the loss scale is down to ",
                                    short_number(static_cast<double>(in.loss_scale))}));
}
[[noreturn]] HEDDLE_COLD inline void refuse_norm(const StepInput& in, const float& norm) {
  throw NonFinite(in.step, written({"the norm of the gradients of step ", in.step, " is ", (is_nan(norm) ? "NaN" : "infinite")}));
}
[[noreturn]] HEDDLE_COLD inline void refuse_loss(const StepInput& in, const float& sum, const std::string& of) {
  throw NonFinite(in.step, written({"the loss of step ", in.step, " is ", (is_nan(sum) ? "NaN" : "infinite"), " in ", of}));
}
/// Of a guarded plan, whose ranks know it all, also those that have no such loss.
[[noreturn]] HEDDLE_COLD inline void refuse_guarded(const StepInput& in) {
  throw NonFinite(in.step, written({"the loss of step ", in.step, " is not finite"}));
}

/// O01: weights of other classes, below 0 or no numbers, all 0, or so small or large that a sum of losses would be.
inline void refuse_class_weights(std::span<const float> weights, std::int64_t classes) {
  if (std::ssize(weights) != classes)
    throw Error(Code{'O', 1},
                written({std::ssize(weights), " class weights were given, but the model gives ", classes, " classes. Fix: give one for each."}));
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!is_finite(weights[i]) || weights[i] < 0)
      throw Error(Code{'O', 1}, written({"class ", static_cast<std::int64_t>(i), " has weight ", short_number(static_cast<double>(weights[i])),
                                         ", which must be 0 or more. Fix: leave a class out with the weight 0."}));
    if (weights[i] > 0 && !(weights[i] >= 1e-30F && weights[i] <= 1e30F))
      throw Error(Code{'O', 1},
                  written({"class ", static_cast<std::int64_t>(i), " has weight ", short_number(static_cast<double>(weights[i])),
                           ", which is not between 1e-30 and 1e30. Fix: only their ratios count; multiply all weights by one number."}));
    sum += static_cast<double>(weights[i]);
  }
  if (sum == 0) throw Error(Code{'O', 1}, "all class weights are 0, so no target would have a loss. Fix: give one class a weight above 0.");
}

/// Row of the batch of the first row of a grain of one rank.
[[nodiscard]] constexpr std::int64_t first_row(const BatchDivision& batch, int batch_position, int micro_batch, int grain) {
  return static_cast<std::int64_t>(batch.first_row_of(batch_position)) +
         static_cast<std::int64_t>(micro_batch) * batch.micro_rows_of(batch_position) + static_cast<std::int64_t>(grain) * batch.grain_rows;
}

/// Rows of a grain that a step of `rows` rows in all has there.
[[nodiscard]] constexpr std::int64_t rows_in_grain(const BatchDivision& batch, std::int64_t rows, int batch_position, int micro_batch, int grain) {
  const std::int64_t there = rows - first_row(batch, batch_position, micro_batch, grain);
  return std::clamp<std::int64_t>(there, 0, std::min(batch.grain_rows, batch.micro_rows_of(batch_position)));
}

/// Rows of a micro-batch that a step of `rows` rows in all has on all ranks together.
[[nodiscard]] constexpr std::int64_t rows_in_micro_batch(const BatchDivision& batch, std::int64_t rows, int micro_batch) {
  std::int64_t sum = 0;
  for (int position = 0; position < batch.ranks; ++position)
    for (int grain = 0; grain < batch.grains(); ++grain) sum += rows_in_grain(batch, rows, position, micro_batch, grain);
  return sum;
}

/// Position of a rank among those that split the batch, in the canonical order: shard, then data.
[[nodiscard]] constexpr int batch_position(const Program& p, Rank rank) {
  int position = 0;
  int scale = 1;
  for (const Axis a : batch_axes) {
    if (!p.batch_split[static_cast<int>(a)]) continue;
    position += scale * p.mesh.coordinate(rank, a);
    scale *= p.mesh.size(a);
  }
  return position;
}

/// The rank that keeps slice `part` of the copy of parameters that `rank` has a slice of; itself where nothing is sliced.
[[nodiscard]] constexpr Rank slice_holder(const Program& p, Rank rank, int part) {
  return p.storage.parts == 1 ? rank : p.mesh.moved(rank, p.storage.axis, part);
}

/// What one slice of a unit has of a parameter: elements begin .. begin + elements, which lie from `at` on in the slice.
/// Linear<40, 10> in a bucket of 1,024 elements, slice 1 of 4: of the weight it has 144 elements from 256 on, at 0; of the bias all 10, at 144.
struct SliceRange {
  int bucket = 0;
  std::int64_t begin = 0;
  std::int64_t elements = 0;
  std::int64_t at = 0;
};

[[nodiscard]] constexpr SliceRange slice_range(const Program& p, const ParameterPlace& place, int slice) {
  const bool frozen = p.graph->frozen(place.node);
  const auto holds = [&](const FlatBucket& b) {
    return b.role == place.role && b.frozen == frozen && b.begin <= place.begin && place.begin < b.end();
  };
  SliceRange range;
  while (!holds(p.buckets[range.bucket])) ++range.bucket;
  const FlatBucket& bucket = p.buckets[range.bucket];
  const std::int64_t first = place.begin - bucket.begin;  // of the parameter, in the bucket
  const std::int64_t own = bucket.elements / p.storage.parts;
  const std::int64_t from = first > slice * own ? first : slice * own;
  const std::int64_t to = first + place.elements < (slice + 1) * own ? first + place.elements : (slice + 1) * own;
  if (from >= to) return range;
  range.begin = from - first;
  range.elements = to - from;
  range.at = from - slice * own;
  return range;
}

}  // namespace heddle::run_room
