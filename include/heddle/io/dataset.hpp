// SPDX-License-Identifier: MIT
// Room: io. Data sets in memory: rows with class labels, one or several a row, or with real targets; the same on every layout and platform.
// Sees: io/ordered_rows, io/file, run/examples.  Does not see: file formats, policies, devices.
// In: arrays.  Out: Dataset and RegressionDataset, which check the arrays, own them and hand them out in batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/ordered_rows.hpp"
#include "heddle/io/temporary_view.hpp"
#include "heddle/run/examples.hpp"

namespace heddle::io_room {

/// Which half of a data set.
enum class DataSplit : std::uint8_t { train, test };

/// Rows with class labels. A row may have several, one for each position: the tokens that follow those of a sequence. 640 rows of 20 features are
/// 12,800 floats and 640 labels.
struct LabelledRows {
  using Input = float;
  std::vector<float> images;         // (rows, features)
  std::vector<std::int32_t> labels;  // (rows, labels_of_a_row)
  std::int64_t features = 0;
  int classes = 0;
  std::int64_t labels_of_a_row = 1;
  std::optional<std::int32_t> ignored{};  // a label that is no class, for CrossEntropyWith<Ignored<...>>
  [[nodiscard]] const std::vector<float>& inputs() const { return images; }
};

/// Rows with real targets, for MeanSquaredError. 640 rows of 8 features with one target each are 5,120 and 640 floats.
struct RegressionRows {
  std::vector<float> inputs;   // (rows, features)
  std::vector<float> targets;  // (rows, targets_of_a_row)
  std::int64_t features = 0;
  std::int64_t targets_of_a_row = 1;
};

/// D18, of a data set that is given arrays and numbers one after the other.
template <class Rows, class Given> Rows refuse_loose_rows() {
  static_assert(std::is_void_v<Given>,
                "[heddle.D18] a data set takes its rows as one object, by name. Fix: write datasets::Dataset{datasets::LabelledRows{.images = x, "
                ".labels = y, .features = 20, .classes = 4}}; others have RegressionRows, TokenRows and ByteRows.");
  return {};
}
/// What cannot be such an object, and a name of each array.
template <class Rows, class Given, class... More> inline constexpr bool are_loose_rows = sizeof...(More) > 0 && !std::is_convertible_v<Given, Rows>;

/// Refuses targets that are not `each` for every row. Errors  D07
inline void refuse_uneven_targets(std::int64_t rows, std::int64_t targets, std::int64_t each, const std::string& inputs_name,
                                  const std::string& targets_name, const std::string& what) {
  if (targets % each == 0 && targets / each == rows) return;
  const bool whole = each == 1 && rows > 0 && targets > rows && targets % rows == 0;
  const std::string remedy = whole
                                 ? ". Fix: give as many " + what + " as rows, or say ." + what + "_of_a_row = " + std::to_string(targets / rows) + '.'
                             : each == 1 ? ". Fix: give as many " + what + " as rows."
                                         : ", not " + grouped_digits(each) + " for each row. Fix: give " + grouped_digits(each) + ' ' + what +
                                               " for each row, or another number of them.";
  throw Error(Code{'D', 7}, written({"'", inputs_name, "' has ", grouped_digits(rows), (rows == 1 ? " row" : " rows"), " but '", targets_name,
                                     "' has ", grouped_digits(targets), ' ', (targets == 1 ? what.substr(0, what.size() - 1) : what), remedy}));
}

/// Refuses a number of rows that is none, or more than an order can name. Errors  D06, D10
inline void refuse_row_count(std::int64_t rows, const std::string& name) {
  if (rows == 0)
    throw Error(Code{'D', 10}, written({"'", name, "' holds 0 rows: there is nothing to learn from. Fix: give a data set with at least one row."}));
  if (rows > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
    throw Error(Code{'D', 6},
                written({"'", name, "' has ", grouped_digits(rows),
                         " rows, more than an order of 32-bit numbers can name. Fix: split the data set into parts below 4,294,967,296 rows."}));
}

/// " at position 3 of row 7", or " of row 7" where each row has one label.
[[nodiscard]] HEDDLE_COLD inline std::string position_of(std::int64_t label, std::int64_t each) {
  return written({(each > 1 ? " at position " + grouped_digits(label % each) : std::string{}), " of row ", grouped_digits(label / each)});
}
/// Refuses labels that do not fit the inputs, or the classes. Errors  D06, D07, D08, D10, D11
template <class Rows> void refuse_unsound_labels(const Rows& rows, const std::string& inputs_name, const std::string& labels_name) {
  if (rows.features < 1 || rows.classes < 1)
    throw Error(Code{'D', 11}, written({"'", inputs_name, "' has ", grouped_digits(rows.features), " features a row and '", labels_name, "' ",
                                        grouped_digits(rows.classes), " classes. Fix: give at least 1 of each."}));
  if (rows.labels_of_a_row < 1)
    throw Error(Code{'D', 11}, written({"'", labels_name, "' has ", grouped_digits(rows.labels_of_a_row), " labels a row. Fix: give at least 1."}));
  const std::int64_t count = whole_rows(std::ssize(rows.inputs()), rows.features);
  refuse_uneven_targets(count, std::ssize(rows.labels), rows.labels_of_a_row, inputs_name, labels_name, "labels");
  refuse_row_count(count, inputs_name);
  for (std::int64_t i = 0; i < std::ssize(rows.labels); ++i)
    if (const std::int32_t label = rows.labels[static_cast<std::size_t>(i)]; (label < 0 || label >= rows.classes) && rows.ignored != label)
      throw Error(Code{'D', 8},
                  written({"label ", grouped_digits(label), position_of(i, rows.labels_of_a_row), " of '", labels_name, "' is not in 0 to ",
                           grouped_digits(rows.classes - 1), ". Fix: correct the label, or raise the number of classes."}));
}

/// Two parts of a data set: const auto [training, test] = data.split(0.8, Seed{1}).
template <class Data> struct Parts {
  Data training;
  Data test;
};

/// What data sets with class labels have in common, whatever their inputs are: Data owns Rows, which name their inputs() and the type of these.
/// One of 10 rows of 4 labels each has 40 labels.
template <class Data, class Rows> class LabelledInMemory : public RowsInMemory<std::int32_t, typename Rows::Input> {
  using AllRows = RowsInMemory<std::int32_t, typename Rows::Input>;

 public:
  [[nodiscard]] int classes() const { return static_cast<int>(AllRows::known_classes()); }
  [[nodiscard]] std::int64_t labels_of_a_row() const { return AllRows::targets_of_a_row(); }
  [[nodiscard]] std::span<const std::int32_t> labels() const& { return AllRows::all_targets(); }
  template <bool Lives = false> std::span<const std::int32_t> labels() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }
  /// Two data sets that share the rows: `share` of the rows, drawn by the seed alone, and all others. In both the rows keep their order.
  /// 10 rows split at 0.8 are 8 and 2.
  /// Errors  D10 if one of them would have no rows
  [[nodiscard]] Parts<Data> split(double share, Seed seed) const {
    const typename AllRows::OrdersOfParts orders = AllRows::parts(share, seed);
    return {Data{part(orders.first)}, Data{part(orders.second)}};
  }

 private:
  friend Data;
  using typename AllRows::Order;

  LabelledInMemory(Rows given, const std::string& inputs_name, const std::string& labels_name)
      : LabelledInMemory(std::make_shared<const Rows>(sound(std::move(given), inputs_name, labels_name))) {}
  LabelledInMemory(const LabelledInMemory& whole, const Order& numbered) : AllRows(whole, numbered) {}
  explicit LabelledInMemory(const std::shared_ptr<const Rows>& owner)
      : AllRows({owner->inputs().data(), owner->labels.data(), std::ssize(owner->labels) / owner->labels_of_a_row, owner->features,
                 owner->labels_of_a_row, nullptr, owner},
                owner->classes) {}
  [[nodiscard]] LabelledInMemory part(const Order& numbered) const { return {*this, numbered}; }
  static Rows sound(Rows given, const std::string& inputs_name, const std::string& labels_name) {
    refuse_unsound_labels(given, inputs_name, labels_name);
    return given;
  }
};

/// Rows and their labels in memory, as the TensorDataset of PyTorch. A copy shares the rows, which never change.
///
/// Shape   images (size, features), labels (size, labels_of_a_row), each label in 0 to classes - 1, or the ignored one
/// Errors  D06 more rows than an order can number, D07 images and labels differ in number, D08 label out of range,
///         D10 no rows, D11 features, classes or labels of a row below 1; D13 at build, a view of a temporary; D32 images() or labels() of a part
/// Tested  io/dataset_test
class Dataset : public LabelledInMemory<Dataset, LabelledRows> {  // Fix: write datasets::Dataset (clang shows this line)
 public:
  template <class Given, class... More>
  requires(are_loose_rows<LabelledRows, Given, More...>) explicit Dataset(const Given&, const More&...)
      : Dataset(refuse_loose_rows<LabelledRows, Given>()) {}
  explicit Dataset(LabelledRows rows, const std::string& images_name = "images", const std::string& labels_name = "labels")
      : LabelledInMemory(std::move(rows), images_name, labels_name) {}
  [[nodiscard]] std::span<const float> images() const& { return all_inputs(); }
  template <bool Lives = false> std::span<const float> images() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  friend LabelledInMemory;
  explicit Dataset(LabelledInMemory&& part) : LabelledInMemory(std::move(part)) {}
};
using OrderedRows = RowsInOrder<std::int32_t>;

/// Inputs and real targets in memory, for MeanSquaredError. A copy shares the rows, which never change.
///
/// Shape   inputs (size, features), targets (size, targets_of_a_row)
/// Errors  D06 more rows than an order can number, D07 inputs and targets differ in number, D10 no rows, D11 features or targets below 1; D13 at
/// build; D32 inputs() or targets() of a part
/// Tested  io/dataset_test
class RegressionDataset : public RowsInMemory<float> {
 public:
  template <class Given, class... More>
  requires(are_loose_rows<RegressionRows, Given, More...>) explicit RegressionDataset(const Given&, const More&...)
      : RegressionDataset(refuse_loose_rows<RegressionRows, Given>()) {}
  explicit RegressionDataset(RegressionRows rows, const std::string& inputs_name = "inputs", const std::string& targets_name = "targets")
      : RegressionDataset(std::make_shared<const RegressionRows>(sound(std::move(rows), inputs_name, targets_name))) {}
  using RowsInMemory::targets_of_a_row;
  /// As that of a Dataset.
  [[nodiscard]] Parts<RegressionDataset> split(double share, Seed seed) const {
    const OrdersOfParts orders = parts(share, seed);
    return {RegressionDataset{*this, orders.first}, RegressionDataset{*this, orders.second}};
  }
  [[nodiscard]] std::span<const float> inputs() const& { return all_inputs(); }
  template <bool Lives = false> std::span<const float> inputs() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }
  [[nodiscard]] std::span<const float> targets() const& { return all_targets(); }
  template <bool Lives = false> std::span<const float> targets() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  RegressionDataset(const RegressionDataset& whole, const Order& part) : RowsInMemory(whole, part) {}
  explicit RegressionDataset(const std::shared_ptr<const RegressionRows>& rows)
      : RowsInMemory({rows->inputs.data(), rows->targets.data(), std::ssize(rows->targets) / rows->targets_of_a_row, rows->features,
                      rows->targets_of_a_row, nullptr, rows},
                     0) {}
  static RegressionRows sound(RegressionRows rows, const std::string& inputs_name, const std::string& targets_name) {
    if (rows.features < 1 || rows.targets_of_a_row < 1)
      throw Error(Code{'D', 11}, written({"'", inputs_name, "' has ", grouped_digits(rows.features), " features a row and '", targets_name, "' ",
                                          grouped_digits(rows.targets_of_a_row), " targets. Fix: give at least 1 of each."}));
    const std::int64_t count = whole_rows(std::ssize(rows.inputs), rows.features);
    refuse_uneven_targets(count, std::ssize(rows.targets), rows.targets_of_a_row, inputs_name, targets_name, "targets");
    refuse_row_count(count, inputs_name);
    return rows;
  }
};

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::DataSplit, io_room::Dataset, io_room::LabelledRows, io_room::RegressionDataset, io_room::RegressionRows;
}  // namespace heddle::datasets
