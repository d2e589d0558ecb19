// SPDX-License-Identifier: MIT
// Room: run. One global batch as the trainer takes it: a view of rows that lie somewhere else, in an order of its own.
// Sees: core, graph/loss, seams/error.  Does not see: files, data sets, policies, devices.
// In: inputs, targets, an order.  Out: Examples, which copies nothing and owns at most what nobody else does; Batches, a range of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/written.hpp"
#include "heddle/run/arrays.hpp"
#include "heddle/run/joined_targets.hpp"
#include "heddle/run/more_inputs.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<ExamplesHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::run_room {

template <class Target, class Input = float> class Batches;
template <class Target, class Input> struct Examples;
/// What examples() and with_targets() give of arrays that they refuse: a batch of any inputs and targets, so that nothing else is refused.
struct NoExamples {
  template <class Target, class Input> operator Examples<Target, Input>() const { return {}; }  // NOLINT(google-explicit-constructor)
};

/// D07: rows that a batch does not have.
[[noreturn]] HEDDLE_COLD inline void refuse_slice(std::int64_t first, std::int64_t count, std::int64_t rows) {
  const std::int64_t there = rows == 0 ? 0 : std::clamp<std::int64_t>(first, 0, rows - 1);
  const auto call = [](std::int64_t from, std::int64_t how_many) { return written({"slice(", from, ", ", how_many, ")"}); };
  throw Error(Code{'D', 7},
              written({call(first, count), " asks for ", count, (count == 1 ? " row" : " rows"), " from row ", first, " on, but the batch has ", rows,
                       ". Fix: write ", call(there, std::clamp<std::int64_t>(count, 0, rows - there)), "."}));
}

/// D18: data.batches() without a number.
template <class Target> constexpr void refuse_batches_of_no_size() {
  static_assert(std::is_void_v<Target>,
                "[heddle.D18] batches() is not told how many rows a batch has. Fix: write batches<MyPlan>() of a data set, or batches<64>().");
}

