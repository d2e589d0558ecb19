// SPDX-License-Identifier: MIT
// Frozen layers in front, between trained ones, inside blocks and behind: every policy has the bits of one device, and what is frozen stays as it
// was.
#include <doctest/doctest.h>

#include "equivalence/equal.hpp"

using namespace heddle;

namespace {

/// Each of the three kinds has bodies of its own: no backward at all, gradients of inputs alone, and both in one unit.
struct Front : Sequential<Frozen<Sequential<Linear<23, 16>, GELU, Linear<16, 16>, Tanh>>, Linear<16, 19>, ReLU, Linear<19, 10>> {};
struct Within : Sequential<Linear<23, 16>, Frozen<Sequential<Linear<16, 19>, Sigmoid, Linear<19, 16>>>, Tanh, Linear<16, 10>> {};
struct Adapted : Sequential<Linear<23, 16>, Repeat<4, Residual<Frozen<Linear<16, 18>>, GELU, Linear<18, 16, NoBias>>>, Frozen<Linear<16, 10>>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order, class... More> using Two = Pipeline<Balanced<2>, Order, Microbatches<4>, More...>;

template <class Model> void every_policy() {
  using Alone = Of<Model, Single>;
  equivalence::check_same_bits<Of<Model, DataParallel<2>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, DataParallel<4>, Bucket<64_B>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Single, Accumulate<4>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Sharded<4, OptimizerState>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Sharded<2, heddle::Gradients>, Accumulate<2>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Sharded<4>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Sharded<2, Keep::Step>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Two<GPipe>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Two<Interleaved<2>>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Two<ZeroBubbleH1>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Hybrid<Two<OneFOneB>, DataParallel<2>>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Model, Hybrid<Sharded<2, heddle::Gradients>, DataParallel<2>>>, Alone>();
}

}  // namespace

TEST_CASE("frozen layers in front run no backward, and every policy ends with the bits of one device") { every_policy<Front>(); }
TEST_CASE("frozen layers between trained ones pass gradients on, with the same bits everywhere") { every_policy<Within>(); }
TEST_CASE("frozen layers inside blocks and behind all others do so too") { every_policy<Adapted>(); }
