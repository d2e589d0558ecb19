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
  using Input = std::int32_t;
  std::vector<std::int32_t> ids;     // (rows, features)
  std::vector<std::int32_t> labels;  // (rows, labels_of_a_row)
  std::int64_t features = 0;         ///< ids of a row
  int classes = 0;
  std::int64_t labels_of_a_row = 1;
  std::optional<std::int32_t> ignored{};  ///< a label that is no class, for CrossEntropyWith<Ignored<...>>
  [[nodiscard]] const std::vector<std::int32_t>& inputs() const { return ids; }
};

/// Token ids and their labels in memory: a Dataset whose inputs are int32. Whether an id is in the vocabulary is asked in each step (R09), since the
/// model knows how many there are.
///
/// Shape   ids (size, features), labels (size, labels_of_a_row), each label in 0 to classes - 1, or the ignored one
/// Errors  D06, D07, D08, D10, D11 as of a Dataset; D13 at build, a view of a temporary; D32 ids() or labels() of a part
/// Tested  io/token_dataset_test
class TokenDataset : public LabelledInMemory<TokenDataset, TokenRows> {
 public:
  template <class Given, class... More>
  requires(are_loose_rows<TokenRows, Given, More...>) explicit TokenDataset(const Given&, const More&...)
      : TokenDataset(refuse_loose_rows<TokenRows, Given>()) {}
  explicit TokenDataset(TokenRows rows, const std::string& ids_name = "ids", const std::string& labels_name = "labels")
      : LabelledInMemory(std::move(rows), ids_name, labels_name) {}
  [[nodiscard]] std::span<const std::int32_t> ids() const& { return all_inputs(); }
  template <bool Lives = false> std::span<const std::int32_t> ids() const&& {
    view_of_a_temporary<Lives>();
    return {};
  }

 private:
  friend LabelledInMemory;
  explicit TokenDataset(LabelledInMemory&& part) : LabelledInMemory(std::move(part)) {}
};

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::TokenDataset, io_room::TokenRows;
}  // namespace heddle::datasets
