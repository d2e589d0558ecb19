// SPDX-License-Identifier: MIT
// Shares of vectors: the bits of one device under every policy, and its numbers where sequences are split.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

struct Gates : Residual<Linear<16, 19>, Softmax, Linear<19, 16>> {};
struct Shared : Sequential<Linear<23, 16>, Repeat<2, Gates>, Linear<16, 10>, LogSoftmax> {};
template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;

struct Positions : Sequential<Input<6, 8>, LayerNorm<8>, Residual<Linear<8, 12>, GELU, Linear<12, 8>>, Softmax, LayerNorm<8>,
                              Residual<Linear<8, 12>, Linear<12, 8>>, LogSoftmax> {};
using Split = Plan<Positions, MeanSquaredError, AdamW, Batch<8>, TensorParallel<2, SequenceParallel>>;

}  // namespace

TEST_CASE("softmax anywhere in a model has the bits of one device under every policy") {
  equivalence::check_every_policy<Of, Shared>();
  equivalence::check_same_bits_as_data<Of<Shared, Single, Recompute<Softmax, LogSoftmax>>, Of<Shared, Single>>();
}

TEST_CASE("each rank of a split sequence has the shares of its positions") {
  const Graph& graph = *Split::training.graph;
  int split = 0;
  for (int n = 0; n < graph.node_count; ++n) split += graph.leaf(n).kind.view() == "Softmax" && graph.signature(n).input == laid::shard(0) ? 1 : 0;
  CHECK(split == 1);
  const auto data = equivalence::rows_of<Split>(8);
  CHECK(verify<Split, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5).text == "");
}
