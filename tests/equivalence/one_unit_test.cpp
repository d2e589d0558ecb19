// SPDX-License-Identifier: MIT
// Layers of one unit are gathered and run again together, and train to the bits of one device. What a unit is: graph/one_unit_test.
#include <doctest/doctest.h>

#include "equivalence/equal.hpp"

using namespace heddle;

namespace {

struct Wrapped : Sequential<OneUnit<Linear<20, 16>, ReLU, Linear<16, 16>>, Linear<16, 4>> {};
struct Wide : Sequential<OneUnit<Linear<20, 32>, ReLU, Linear<32, 32>, ReLU, Linear<32, 32>>, Linear<32, 4>> {};
struct Around : Sequential<OneUnit<Linear<20, 16>, Repeat<2, Linear<16, 16>>>, Repeat<2, Linear<16, 16>>, Linear<16, 4>> {};

template <class Model, class Policy, class... Options>
using Trained = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<8>, Policy, Options...>;

}  // namespace

TEST_CASE("units of several layers have the bits of one device") {
  equivalence::check_same_bits<Trained<Wrapped, Sharded<2>>, Trained<Wrapped, Single>>();
  equivalence::check_same_bits_as_data<Trained<Around, Hybrid<Sharded<2, Gradients>, DataParallel<2>>, Clip<GlobalNorm>>,
                                       Trained<Around, Single, Clip<GlobalNorm>>>();
}

TEST_CASE("a unit that is larger than a bucket is reduced in several, to the same bits: slices of states, rings of gradients, rounds") {
  using Alone = Trained<Wide, Single>;
  using States = Trained<Wide, Sharded<2, OptimizerState>, Bucket<4_KiB>>;
  static_assert(States::training.bucket_count == 4 && States::training.unit_count == 2);
  equivalence::check_same_bits_as_data<States, Alone>();
  using Products = Trained<Wide, Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>, LossScaling, Bucket<4_KiB>>;
  equivalence::check_same_bits<Products, Trained<Wide, Single, LossScaling>>();
  using Halves = Trained<Wide, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2, OptimizerState>>, Bucket<4_KiB>>;
  equivalence::check_same_bits<Halves, Alone>();
  // One grain a rank, so that gradients pass through the ring.
  using OneGrain = Plan<Wide, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<16>, Single>;
  using Rings = Plan<Wide, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<16>, Sharded<2, Gradients>, Bucket<4_KiB>>;
  static_assert(Rings::training.storage.gradients && Rings::training.bucket_count == 4);
  equivalence::check_same_bits_as_data<Rings, OneGrain>();
  // What runs again lies in the bucket of the unit that is next, or in later ones, whose gradients are not due.
  equivalence::check_same_bits<
      Plan<Wide, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<16>, Sharded<2, Gradients>, Bucket<4_KiB>, Recompute<EveryBlock>>, OneGrain>();
}

TEST_CASE("a unit of several layers that runs again has them too") {
  equivalence::check_same_bits<Trained<Around, Single, Recompute<EveryBlock>>, Trained<Around, Single>>();
}