/// A batch: row i of it is row source_row(i) of the arrays. What a data set gives, and arrays that are given as temporaries, live as long as the
/// batch and its slices; other arrays, what a span looks at, and an order that is set by hand, must outlive them. 64 rows of 20 features are 1,280
/// inputs. Input is float, std::int32_t for a model that begins with token ids, or std::uint8_t for one that begins with bytes.
///
/// Shape   inputs (source rows, input_features), targets (source rows, target_features), both row-major
/// Errors  D07 a slice of rows that are not there; D11 batches of no rows
/// Tested  run/examples_test
template <class Target, class Input = float> struct Examples {
  const Input* inputs = nullptr;
  const Target* targets = nullptr;
  std::int64_t rows = 0;
  std::int64_t input_features = 0;
  std::int64_t target_features = 1;      // class labels: 1, or one for each position
  const std::uint32_t* order = nullptr;  // (rows), or null: rows 0 to rows - 1 as they lie
  std::shared_ptr<const void> owner{};   // of what the pointers point to, or null
  MoreInputs more{};                     // of a model that begins with Inputs<...>: all but the first
  TargetKinds kinds{};                   // of targets that were joined

  [[nodiscard]] constexpr std::int64_t source_row(std::int64_t row) const { return order == nullptr ? row : order[row]; }
  [[nodiscard]] constexpr const Input* input(std::int64_t row) const { return inputs + source_row(row) * input_features; }
  [[nodiscard]] constexpr const Target* target(std::int64_t row) const { return targets + source_row(row) * target_features; }

  /// Rows first to first + count - 1: slice(96, 4) is rows 96 to 99.
  [[nodiscard]] constexpr Examples slice(std::int64_t first, std::int64_t count) const {
    if (first < 0 || count < 0 || first > rows || count > rows - first) refuse_slice(first, count, rows);
    Examples part = *this;
    part.rows = count;
    if (order != nullptr) {
      part.order = order + first;
    } else if (first > 0) {
      part.inputs = inputs + first * input_features;
      if (targets != nullptr) part.targets = targets + first * target_features;
      part.more.skip(first);
    }
    return part;
  }
  /// The same batch with one more input, the next of a model that begins with Inputs<...>: examples(ids, labels, 8).with_input(positions, 8). A
  /// temporary is kept with the batch; of a batch in an order the array has the source rows. Errors  D07 another number of rows; D34 a fifth input;
  /// D18 at build, of an array of other elements
  template <class Array> [[nodiscard]] Examples with_input(Array&& array, std::int64_t features) const {
    using Element = ElementOf<Array>;
    static_assert(
        !std::is_void_v<Element>,
        "[heddle.D18] an input has floats, std::int32_t token ids or std::uint8_t bytes. Fix: give a std::vector of them, and the number of "
        "elements of a row.");
    Examples with = *this;
    if constexpr (!std::is_void_v<Element>) {
      auto kept = kept_array<Element>(std::forward<Array>(array));
      const auto held = std::make_shared<const std::pair<std::shared_ptr<const void>, decltype(kept)>>(owner, std::move(kept));
      const std::span<const Element> seen{held->second};
      with.more.append(further_rows(seen, features), source_rows(), order == nullptr);
      if constexpr (is_temporary_array<Array>) with.owner = held;
    }
    return with;
  }
  /// The same batch with further targets, those of the next of several losses: examples(images, labels, 784).with_targets(angles, 1). They are
  /// copied; of a batch in an order the array has the source rows. Errors  D07 another number of rows; D18 at build, an array of other elements
  template <class Array> [[nodiscard]] auto with_targets(Array&& array, std::int64_t features) const {
    using Element = std::conditional_t<has_elements<Array, float>, float, std::int32_t>;
    static_assert(has_elements<Array, Element>,
                  "[heddle.D18] further targets are std::int32_t labels or floats. Fix: give a std::vector of them, and how many a row has.");
    if constexpr (has_elements<Array, Element>) {
      using Joined = JoinedTarget<Target, Element>;
      auto all = std::make_shared<const std::pair<std::shared_ptr<const void>, std::vector<Joined>>>(
          owner, joined_targets<Target, Element>(targets, target_features, array, features, source_rows(), order == nullptr));
      const Joined* const first = all->second.data();
      return Examples<Joined, Input>{inputs,
                                     first,
                                     rows,
                                     input_features,
                                     target_features + features,
                                     order,
                                     std::move(all),
                                     more,
                                     kinds.joined<Target, Element>(target_features, features)};
    } else {
      return NoExamples{};
    }
  }
  /// Rows that the arrays have at least.
  [[nodiscard]] constexpr std::int64_t source_rows() const {
    std::int64_t last = order == nullptr ? rows - 1 : -1;
    for (std::int64_t row = 0; row < rows && order != nullptr; ++row) last = std::max<std::int64_t>(last, order[row]);
    return last + 1;
  }
  /// Batches of BatchRows rows, the last one may be smaller: 100 rows are four batches<32>(), of 32, 32, 32 and 4 rows. Copies no row.
  template <std::int64_t BatchRows> [[nodiscard]] Batches<Target, Input> batches() const {
    static_assert(BatchRows > 0, "[heddle.D11] a batch has no rows. Fix: give a number of rows of at least 1.");
    return {*this, BatchRows};
  }
  [[nodiscard]] Batches<Target, Input> batches(std::int64_t each) const { return {*this, each}; }
  template <class... None>
  requires(sizeof...(None) == 0) Batches<Target, Input> batches()
  const {
    refuse_batches_of_no_size<Target>();
    return {*this, 1};
  }
};

