// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Options> using OneGrain = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<16>, Options...>;
using Alone = OneGrain<Single>;
template <class... Options> using TwoGrains = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<32>, Options...>;
using AloneInTwo = TwoGrains<Single>;

}  // namespace

TEST_CASE("two ranks that slice optimizer states, gradients or parameters train to the bits of one device") {
  check_same_bits<TwoGrains<Sharded<2, OptimizerState>>, AloneInTwo>();
  check_same_bits_as_data<TwoGrains<Sharded<2, Gradients>>, AloneInTwo>();
  check_same_bits_as_data<TwoGrains<Sharded<2, Parameters>>, AloneInTwo>();
}

TEST_CASE("four ranks that slice optimizer states, gradients or parameters train to the bits of one device") {
  check_same_bits<OneGrain<Sharded<4, OptimizerState>>, Alone>();
  check_same_bits_as_data<OneGrain<Sharded<4, Gradients>>, Alone>();
  check_same_bits_as_data<OneGrain<Sharded<4, Parameters>>, Alone>();
}

TEST_CASE("with several grains a rank gradients stay whole until the last micro-batch, and the bits are those of one device") {
  using Kept = OneGrain<Sharded<2, Gradients>>;
  using Rounds = OneGrain<Sharded<2, Parameters>, Accumulate<2>>;
  static_assert(!Kept::training.storage.gradients && Rounds::training.storage.parameters && !Rounds::training.storage.gradients);
  check_same_bits<Kept, Alone>();
  check_same_bits<Rounds, Alone>();
  check_same_bits_as_data<OneGrain<Sharded<2, OptimizerState>, Accumulate<2>>, Alone>();
}

TEST_CASE("one rank that slices is one device") { check_same_bits<OneGrain<Sharded<1>>, Alone>(); }
