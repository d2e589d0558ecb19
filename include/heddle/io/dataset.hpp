// SPDX-License-Identifier: MIT
// Room: io. Rows with class labels in memory, walked in batches, in order or shuffled; the same on every layout and platform.
// Sees: core, run/examples.  Does not see: file formats, policies, devices.
// In: images (rows, features), labels (rows).  Out: Dataset, OrderedRows (a view with an order, walked in batches).
#pragma once

#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/random.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/temporary_view.hpp"
#include "heddle/run/examples.hpp"

namespace heddle::inline io_room {

/// Which half of a data set.
enum class Split : std::uint8_t { train, test };

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

/// The rows, owned once and shared by everything that looks at them.
struct LabelledRows {
  std::vector<float> images;         // (rows, features)
  std::vector<std::int32_t> labels;  // (rows)
  std::int64_t features = 0;
  int classes = 0;
};

/// Refuses images and labels that are not as many. Errors  D07
inline void refuse_unpaired_rows(std::int64_t images, std::int64_t labels, const std::string& images_name, const std::string& labels_name) {
  if (images != labels)
    throw Error(Code{'D', 7}, "'" + images_name + "' has " + grouped_digits(images) + " images but '" + labels_name + "' has " +
                                  grouped_digits(labels) + " labels. Fix: take both files from the same half of the same data set.");
}

/// The rows of a data set in one order. It owns the order and shares the rows, so it may be a temporary of a loop.
class OrderedRows {
 public:
  using Rows = std::shared_ptr<const LabelledRows>;
  using Order = std::shared_ptr<const std::vector<std::uint32_t>>;

  OrderedRows(Rows data, Order order) : data_(std::move(data)), order_(std::move(order)) {}
  /// Batches of BatchRows rows: data.shuffled(Seed{1}, epoch).batches<64>(). Copies no row.
  template <std::int64_t BatchRows> [[nodiscard]] Batches<std::int32_t> batches() const { return all().template batches<BatchRows>(); }
  /// Errors  D11 batches of less than one row
  [[nodiscard]] Batches<std::int32_t> batches(std::int64_t batch_rows) const { return all().batches(batch_rows); }
  /// All rows as one batch, which keeps them and their order alive.
  [[nodiscard]] Examples<std::int32_t> all() const {
    return {data_->images.data(),
            data_->labels.data(),
            std::ssize(data_->labels),
            data_->features,
            1,
            order_ ? order_->data() : nullptr,
            std::make_shared<const std::pair<Rows, Order>>(data_, order_)};
  }
  /// The source rows in this order; empty where they are taken as they lie.
  [[nodiscard]] std::span<const std::uint32_t> order() const& { return order_ ? std::span{*order_} : std::span<const std::uint32_t>{}; }
  template <bool Lives = false> std::span<const std::uint32_t> order() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  Rows data_;
  Order order_;
};

/// Images and labels in memory. A copy shares the rows, which never change.
///
/// Shape   images (size, features), labels (size), each label in 0 to classes - 1
/// Errors  D06 more rows than an order can number, D07 images and labels differ in number, D08 label out of range,
///         D10 no rows, D11 features or classes below 1; D13 at build, a view of a temporary
/// Tested  io/dataset_test
class Dataset {
 public:
  explicit Dataset(LabelledRows rows, const std::string& images_name = "images", const std::string& labels_name = "labels") {
    refuse_sizes(rows, images_name, labels_name);
    for (std::size_t row = 0; row < rows.labels.size(); ++row)
      if (rows.labels[row] < 0 || rows.labels[row] >= rows.classes)
        throw Error(Code{'D', 8}, "label " + grouped_digits(rows.labels[row]) + " of row " + grouped_digits(static_cast<std::int64_t>(row)) +
                                      " of '" + labels_name + "' is not in 0 to " + grouped_digits(rows.classes - 1) +
                                      ". Fix: correct the label, or raise the number of classes.");
    data_ = std::make_shared<const LabelledRows>(std::move(rows));
  }
  [[nodiscard]] std::int64_t size() const { return std::ssize(data_->labels); }
  [[nodiscard]] std::int64_t features() const { return data_->features; }
  [[nodiscard]] int classes() const { return data_->classes; }
  [[nodiscard]] std::span<const float> images() const& { return data_->images; }
  template <bool Lives = false> std::span<const float> images() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }
  [[nodiscard]] std::span<const std::int32_t> labels() const& { return data_->labels; }
  template <bool Lives = false> std::span<const std::int32_t> labels() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

  /// Rows as they lie.
  [[nodiscard]] OrderedRows in_order() const { return {data_, nullptr}; }
  /// Rows in the order of one epoch; (seed, epoch) alone decides it.
  [[nodiscard]] OrderedRows shuffled(Seed seed, std::int64_t epoch) const {
    return {data_, std::make_shared<const std::vector<std::uint32_t>>(shuffled_order(seed, static_cast<std::uint64_t>(epoch), size()))};
  }

 private:
  static void refuse_sizes(const LabelledRows& rows, const std::string& images_name, const std::string& labels_name) {
    if (rows.features < 1 || rows.classes < 1)
      throw Error(Code{'D', 11}, "'" + images_name + "' has " + grouped_digits(rows.features) + " features a row and '" + labels_name + "' " +
                                     grouped_digits(rows.classes) + " classes. Fix: give at least 1 of each.");
    const std::int64_t images = whole_rows(std::ssize(rows.images), rows.features);
    refuse_unpaired_rows(images, std::ssize(rows.labels), images_name, labels_name);
    if (images == 0)
      throw Error(Code{'D', 10}, "'" + images_name + "' holds 0 images: there is nothing to learn from. Fix: give a data set with at least one row.");
    if (images > std::int64_t{std::numeric_limits<std::uint32_t>::max()})
      throw Error(Code{'D', 6},
                  "'" + images_name + "' has " + grouped_digits(images) +
                      " rows, more than an order of 32-bit numbers can name. Fix: split the data set into parts below 4,294,967,296 rows.");
  }
  std::shared_ptr<const LabelledRows> data_;
};

}  // namespace heddle::inline io_room