/// A range of batches. What keeps rows and order alive keeps them alive for the range, and for every batch that it gives.
/// 10 rows in batches of 4 have size() 3.
template <class Target, class Input> class Batches {
 public:
  /// One place among the batches; 10 rows in batches of 4 are 3 places, the last with 2 rows.
  class iterator {
   public:
    using value_type = Examples<Target, Input>;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;

    iterator() = default;
    iterator(const value_type& all, std::int64_t each, std::int64_t first) : all_(all), batch_rows_(each), first_(first) {}
    [[nodiscard]] value_type operator*() const { return all_.slice(first_, std::min(batch_rows_, all_.rows - first_)); }
    iterator& operator++() {
      first_ = std::min(first_ + std::min(batch_rows_, all_.rows - first_), all_.rows);
      return *this;
    }
    iterator operator++(int) {
      iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const iterator& a, const iterator& b) { return a.first_ == b.first_; }

   private:
    value_type all_;
    std::int64_t batch_rows_ = 1;
    std::int64_t first_ = 0;
  };

  Batches(const Examples<Target, Input>& all, std::int64_t each) : all_(all), batch_rows_(each) {
    if (batch_rows_ < 1)
      throw Error(Code{'D', 11}, written({"batches of ", batch_rows_, " rows were asked for. Fix: give a number of rows of at least 1."}));
  }
  [[nodiscard]] iterator begin() const { return {all_, batch_rows_, 0}; }
  [[nodiscard]] iterator end() const { return {all_, batch_rows_, all_.rows}; }
  /// The number of batches, the smaller last one included.
  [[nodiscard]] std::int64_t size() const { return all_.rows / batch_rows_ + (all_.rows % batch_rows_ > 0 ? 1 : 0); }

 private:
  Examples<Target, Input> all_;
  std::int64_t batch_rows_;
};

/// How many rows of `features` lie in so many elements. Errors  D07 if they do not fill whole rows.
[[nodiscard]] inline std::int64_t whole_rows(std::int64_t elements, std::int64_t features) {
  if (features < 1 || elements % features != 0)
    throw Error(Code{'D', 7}, written({elements, " inputs are no whole rows of ", features,
                                       " features. Fix: give rows x features inputs, and the number of features of one row."}));
  return elements / features;
}

/// A batch of class labels from two arrays; a row may have several, one for each position.
///
/// Shape   inputs (rows, input_features), labels (rows, labels_of_a_row)
/// Errors  D07 if inputs and labels differ in number
/// Tested  run/examples_test
template <class Input>
[[nodiscard]] Examples<std::int32_t, Input> labelled_examples(std::span<const Input> inputs, std::span<const std::int32_t> labels,
                                                              std::int64_t input_features, std::int64_t labels_of_a_row) {
  const std::int64_t rows = whole_rows(std::ssize(inputs), input_features);
  if (labels_of_a_row < 1 || std::ssize(labels) != rows * labels_of_a_row)
    throw Error(Code{'D', 7}, written({"the inputs have ", rows, " rows but there are ", labels.size(), " labels. Fix: give ", labels_of_a_row,
                                       (labels_of_a_row == 1 ? " label" : " labels"), " for each row, or another number of features a row."}));
  return {inputs.data(), labels.data(), rows, input_features, labels_of_a_row, nullptr};
}
[[nodiscard]] inline Examples<std::int32_t> examples(std::span<const float> inputs, std::span<const std::int32_t> labels, std::int64_t input_features,
                                                     std::int64_t labels_of_a_row = 1) {
  return labelled_examples(inputs, labels, input_features, labels_of_a_row);
}
[[nodiscard]] inline Examples<std::int32_t, std::int32_t> examples(std::span<const std::int32_t> ids, std::span<const std::int32_t> labels,
                                                                   std::int64_t ids_of_a_row, std::int64_t labels_of_a_row = 1) {
  return labelled_examples(ids, labels, ids_of_a_row, labels_of_a_row);
}
[[nodiscard]] inline Examples<std::int32_t, std::uint8_t> examples(std::span<const std::uint8_t> bytes, std::span<const std::int32_t> labels,
                                                                   std::int64_t bytes_of_a_row, std::int64_t labels_of_a_row = 1) {
  return labelled_examples(bytes, labels, bytes_of_a_row, labels_of_a_row);
}

