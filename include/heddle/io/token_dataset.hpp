// SPDX-License-Identifier: MIT
// Room: io. A data set of token ids with labels, for a model that begins with Input<length>, Embedding<tokens, features>.
// Sees: io/dataset.  Does not see: text, file formats, policies, devices.
// In: arrays.  Out: TokenDataset, which checks the arrays, owns them and hands them out in batches.
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

/// Rows of token ids with class labels: 2 rows of 4 ids with a label at each position are 8 ids and 8 labels.
struct TokenRows {
  std::vector<std::int32_t> ids;     // (rows, features)
  std::vector<std::int32_t> labels;  // (rows, labels_of_a_row)
  std::int64_t features = 0;         ///< ids of a row
  int classes = 0;
  std::int64_t labels_of_a_row = 1;
  std::optional<std::int32_t> ignored{};  ///< a label that is no class, for CrossEntropyWith<Ignored<...>>
};

/// Token ids and their labels in memory: a Dataset whose inputs are int32. Whether an id is in the vocabulary is asked in each step (R09), since the
/// model knows how many there are.
///
/// Shape   ids (size, features), labels (size, labels_of_a_row), each label in 0 to classes - 1, or the ignored one
/// Errors  D06, D07, D08, D10, D11 as of a Dataset; D13 at build, a view of a temporary; D32 ids() or labels() of a part
/// Tested  io/token_dataset_test
class TokenDataset : public LabelledInMemory<std::int32_t> {
 public:
  explicit TokenDataset(TokenRows rows, const std::string& ids_name = "ids", const std::string& labels_name = "labels")
      : TokenDataset(std::make_shared<const TokenRows>(sound(std::move(rows), ids_name, labels_name))) {}
  /// As that of a Dataset.
  [[nodiscard]] Parts<TokenDataset> split(double share, Seed seed) const {
    const OrdersOfParts orders = parts(share, seed);
    return {TokenDataset{*this, orders.first}, TokenDataset{*this, orders.second}};
  }
  [[nodiscard]] std::span<const std::int32_t> ids() const& { return all_inputs(); }
  template <bool Lives = false> std::span<const std::int32_t> ids() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  TokenDataset(const TokenDataset& whole, const Order& part) : LabelledInMemory(whole, part) {}
  explicit TokenDataset(const std::shared_ptr<const TokenRows>& rows) : LabelledInMemory(rows->ids.data(), rows) {}
  static TokenRows sound(TokenRows rows, const std::string& ids_name, const std::string& labels_name) {
    refuse_unsound_labels(std::ssize(rows.ids), rows, ids_name, labels_name);
    return rows;
  }
};

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::TokenDataset, io_room::TokenRows;
}  // namespace heddle::datasets
