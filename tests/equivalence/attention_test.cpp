// SPDX-License-Identifier: MIT
// Models with attention, whose forward leaves log-sums for the backward: every policy has the bits of one device, and split layers its numbers.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

/// Causal heads, heads that share keys and values, and heads that see everything.
struct Inner : Residual<LayerNorm<8>, Linear<8, 24>, SelfAttention<Heads<4>, Causal>, Linear<8, 8, NoBias>> {};
struct Grouped : Residual<RMSNorm<8>, Linear<8, 16>, SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, Dropout<1, 4>, Linear<8, 8>> {};
struct Attending : Sequential<Input<5, 7>, Linear<7, 8>, Repeat<2, Inner>, Grouped, Linear<8, 24>, SelfAttention<Heads<2>>, GELU, Linear<8, 10>> {};
/// What is frozen passes a gradient on through attention; attention in front of all that is trained leaves no statistics.
struct Adapted : Sequential<Input<5, 24>, SelfAttention<Heads<2>>, Frozen<Linear<8, 24>>, SelfAttention<Heads<4>, Causal>, Linear<8, 24>,
                            Frozen<Sequential<SelfAttention<Heads<2>, Causal>, Linear<8, 24>>>, SelfAttention<Heads<1>>, Linear<8, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = equivalence::TwoStages<Order>;

}  // namespace

TEST_CASE("attention anywhere in a model has the bits of one device under every policy") {
  equivalence::check_every_policy<Of, Attending>();
  using Alone = Of<Attending, Single>;
  equivalence::check_same_bits_as_data<Of<Attending, Single, Recompute<EveryBlock>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Attending, Single, Recompute<SelfAttention<Heads<4>, Causal>, SelfAttention<Heads<2>>, GELU>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Attending, Two<OneFOneB>, Recompute<SelfAttention<Heads<4>, Causal>>>, Alone>();
}
TEST_CASE("attention between frozen layers, and attention that runs no backward, do so too") {
  using Alone = Of<Adapted, Single>;
  equivalence::check_same_bits_as_data<Of<Adapted, Recompute<SelfAttention<Heads<4>, Causal>>, Single>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, DataParallel<4>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Sharded<2>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Two<OneFOneB>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Two<ZeroBubbleH1>>, Alone>();
}
