// SPDX-License-Identifier: MIT
// Positions that are learned, and queries and keys that are turned: the bits of one device, one hash, and heads, features and positions in parts.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace heddle;

namespace {

using Turned =
    Residual<LayerNorm<24>, Linear<24, 48>, Rotary<6, Heads<4>, KeyValueHeads<2>>, SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, Linear<24, 24>>;
/// As many positions as the table has, which ranks may then split.
struct Letters : Sequential<Input<6>, Embedding<16, 24, PaddingIndex<5>>, LearnedPositions<6, 24>, Repeat<2, Turned>, LayerNorm<24>, Linear<24, 4>,
                            Flatten, Linear<24, 16>> {};
struct Shorter : Sequential<Input<5>, Embedding<16, 24, PaddingIndex<0>>, LearnedPositions<6, 24>, Turned, Linear<24, 4>, Flatten, Linear<20, 16>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Model, class... Parts> using Small = Plan<Model, CrossEntropy, AdamW, Batch<8>, Parts...>;

template <class Model> void check_split() {
  const std::uint64_t alone = prove<Small<Model, Single>>().hash;
  CHECK(prove<Small<Model, TensorParallel<2>>>().hash == alone);
  CHECK(prove<Small<Model, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>>>().hash == alone);
  const auto check = []<class P>(const P*) {
    const auto data = equivalence::rows_of<P>(8);
    const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, 5e-5);
    CHECK(found.text == "");
  };
  check(static_cast<const Small<Model, TensorParallel<2>>*>(nullptr));
  check(static_cast<const Small<Model, TensorParallel<2, SequenceParallel>>*>(nullptr));
}

}  // namespace

TEST_CASE("learned and turned positions have the bits of one device under every policy") { equivalence::check_every_policy<Of, Letters>(); }

TEST_CASE("heads, features and positions in parts have the numbers of one device and its hash, whether sequences have all positions or not") {
  check_split<Letters>();
  check_split<Shorter>();
}