/// A batch of real targets from two arrays, every row with the same number of targets.
///
/// Shape   inputs (rows, input_features), targets (rows, targets a row)
/// Errors  D07 if that number is not whole
/// Tested  run/examples_test
template <class Input>
[[nodiscard]] Examples<float, Input> valued_examples(std::span<const Input> inputs, std::span<const float> targets, std::int64_t input_features) {
  const std::int64_t rows = whole_rows(std::ssize(inputs), input_features);
  const std::int64_t count = std::ssize(targets);
  if (rows == 0 ? count != 0 : (count == 0 || count % rows != 0))
    throw Error(Code{'D', 7},
                written({"the inputs have ", rows, " rows but there are ", count, " targets. Fix: give the same number of targets for each row."}));
  return {inputs.data(), targets.data(), rows, input_features, rows == 0 ? 1 : count / rows, nullptr};
}
[[nodiscard]] inline Examples<float> examples(std::span<const float> inputs, std::span<const float> targets, std::int64_t input_features) {
  return valued_examples(inputs, targets, input_features);
}
[[nodiscard]] inline Examples<float, std::int32_t> examples(std::span<const std::int32_t> ids, std::span<const float> targets,
                                                            std::int64_t ids_of_a_row) {
  return valued_examples(ids, targets, ids_of_a_row);
}
[[nodiscard]] inline Examples<float, std::uint8_t> examples(std::span<const std::uint8_t> bytes, std::span<const float> targets,
                                                            std::int64_t bytes_of_a_row) {
  return valued_examples(bytes, targets, bytes_of_a_row);
}

/// The same of arrays of which one or both are temporaries: they are kept with the batch.
///
/// Tested  run/examples_test
template <class Inputs, class Targets, class... Counts>
requires((is_temporary_array<Inputs> || is_temporary_array<Targets>)&&are_arrays<Inputs, Targets> && !has_elements<Targets, std::uint8_t>)
    [[nodiscard]] auto examples(Inputs&& inputs, Targets&& targets, Counts... counts) {
  using Input = ElementOf<Inputs>;
  using Target = ElementOf<Targets>;
  const auto first = [&] { return kept_array<Input>(std::forward<Inputs>(inputs)); };
  const auto second = [&] { return kept_array<Target>(std::forward<Targets>(targets)); };
  using Both = std::pair<decltype(first()), decltype(second())>;
  const auto both = std::make_shared<const Both>(first(), second());
  auto batch = examples(std::span<const Input>{both->first}, std::span<const Target>{both->second}, counts...);
  batch.owner = both;
  return batch;
}

template <class Inputs, class Targets, class... Counts>  // no concept: compilers would explain it
inline constexpr bool makes_examples = are_arrays<Inputs, Targets> && !has_elements<Targets, std::uint8_t> && (sizeof...(Counts) > 0) &&
                                       (sizeof...(Counts) == 1 || (sizeof...(Counts) == 2 && has_elements<Targets, std::int32_t>)) &&
                                       (std::is_convertible_v<Counts, std::int64_t> && ...);
/// D18: arrays of double or long, arrays without the number of features; floats with a number of labels.
template <class Inputs, class Targets, class... Counts>
requires(!makes_examples<Inputs, Targets, Counts...>) NoExamples examples(Inputs&&, Targets&&, Counts&&...) {
  static_assert(
      makes_examples<Inputs, Targets, Counts...>,
      "[heddle.D18] a batch takes float inputs, std::int32_t token ids or std::uint8_t bytes, std::int32_t labels or float targets, and the features "
      "of a row. Fix: examples(inputs, labels, 784), with std::vector<float> and std::vector<std::int32_t>.");
  return {};
}

}  // namespace heddle::run_room

namespace heddle {
using run_room::Examples, run_room::examples;
}  // namespace heddle
