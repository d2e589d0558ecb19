// SPDX-License-Identifier: MIT
// Room: io. A long stream of tokens becomes rows of ids and the ids that follow, as a language model learns from them.
// Sees: io/token_dataset, io/file.  Does not see: text, file formats, policies, devices.
// In: tokens, a vocabulary, how to cut.  Out: a TokenDataset with one label for each position, or one for each row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "heddle/core/not_included.hpp"
#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"
#include "heddle/io/token_dataset.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<SequencesHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::io_room {

/// Which tokens a row has as its labels.
enum class Predict : std::uint8_t { each, last };

/// How a stream is cut into rows. Of 10 tokens {.length = 4} makes two rows, of tokens 0 to 3 and 4 to 7; {.length = 4, .stride = 1} makes six.
struct Windows {
  std::int64_t length = 0;          ///< tokens of a row
  std::int64_t stride = 0;          ///< from the beginning of a row to that of the next; 0: the length, so rows do not overlap
  Predict predict = Predict::each;  ///< the token after each position, or only the one after the row
};

/// Refuses numbers that cut nothing, and tokens that the vocabulary does not have. Errors  D08, D10, D11
inline void refuse_other_windows(std::span<const std::int32_t> tokens, int vocabulary, const Windows& windows) {
  if (vocabulary < 1 || windows.length < 1 || windows.stride < 0)
    throw Error(Code{'D', 11},
                written({"tokens of a vocabulary of ", grouped_digits(vocabulary), " are to be cut into rows of ", grouped_digits(windows.length),
                         ", ", grouped_digits(windows.stride), " apart. Fix: give at least 1 of each; 0 apart means the length."}));
  if (std::ssize(tokens) <= windows.length)
    throw Error(Code{'D', 10}, written({"there are ", grouped_digits(std::int64_t{std::ssize(tokens)}), " tokens, too few for a row of ",
                                        grouped_digits(windows.length), " and the token after it. Fix: give more tokens, or shorter rows."}));
  const auto odd = std::find_if(tokens.begin(), tokens.end(), [&](std::int32_t token) { return token < 0 || token >= vocabulary; });
  if (odd != tokens.end())
    throw Error(Code{'D', 8}, written({"token ", grouped_digits(*odd), " at position ", grouped_digits(std::int64_t{odd - tokens.begin()}),
                                       " is not in 0 to ", grouped_digits(vocabulary - 1), ". Fix: correct the token, or raise the vocabulary."}));
}

/// Rows of `length` token ids with the ids that follow: next_token_rows(tokens, 64, {.length = 16}) for a model that begins with Input<16>,
/// Embedding<64, ...> and gives 64 logits at each position. Tokens at the end that fill no row are left out.
///
/// Shape   ids (rows, length), labels (rows, length), or (rows) with Predict::last
/// Errors  D08 a token that the vocabulary does not have, D10 too few tokens, D11 no numbers, D14 memory
/// Tested  io/sequences_test, examples/by_subject/next_letter
[[nodiscard]] inline TokenDataset next_token_rows(std::span<const std::int32_t> tokens, int vocabulary, Windows windows) {
  constexpr const char* name = "rows of tokens";
  constexpr const char* remedy = "give a larger stride";
  refuse_other_windows(tokens, vocabulary, windows);
  const std::int64_t stride = windows.stride == 0 ? windows.length : windows.stride;
  const std::int64_t rows = (std::ssize(tokens) - windows.length - 1) / stride + 1;
  const std::int64_t each = windows.predict == Predict::each ? windows.length : 1;
  const std::uint64_t row_bytes = product_or_most(sizeof(std::int32_t), static_cast<std::uint64_t>(windows.length + each));
  refuse_beyond_memory(product_or_most(row_bytes, static_cast<std::uint64_t>(rows)), name, remedy);
  const auto make = [&] {
    TokenRows made;
    made.features = windows.length;
    made.classes = vocabulary;
    made.labels_of_a_row = each;
    made.ids.reserve(static_cast<std::size_t>(rows * windows.length));
    made.labels.reserve(static_cast<std::size_t>(rows * each));
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto ids = tokens.subspan(static_cast<std::size_t>(row * stride), static_cast<std::size_t>(windows.length + 1));
      made.ids.insert(made.ids.end(), ids.begin(), ids.end() - 1);
      made.labels.insert(made.labels.end(), ids.end() - each, ids.end());
    }
    return TokenDataset{std::move(made), name, "tokens that follow"};
  };
  return within_memory(name, make, remedy);
}

}  // namespace heddle::io_room

namespace heddle::datasets {
using io_room::next_token_rows, io_room::Predict;
}  // namespace heddle::datasets
