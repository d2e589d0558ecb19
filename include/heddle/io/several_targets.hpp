// SPDX-License-Identifier: MIT
// Room: io. Data sets whose rows have the targets of several losses.
// Sees: io/ordered_rows, io/dataset, run/examples.  Does not see: policies, devices.
// In: a data set, an array of further targets.  Out: DatasetWithTargets, with_targets.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "heddle/core/not_included.hpp"
#include "heddle/io/dataset.hpp"
#include "heddle/io/ordered_rows.hpp"
#include "heddle/run/arrays.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<SeveralTargetsHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::io_room {

/// Rows of another data set with further targets: its order, parts and batches are those of any data set. Of 60,000 images with a label and two
/// floats each row has three targets.
///
/// Tested  io/several_targets_test
template <class Target, class Input> class DatasetWithTargets : public RowsInMemory<Target, Input> {
  using All = RowsInMemory<Target, Input>;

 public:
  using All::targets_of_a_row;
  explicit DatasetWithTargets(const Examples<Target, Input>& rows) : All(rows, 0) {}
  /// The rows that `part` numbers.
  DatasetWithTargets(const DatasetWithTargets& whole, const typename All::Order& part) : All(whole, part) {}
  /// As that of a Dataset.
  [[nodiscard]] Parts<DatasetWithTargets> split(double share, Seed seed) const {
    const typename All::OrdersOfParts orders = All::parts(share, seed);
    return {DatasetWithTargets{*this, orders.first}, DatasetWithTargets{*this, orders.second}};
  }
};

/// The data set with further targets of each row, for the next of several losses: with_targets(digits, angles, 1) has a label and an angle a row.
/// What is joined is copied; of a part the array has the rows of the whole.
///
/// Shape   array (rows, each), std::int32_t labels or floats
/// Errors  D07 another number of rows; D18 at build, an array of other elements
/// Tested  io/several_targets_test
template <class Data, class Array> [[nodiscard]] auto with_targets(const Data& data, Array&& array, std::int64_t each) {
  const auto joined = WithInput::whole(data).with_targets(std::forward<Array>(array), each);
  using Targets = std::remove_cvref_t<decltype(*joined.targets)>;
  using Inputs = std::remove_cvref_t<decltype(*joined.inputs)>;
  const DatasetWithTargets<Targets, Inputs> all{joined};
  const auto part = WithInput::part(data);
  return part == nullptr ? all : DatasetWithTargets<Targets, Inputs>{all, part};
}

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::with_targets;
}  // namespace heddle::datasets
