// SPDX-License-Identifier: MIT
// Room: io. Rows in memory and their order: what every data set has, whatever its targets are.
// Sees: core/random, run/examples, run/plan_rows.  Does not see: file formats, policies, devices.
// In: rows that somebody owns.  Out: RowsInMemory, RowsInOrder (a view with an order, walked in batches), shuffled_order.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "heddle/core/fire.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/random.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/temporary_view.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/plan_rows.hpp"

namespace heddle::io_room {

/// A permutation of 0 to rows - 1: Fisher-Yates, driven by Philox keyed with seed and epoch, without bias.
/// A draw from the last, incomplete run of `bound` values below 2^64 is thrown away, the next is taken.
///
/// Source  sources.md#fisher-yates
/// Tested  io/dataset_test
[[nodiscard]] inline std::vector<std::uint32_t> shuffled_order(Seed seed, std::uint64_t epoch, std::int64_t rows) {
  std::vector<std::uint32_t> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::uint64_t draws = 0;
  for (std::size_t last = order.size(); last > 1; --last) {
    const std::uint64_t bound = last;
    const std::uint64_t excess = (std::numeric_limits<std::uint64_t>::max() % bound + 1) % bound;  // 2^64 mod bound
    std::uint64_t bits = bits64(seed, epoch, draws++);
    while (bits > std::numeric_limits<std::uint64_t>::max() - excess) bits = bits64(seed, epoch, draws++);
    std::swap(order[last - 1], order[static_cast<std::size_t>(bits % bound)]);
  }
  return order;
}

/// What begin() of a data set gives: no iterator, so that nothing but a loop takes a data set for a range of floats.
template <class Target, class Input> struct NoRow {
  const Examples<Target, Input>& operator*() const;
  NoRow& operator++();
  bool operator!=(const NoRow&) const;
};

/// D18: for (auto batch : data).
template <class Target, class Input, bool Told> [[nodiscard]] constexpr NoRow<Target, Input> refuse_single_rows() {
  static_assert(
      !Told,
      "[heddle.D18] a data set gives its rows in batches. Fix: write for (auto batch : data.in_order().batches<64>()), or data.shuffled(Seed{1}, "
      "epoch) for in_order().");
  return {};
}

/// The rows of a data set in one order. It owns the order and shares the rows, so it may be a temporary of a loop.
/// 60,000 rows in batches of 64 are 938 batches, the last of which has 32 rows.
///
/// Errors  D11 batches of no rows; D12 and D33 at build, D07, D08, B05: rows that the plan does not take; D13 at build, a view of a temporary
/// Tested  io/ordered_rows_test, io/dataset_test
template <class Target, class Input = float> class RowsInOrder {
 public:
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;

  /// Without an order the rows are taken as they lie.
  RowsInOrder(Examples<Target, Input> as_they_lie, std::int64_t class_count, Order its_order = nullptr)
      : all_(std::move(as_they_lie)), classes_(class_count), order_(std::move(its_order)) {
    if (order_ == nullptr) return;
    all_.order = order_->data();
    all_.owner = std::make_shared<const std::pair<std::shared_ptr<const void>, Order>>(all_.owner, order_);
  }
  template <bool Told = true> [[nodiscard]] NoRow<Target, Input> begin() const { return refuse_single_rows<Target, Input, Told>(); }
  [[nodiscard]] NoRow<Target, Input> end() const { return {}; }
  /// Batches of BatchRows rows: data.shuffled(Seed{1}, epoch).batches<64>(). Copies no row.
  template <std::int64_t BatchRows> [[nodiscard]] Batches<Target, Input> batches() const { return all_.template batches<BatchRows>(); }
  /// Batches of the plan, whose rows, targets and classes are compared with the data once: batches<MyPlan>().
  template <class ThePlan> [[nodiscard]] Batches<Target, Input> batches() const {
    static_assert(sizeof(fired<RowsOfData<ThePlan, Target, Input>>) > 0);
    return all_.batches(batch_rows_of<ThePlan>(all_, classes_));
  }
  [[nodiscard]] Batches<Target, Input> batches(std::int64_t each) const { return all_.batches(each); }
  template <class... None>
  requires(sizeof...(None) == 0) Batches<Target, Input> batches()
  const {
    refuse_batches_of_no_size<Target>();
    return all_.batches(1);
  }
  /// All rows as one batch, which keeps them and their order alive.
  [[nodiscard]] Examples<Target, Input> all() const { return all_; }
  /// The source rows in this order; empty where they are taken as they lie.
  [[nodiscard]] std::span<const std::uint32_t> order() const& { return order_ ? std::span{*order_} : std::span<const std::uint32_t>{}; }
  template <bool Lives = false> std::span<const std::uint32_t> order() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  Examples<Target, Input> all_;
  std::int64_t classes_;
  Order order_;
};

/// Errors  D10 a part of a data set would have no rows
[[noreturn]] HEDDLE_COLD inline void refuse_share(double share, std::int64_t rows) {
  throw Error(Code{'D', 10},
              written({"a split of ", rows, (rows == 1 ? " row" : " rows"), " at ", short_number(share), " leaves a part without rows. Fix: ",
                       (rows < 2 ? "give at least 2 rows." : "give a share between 0 and 1 that leaves a row in each part, as 0.8 of 10 does.")}));
}

/// Errors  D32
[[noreturn]] inline void refuse_array_of_a_part() {
  throw Error(Code{'D', 32},
              "a part of a data set has no array of its own, because it shares the rows of the whole. Fix: read row i as "
              "part.all().input(i) and part.all().target(i).");
}

struct WithInput;

/// What every data set can do with its rows. A copy shares them, and they never change.
/// The training images of MNIST have size() 60,000 and features() 784.
///
/// Tested  io/ordered_rows_test
template <class Target, class Input = float> class RowsInMemory {
 public:
  [[nodiscard]] std::int64_t size() const { return rows_.rows; }
  [[nodiscard]] std::int64_t features() const { return rows_.input_features; }

  template <bool Told = true> [[nodiscard]] NoRow<Target, Input> begin() const { return refuse_single_rows<Target, Input, Told>(); }
  [[nodiscard]] NoRow<Target, Input> end() const { return {}; }
  /// Rows as they lie.
  [[nodiscard]] RowsInOrder<Target, Input> in_order() const { return {rows_, classes_, part_}; }
  /// Rows in the order of one epoch; (seed, epoch) alone decides it.
  [[nodiscard]] RowsInOrder<Target, Input> shuffled(Seed seed, std::int64_t epoch) const {
    return {rows_, classes_, std::make_shared<const std::vector<std::uint32_t>>(drawn(seed, static_cast<std::uint64_t>(epoch)))};
  }
  /// D18, without an epoch.
  template <bool Told = true> [[nodiscard]] RowsInOrder<Target, Input> shuffled(Seed = Seed{0}) const {
    static_assert(!Told,
                  "[heddle.D18] shuffled() is not told the epoch, without which every epoch has one order. Fix: write shuffled(Seed{1}, epoch).");
    return in_order();
  }
  /// Short for those of in_order().
  template <std::int64_t BatchRows> [[nodiscard]] Batches<Target, Input> batches() const { return in_order().template batches<BatchRows>(); }
  template <class ThePlan> [[nodiscard]] Batches<Target, Input> batches() const {
    static_assert(sizeof(fired<RowsOfData<ThePlan, Target, Input>>) > 0);
    return in_order().template batches<ThePlan>();
  }
  [[nodiscard]] Batches<Target, Input> batches(std::int64_t each) const { return in_order().batches(each); }
  template <class... None>
  requires(sizeof...(None) == 0) Batches<Target, Input> batches()
  const {
    refuse_batches_of_no_size<Target>();
    return in_order().batches(1);
  }
  /// All rows as one batch: trainer.evaluate(data.all()).
  [[nodiscard]] Examples<Target, Input> all() const { return rows_; }

 protected:
  using Order = typename RowsInOrder<Target, Input>::Order;
  /// Rows of one part and of the other, as they lie.
  using OrdersOfParts = std::pair<Order, Order>;

  /// `owned` has the owner of its rows. `class_count`: 0 where targets are real numbers.
  RowsInMemory(Examples<Target, Input> owned, std::int64_t class_count)
      : rows_(std::move(owned)), classes_(class_count), rows_of_whole_(rows_.rows) {}
  /// Those rows of a data set that `part` numbers.
  RowsInMemory(const RowsInMemory& whole, const Order& part)
      : rows_(RowsInOrder<Target, Input>{whole.rows_, whole.classes_, part}.all()), classes_(whole.classes_), rows_of_whole_(whole.rows_of_whole_),
        part_(part) {
    rows_.rows = std::ssize(*part);
  }
  [[nodiscard]] OrdersOfParts parts(double share, Seed seed) const {
    const auto first = share > 0 && share < 1 ? std::int64_t{std::llround(share * static_cast<double>(size()))} : 0;
    if (first < 1 || first >= size()) refuse_share(share, size());
    constexpr std::uint64_t no_epoch = std::numeric_limits<std::uint64_t>::max();  // draws that no shuffled epoch takes
    std::vector<std::uint32_t> rows = drawn(seed, no_epoch);
    const auto middle = rows.begin() + first;
    const auto sorted = [](auto begin, auto end) {
      std::sort(begin, end);
      return std::make_shared<const std::vector<std::uint32_t>>(begin, end);
    };
    return {sorted(rows.begin(), middle), sorted(middle, rows.end())};
  }
  [[nodiscard]] std::int64_t known_classes() const { return classes_; }
  [[nodiscard]] std::int64_t targets_of_a_row() const { return rows_.target_features; }
  [[nodiscard]] std::span<const Input> all_inputs() const {
    if (part_ != nullptr) refuse_array_of_a_part();
    return {rows_.inputs, static_cast<std::size_t>(size() * features())};
  }
  [[nodiscard]] std::span<const Target> all_targets() const {
    if (part_ != nullptr) refuse_array_of_a_part();
    return {rows_.targets, static_cast<std::size_t>(size() * targets_of_a_row())};
  }

 private:
  /// All rows in an order that the seed and the epoch draw, by their numbers in the arrays.
  [[nodiscard]] std::vector<std::uint32_t> drawn(Seed seed, std::uint64_t epoch) const {
    std::vector<std::uint32_t> rows = shuffled_order(seed, epoch, size());
    if (part_ != nullptr)
      for (std::uint32_t& row : rows) row = (*part_)[row];
    return rows;
  }

  friend WithInput;
  Examples<Target, Input> rows_;
  std::int64_t classes_;
  std::int64_t rows_of_whole_;  ///< of the data set that this is a part of, or its own
  Order part_;                  ///< of a part of a data set: its rows in the arrays
};

/// Sees the rows of a data set. An array of another number of rows than the whole data set has is refused, also where a part is given it.
struct WithInput {
  template <class Target, class Input, class Array> static void append(RowsInMemory<Target, Input>& rows, Array&& array, std::int64_t features) {
    Examples<Target, Input> with = whole(rows).with_input(std::forward<Array>(array), features);
    rows.rows_.more = with.more;
    rows.rows_.owner = std::move(with.owner);
  }
  /// All rows of a data set, also of one that has some of them, and which it has; null: all.
  template <class Target, class Input> static Examples<Target, Input> whole(const RowsInMemory<Target, Input>& rows) {
    Examples<Target, Input> all = rows.rows_;
    all.order = nullptr;
    all.rows = rows.rows_of_whole_;
    return all;
  }
  template <class Target, class Input> static auto part(const RowsInMemory<Target, Input>& rows) { return rows.part_; }
};

/// The data set with one more input of each row, the next of a model that begins with Inputs<...>: its order, parts and batches hold for all of them.
/// with_input(TokenDataset of 640 rows of 8, positions, 8) has 640 rows of 8 ids and 8 positions. A temporary is kept with the rows, any other array
/// must outlive them; of a part it has the rows of the whole.
///
/// Shape   array (rows, features), floats, std::int32_t or std::uint8_t
/// Errors  D07 another number of rows, D34 a fifth input; D18 at build, an array of other elements
/// Tested  io/ordered_rows_test
template <class Data, class Array> [[nodiscard]] Data with_input(Data data, Array&& array, std::int64_t features) {
  WithInput::append(data, std::forward<Array>(array), features);
  return data;
}

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::with_input;
}  // namespace heddle::datasets
