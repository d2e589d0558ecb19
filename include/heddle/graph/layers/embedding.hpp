// SPDX-License-Identifier: MIT
// Room: graph. A table with one row for each token of a vocabulary: token ids become vectors, with PyTorch's name, layout and initialisation.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the ids.  Out: Leaf, TableRows.
#pragma once

#include <cstdint>

#include "heddle/core/host_device.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"
#include "heddle/graph/token_ids.hpp"

namespace heddle::graph_room {

/// The token with which shorter sequences are filled up: its row of the table starts at zeros and has no gradient from the Embedding, so it stays
/// there, as padding_idx of torch.nn.Embedding says.
template <std::int64_t Token> struct PaddingIndex { static constexpr std::int64_t padding_index = Token; };

/// What the options of Embedding say. PaddingIndex<7> has token 7 and named 1; none -1 and 0.
struct PaddingFacts {
  std::int64_t token = -1;
  int named = 0;

  template <class Option> constexpr void take() {
    if constexpr (requires { Option::padding_index; }) {
      ++named;
      token = Option::padding_index;
    }
  }
};

/// Row x of the table for each token id x, as torch.nn.Embedding. Ids are int32, from 0 to Vocabulary - 1, and have no gradient: a model that begins
/// with an Embedding takes std::int32_t inputs. Split by rows of the table (a rank gives zeros for the tokens of others) or by features. Of
/// Embedding<1'000, 64, PaddingIndex<0>> row 0 stays at zeros, unless a layer that is tied to it gives it a gradient.
///
/// Shape   (...) ids become (..., Features); weight (Vocabulary, Features)
/// Moves   by rows: the output is a sum over the ranks; by features: nothing, each rank has its features of every token
/// Errors  G06 if a size is not in 1 .. 2^30, G01 if the ids have more than three dimensions, G18 if what it reads is made by a layer that computes;
///         G25 if PaddingIndex is no token, or named twice; D33 of a batch with float inputs; R09 at run time: an id out of range
/// Source  sources.md#pytorch-init, sources.md#megatron
/// Tested  graph/layers/embedding_test, compute/eigen/embedding_test, golden/padding_index_test, fail/G25_padding_that_is_no_token
template <std::int64_t Vocabulary, std::int64_t Features, class... Options> struct Embedding {
  using KernelLayer = Embedding;  ///< kernels are found for this type, also where a model derives a name from it
  static constexpr PaddingFacts padding = [] {
    PaddingFacts facts;
    (facts.take<Options>(), ...);
    return facts;
  }();

  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Embedding";
    leaf.spelled << "Embedding<";
    write_digits(leaf.spelled, Vocabulary);
    leaf.spelled << ", ";
    write_digits(leaf.spelled, Features);
    (void(leaf.spelled << ", " << type_name<Options>().view()), ...);
    leaf.spelled << '>';
    leaf.in = Spec{in.shape, ElementType::int32};
    leaf.out = Spec{in.shape};
    leaf.saves = Saves::input;
    leaf.weights_read = leaf.input_part_reads_saved = false;
    leaf.vocabulary = Vocabulary;
    leaf.fault = refusal(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    leaf.out.shape.append(Features);
    leaf.out.sequence = static_cast<std::int8_t>(in.shape.dimensions - 1);  // tokens follow one another along the last dimension of the ids
    Parameter table{"weight", Shape{Vocabulary, Features}, Initial::normal};
    table.padding_row = padding.token;
    leaf.with(table);
    const Laid last = laid::shard(in.shape.dimensions);
    leaf.splits(Signature{laid::replicate, laid::partial, laid::partial, laid::replicate, {}, {}}  // rows of the table
                    .with(0, laid::shard(0), laid::shard(0)));
    leaf.splits(Signature{laid::replicate, last, laid::partial, last, {}, {}}  // features
                    .with(0, laid::shard(1), laid::shard(1)));
    return leaf;
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 30;

  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    if (Vocabulary < 1 || Features < 1 || Vocabulary > most || Features > most)
      return Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a size that is not between 1 and " << most
                                                          << ". Fix: write the number of tokens and the number of features of each.";
    if (padding.named < static_cast<int>(sizeof...(Options)))
      return Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " names what is no option of Embedding. Fix: write PaddingIndex<0>, or nothing.";
    if (padding.named > 1) return Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " names an option twice. Fix: keep one of them.";
    if (padding.named == 1 && (padding.token < 0 || padding.token >= Vocabulary))
      return Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " pads with token " << padding.token << ", which its " << Vocabulary
                                                           << " rows do not have. Fix: write one from 0 to " << Vocabulary - 1 << '.';
    if (in.shape.dimensions + 1 > Shape::most_dimensions)
      return Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes ids of at most " << Shape::most_dimensions - 1 << " dimensions but is given "
                                                          << in.shape << ". Fix: give it such ids.";
    return {};
  }
};

/// The rows of the table that one rank has, of one call; it travels to a card by value.
/// Of 1,000 rows over 4 ranks part 2 has 250 from row 500 on: token 612 lies in its row 112, token 40 elsewhere.
///
/// Tested  graph/layers/embedding_test
struct TableRows {
  std::int64_t ids;         // of all samples
  std::int64_t vocabulary;  // rows of all ranks
  std::int64_t first;       // of this rank
  std::int64_t rows;
  std::int64_t features;
  std::int64_t padding;  // the id whose row has no gradient; -1: none
  static constexpr std::int64_t elsewhere = -1;
  static constexpr std::int64_t nowhere = -2;  // it is no token

  constexpr TableRows(const Leaf& leaf, std::int64_t samples, int part)
      : ids(samples * leaf.in.elements()), vocabulary(leaf.vocabulary), first(0), rows(leaf.parameters[0].shape.sizes[0]),
        features(leaf.parameters[0].shape.last()), padding(leaf.parameters[0].padding_row) {
    if (rows < vocabulary) first = part * rows;
  }
  /// Where a token's row lies in what this rank has.
  [[nodiscard]] HEDDLE_HOST_DEVICE constexpr std::int64_t row_of(std::int32_t id) const {
    if (!is_token(id, vocabulary)) return nowhere;
    const std::int64_t row = id - first;
    return row >= 0 && row < rows ? row : elsewhere;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Embedding, graph_room::PaddingIndex;
}  // namespace heddle
