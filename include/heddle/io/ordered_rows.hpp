// SPDX-License-Identifier: MIT
// Room: io. Rows in memory and their order: what every data set has, whatever its targets are.
// Sees: core/random, run/examples, run/plan_rows.  Does not see: file formats, policies, devices.
// In: rows that somebody owns.  Out: RowsInMemory, RowsInOrder (a view with an order, walked in batches), shuffled_order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "heddle/core/fire.hpp"
#include "heddle/core/random.hpp"
#include "heddle/io/temporary_view.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/plan_rows.hpp"

namespace heddle::inline io_room {

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

/// D18: for (auto batch : data).
template <class Target, bool Told> [[nodiscard]] constexpr const Examples<Target>* refuse_single_rows() {
  static_assert(
      !Told,
      "[heddle.D18] a data set gives its rows in batches. Fix: write for (auto batch : data.in_order().batches<64>()), or data.shuffled(Seed{1}, "
      "epoch) for in_order().");
  return nullptr;
}

/// The rows of a data set in one order. It owns the order and shares the rows, so it may be a temporary of a loop.
///
/// Errors  D11 batches of no rows; D12 at build, D07, D08, B05: rows that the plan does not take; D13 at build, a view of a temporary
/// Tested  io/ordered_rows_test, io/dataset_test
template <class Target> class RowsInOrder {
 public:
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;

  /// Without an order the rows are taken as they lie.
  RowsInOrder(Examples<Target> as_they_lie, std::int64_t class_count, Order its_order = nullptr)
      : all_(std::move(as_they_lie)), classes_(class_count), order_(std::move(its_order)) {
    if (order_ == nullptr) return;
    all_.order = order_->data();
    all_.owner = std::make_shared<const std::pair<std::shared_ptr<const void>, Order>>(all_.owner, order_);
  }
  template <bool Told = true> [[nodiscard]] const Examples<Target>* begin() const { return refuse_single_rows<Target, Told>(); }
  [[nodiscard]] const Examples<Target>* end() const { return nullptr; }
  /// Batches of BatchRows rows: data.shuffled(Seed{1}, epoch).batches<64>(). Copies no row.
  template <std::int64_t BatchRows> [[nodiscard]] Batches<Target> batches() const { return all_.template batches<BatchRows>(); }
  /// Batches of the plan, whose rows, targets and classes are compared with the data once: batches<MyPlan>().
  template <class ThePlan> [[nodiscard]] Batches<Target> batches() const {
    static_assert(sizeof(fired<TargetsOfData<ThePlan, Target>>) > 0);
    return all_.batches(batch_rows_of<ThePlan>(all_, classes_));
  }
  [[nodiscard]] Batches<Target> batches(std::int64_t each) const { return all_.batches(each); }
  /// All rows as one batch, which keeps them and their order alive.
  [[nodiscard]] Examples<Target> all() const { return all_; }
  /// The source rows in this order; empty where they are taken as they lie.
  [[nodiscard]] std::span<const std::uint32_t> order() const& { return order_ ? std::span{*order_} : std::span<const std::uint32_t>{}; }
  template <bool Lives = false> std::span<const std::uint32_t> order() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  Examples<Target> all_;
  std::int64_t classes_;
  Order order_;
};

/// What every data set can do with its rows. A copy shares them, and they never change.
///
/// Tested  io/ordered_rows_test
template <class Target> class RowsInMemory {
 public:
  [[nodiscard]] std::int64_t size() const { return rows_.rows; }
  [[nodiscard]] std::int64_t features() const { return rows_.input_features; }

  template <bool Told = true> [[nodiscard]] const Examples<Target>* begin() const { return refuse_single_rows<Target, Told>(); }
  [[nodiscard]] const Examples<Target>* end() const { return nullptr; }
  /// Rows as they lie.
  [[nodiscard]] RowsInOrder<Target> in_order() const { return {rows_, classes_}; }
  /// Rows in the order of one epoch; (seed, epoch) alone decides it.
  [[nodiscard]] RowsInOrder<Target> shuffled(Seed seed, std::int64_t epoch) const {
    return {rows_, classes_, std::make_shared<const std::vector<std::uint32_t>>(shuffled_order(seed, static_cast<std::uint64_t>(epoch), size()))};
  }
  /// Short for those of in_order().
  template <std::int64_t BatchRows> [[nodiscard]] Batches<Target> batches() const { return in_order().template batches<BatchRows>(); }
  template <class ThePlan> [[nodiscard]] Batches<Target> batches() const {
    static_assert(sizeof(fired<TargetsOfData<ThePlan, Target>>) > 0);
    return in_order().template batches<ThePlan>();
  }
  [[nodiscard]] Batches<Target> batches(std::int64_t each) const { return in_order().batches(each); }
  /// All rows as one batch: trainer.evaluate(data.all()).
  [[nodiscard]] Examples<Target> all() const { return rows_; }

 protected:
  /// `owned` has the owner of its rows. `class_count`: 0 where targets are real numbers.
  RowsInMemory(Examples<Target> owned, std::int64_t class_count) : rows_(std::move(owned)), classes_(class_count) {}
  [[nodiscard]] std::int64_t known_classes() const { return classes_; }
  [[nodiscard]] std::int64_t targets_of_a_row() const { return rows_.target_features; }
  [[nodiscard]] std::span<const float> all_inputs() const { return {rows_.inputs, static_cast<std::size_t>(size() * features())}; }
  [[nodiscard]] std::span<const Target> all_targets() const { return {rows_.targets, static_cast<std::size_t>(size() * targets_of_a_row())}; }

 private:
  Examples<Target> rows_;
  std::int64_t classes_;
};

}  // namespace heddle::inline io_room
