// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class Loss, class Optimizer, class Policy> using Of = Plan<Mlp, Loss, Optimizer, Batch<32>, Grain<4>, Policy, Bucket<1_KiB>>;

template <class Loss, class Optimizer> void check_replicas_stages_and_both() {
  using Alone = Of<Loss, Optimizer, Single>;
  check_same_bits<Of<Loss, Optimizer, DataParallel<2>>, Alone>();
  check_same_bits<Of<Loss, Optimizer, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Alone>();
  check_same_bits<Of<Loss, Optimizer, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>, Alone>();
}

}  // namespace

TEST_CASE("SGD gives the same bits under every plan") {
  check_replicas_stages_and_both<CrossEntropy, SGD>();
  check_replicas_stages_and_both<MeanSquaredError, SGD>();
}

TEST_CASE("SGD with momentum gives the same bits under every plan") { check_replicas_stages_and_both<CrossEntropy, MomentumSGD>(); }

TEST_CASE("Adam gives the same bits under every plan") { check_replicas_stages_and_both<MeanSquaredError, Adam>(); }

TEST_CASE("AdamW gives the same bits under every plan") { check_replicas_stages_and_both<CrossEntropy, AdamW>(); }
