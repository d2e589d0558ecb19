// SPDX-License-Identifier: MIT
// TransformerEncoderLayer: the bits of one device under every policy, with dropout, norms behind and in front; split by heads one hash.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace heddle;

namespace {

template <class... Options>
struct Encoded
    : Sequential<Input<4, 6>, Linear<6, 16>, Repeat<2, TransformerEncoderLayer<16, 4, 24, Options...>>, Linear<16, 4>, Flatten, Linear<16, 10>> {};
using Dropped = Encoded<Dropout<1, 10>>;
using First = Encoded<NormFirst, GELU>;
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Model, class... Parts> using Small = Plan<Model, CrossEntropy, AdamW, Batch<8>, Parts...>;

template <class Model> void check_split() {
  const std::uint64_t alone = prove<Small<Model, Single>>().hash;
  CHECK(prove<Small<Model, TensorParallel<2>>>().hash == alone);
  CHECK(prove<Small<Model, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>, Recompute<EveryBlock>>>().hash == alone);
}

}  // namespace

TEST_CASE("encoder layers that drop have the bits of one device under every policy") { equivalence::check_every_policy<Of, Dropped>(); }

TEST_CASE("encoder layers whose norms stand first do too, and when they run again") {
  equivalence::check_same_bits_as_data<Of<First, Sharded<4>>, Of<First, Single>>();
  equivalence::check_same_bits_as_data<Of<First, Hybrid<equivalence::TwoStages<OneFOneB>, DataParallel<2>>>, Of<First, Single>>();
  equivalence::check_same_bits_as_data<Of<Dropped, DataParallel<2>, Recompute<EveryBlock>>, Of<Dropped, Single>>();
}

TEST_CASE("heads and features in parts have one hash") {
  check_split<Dropped>();
  check_split<First>();
}
