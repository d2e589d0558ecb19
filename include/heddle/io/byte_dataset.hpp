// SPDX-License-Identifier: MIT
// Room: io. A data set of bytes with labels, for a model that begins with Rescaling or another layer that takes bytes.
// Sees: io/dataset.  Does not see: file formats, policies, devices.
// In: arrays.  Out: ByteDataset, which checks the arrays, owns them and hands them out in batches.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/io/dataset.hpp"

namespace heddle::io_room {

/// Rows of bytes with class labels: 60,000 images of 28 x 28 pixels are 47 MB, where a Dataset of floats has 188.
struct ByteRows {
  using Input = std::uint8_t;
  std::vector<std::uint8_t> bytes;   // (rows, features)
  std::vector<std::int32_t> labels;  // (rows, labels_of_a_row)
  std::int64_t features = 0;         ///< bytes of a row
  int classes = 0;
  std::int64_t labels_of_a_row = 1;
  std::optional<std::int32_t> ignored{};  ///< a label that is no class, for CrossEntropyWith<Ignored<...>>
  [[nodiscard]] const std::vector<std::uint8_t>& inputs() const { return bytes; }
};

/// Bytes and their labels in memory: a Dataset whose inputs are uint8, as images are stored. The model makes numbers of them.
///
/// Shape   bytes (size, features), labels (size, labels_of_a_row), each label in 0 to classes - 1, or the ignored one
/// Errors  D06, D07, D08, D10, D11 as of a Dataset; D13 at build, a view of a temporary; D32 bytes() or labels() of a part
/// Tested  io/byte_dataset_test
class ByteDataset : public LabelledInMemory<ByteDataset, ByteRows> {
 public:
  template <class Given, class... More>
  requires(are_loose_rows<ByteRows, Given, More...>) explicit ByteDataset(const Given&, const More&...)
      : ByteDataset(refuse_loose_rows<ByteRows, Given>()) {}
  explicit ByteDataset(ByteRows rows, const std::string& bytes_name = "bytes", const std::string& labels_name = "labels")
      : LabelledInMemory(std::move(rows), bytes_name, labels_name) {}
  [[nodiscard]] std::span<const std::uint8_t> bytes() const& { return all_inputs(); }
  template <bool Lives = false> std::span<const std::uint8_t> bytes() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  friend LabelledInMemory;
  explicit ByteDataset(LabelledInMemory&& part) : LabelledInMemory(std::move(part)) {}
};

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::ByteDataset, io_room::ByteRows;
}  // namespace heddle::datasets
