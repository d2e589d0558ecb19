// SPDX-License-Identifier: MIT
// Models with branches side by side: every policy has the bits of one device, and Residual<F> those of Branches<Add, F, Sequential<>>.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"
#include "equivalence/own_join.hpp"

using namespace heddle;

namespace {

/// Three branches and the value itself, which has four readers; branches in branches; branches in blocks.
struct Mix : Branches<Add, Linear<16, 16>, Sequential<Linear<16, 19>, GELU, Linear<19, 16>>, Sequential<>, Residual<Tanh, Linear<16, 16, NoBias>>> {};
struct Wide : Sequential<Branches<Add, Linear<23, 16>, Sequential<Linear<23, 7>, ReLU, Linear<7, 16>>>, Mix, ReLU,
                         Repeat<2, Branches<Add, Branches<Add, Tanh, Sequential<>, Sequential<>>, LayerNorm<16>, Linear<16, 16>>>, Linear<16, 10>> {};
/// Values one behind the other: on the input, in blocks, of a value with itself, among what is added; along the sequence and along features.
struct Narrow : Sequential<Branches<Concat, Linear<16, 7>, Sequential<Linear<16, 5>, GELU>, Sequential<>, Tanh>, Linear<44, 16>> {};
struct Joined : Sequential<Branches<Concat, Linear<23, 9>, Sequential<Linear<23, 4>, ReLU, Linear<4, 7>>>, Repeat<2, Narrow>,
                           Branches<Add, Linear<16, 32>, Branches<Concat, Sequential<>, Sequential<>>>, LayerNorm<32>, Linear<32, 10>> {};
struct Mixed : Sequential<Branches<Concat, Frozen<Linear<23, 9>>, Linear<23, 7>>,
                          Branches<Concat, Linear<16, 16>, Frozen<Sequential<Tanh, Linear<16, 16>>>>, Linear<32, 10>> {};

/// A join that saves what it takes: gates, a square, and one of which a factor is frozen.
struct Gate : Residual<Branches<own::Multiply, Sequential<Linear<16, 16>, Sigmoid>, Linear<16, 16>>> {};
struct Gated
    : Sequential<Branches<own::Multiply, Linear<23, 16>, Linear<23, 16, NoBias>>, Repeat<2, Gate>,
                 Branches<own::Multiply, Sequential<>, Sequential<>>,
                 Branches<own::Multiply, Linear<16, 16>, Frozen<Sequential<Tanh, Linear<16, 16>>>, Sequential<>>, LayerNorm<16>, Linear<16, 10>> {};

/// Frozen branches beside trained ones, in front of all trained layers and behind some; a branch that runs no backward.
struct Adapted : Sequential<Branches<Add, Frozen<Linear<23, 16>>, Frozen<Sequential<Linear<23, 16>, Tanh>>>,
                            Branches<Add, Frozen<Sequential<Linear<16, 16>, GELU>>, Sequential<Linear<16, 4>, Linear<4, 16>>>,
                            Branches<Add, Linear<16, 16>, Frozen<Sequential<Linear<16, 16>, Linear<16, 16>>>>, Linear<16, 10>> {};
struct Frozens : Branches<Add, Sequential<Linear<23, 16>, ReLU>, Frozen<Sequential<Linear<23, 16>, Tanh, Linear<16, 16>>>> {};
struct Late : Sequential<Frozens, Linear<16, 10>> {};
struct WithResidual : Sequential<Linear<23, 16>, Residual<Linear<16, 16>>, Linear<16, 10>> {};
struct WithBranches : Sequential<Linear<23, 16>, Branches<Add, Linear<16, 16>, Sequential<>>, Linear<16, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = equivalence::TwoStages<Order>;

}  // namespace

TEST_CASE("branches anywhere in a model have the bits of one device under every policy, and where they run again") {
  using Alone = Of<Wide, Single>;
  equivalence::check_every_policy<Of, Wide>();
  equivalence::check_same_bits_as_data<Of<Wide, Single, Recompute<EveryBlock>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Wide, Single, Recompute<Tanh, ReLU, Add>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Wide, Two<ZeroBubbleH1>, Recompute<EveryBlock, GELU>>, Alone>();
}

TEST_CASE("frozen branches do, in front of trained layers, beside them and behind them") {
  using Alone = Of<Adapted, Single>;
  equivalence::check_same_bits_as_data<Of<Adapted, DataParallel<4>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Sharded<2>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Two<OneFOneB>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Two<ZeroBubbleH1>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Recompute<Tanh, GELU>, Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Late, Two<ZeroBubbleH1>>, Of<Late, Single>>();
  equivalence::check_same_bits_as_data<Of<Late, Sharded<2>>, Of<Late, Single>>();
}

TEST_CASE("branches that are joined one behind the other do under every policy, and where they run again") {
  using Alone = Of<Joined, Single>;
  equivalence::check_every_policy<Of, Joined>();
  equivalence::check_same_bits_as_data<Of<Joined, Single, Recompute<EveryBlock>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Joined, Single, Recompute<Concat, Tanh>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Joined, Two<ZeroBubbleH1>, Recompute<Concat, GELU>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Mixed, Two<ZeroBubbleH1>>, Of<Mixed, Single>>();
  equivalence::check_same_bits_as_data<Of<Mixed, Sharded<2>>, Of<Mixed, Single>>();
}

TEST_CASE("a join of a user that saves both values does, and so where these run again") {
  using Alone = Of<Gated, Single>;
  equivalence::check_every_policy<Of, Gated>();
  equivalence::check_same_bits_as_data<Of<Gated, Single, Recompute<EveryBlock>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Gated, Single, Recompute<Sigmoid, own::Multiply>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Gated, Two<ZeroBubbleH1>, Recompute<EveryBlock, Tanh>>, Alone>();
}

TEST_CASE("a Residual trains to the bits of the branches that it is") {
  equivalence::check_same_bits_as_data<Of<WithBranches, Single>, Of<WithResidual, Single>>();
}
