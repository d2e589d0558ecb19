// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_backward_on_tensor_cores.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "compute/cuda/attention_on_tensor_cores_cases.hpp"
using namespace heddle;
using attention_cases::Card;
using attention_cases::tensor_cores_follow;

TEST_CASE("blocks of all kernels have at most 48 KiB of shared memory") {
  const AttentionSizes e{3 * 2 * 64, 2 * 64, 3, 130, 2, 64, 2, false, 1.0F};
  const auto takes = [&]<class K>(K) {
    CHECK(K::extents(e).blocks == 3 * 2 * 3);
    return K::extents(e).shared_bytes;
  };
  CHECK(takes(AttentionForwardOnTensorCores<float, true>{}) == 17'408);
  CHECK(takes(AttentionQueryGradientsOnTensorCores<float, true>{}) == 17'408);
  CHECK(takes(AttentionKeyGradientsOnTensorCores<float, true>{}) == 17'408 + 256);
  CHECK(takes(AttentionForwardOnTensorCores<BFloat16, true>{}) == 18'432);
  CHECK(takes(AttentionQueryGradientsOnTensorCores<BFloat16, true>{}) == 27'648);
  CHECK(takes(AttentionKeyGradientsOnTensorCores<BFloat16, true>{}) == 36'864 + 512);
}

TEST_CASE_TEMPLATE("outputs, log-sums and gradients of tensor cores are those of the definition, for positions below, at and beyond a tile", Value,
                   float, BFloat16) {
  const Card card;
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{1, 3 * 8}, 3);
  tensor_cores_follow<SelfAttention<Heads<2>, Causal>, Value>(Shape{64, 2 * 3 * 16}, 1);
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{65, 3 * 40}, 1);
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{32, 3 * 8}, 1);
  tensor_cores_follow<SelfAttention<Heads<1>, Causal>, Value>(Shape{33, 3 * 8}, 2);
  tensor_cores_follow<SelfAttention<Heads<2>, Causal>, Value>(Shape{150, 2 * 3 * 8}, 1);
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{150, 3 * 24}, 1);
  tensor_cores_follow<SelfAttention<Heads<2>, Causal>, Value>(Shape{3, 2, 2 * 3 * 8}, 2);
}

TEST_CASE_TEMPLATE("so are they for heads of 8 to 64 features", Value, float, BFloat16) {
  const Card card;
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{9, 3 * 8}, 1);
  tensor_cores_follow<SelfAttention<Heads<2>>, Value>(Shape{9, 2 * 3 * 16}, 1);
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{9, 3 * 32}, 1);
  tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{9, 3 * 48}, 1);
  tensor_cores_follow<SelfAttention<Heads<3>>, Value>(Shape{40, 3 * 3 * 56}, 1);
  tensor_cores_follow<SelfAttention<Heads<2>, Causal>, Value>(Shape{70, 2 * 3 * 64}, 1);
}

TEST_CASE_TEMPLATE("heads that share keys and values add what each gives to their gradients", Value, float, BFloat16) {
  const Card card;
  tensor_cores_follow<SelfAttention<Heads<6>, KeyValueHeads<1>, Causal>, Value>(Shape{67, 8 * 8}, 1);
  tensor_cores_follow<SelfAttention<Heads<6>, KeyValueHeads<3>>, Value>(Shape{4, 12 * 8}, 3);
  tensor_cores_follow<SelfAttention<Heads<4>, KeyValueHeads<2>>, Value>(Shape{2, 36, 8 * 16}, 1);
}

TEST_CASE_TEMPLATE("weights are dropped by the same numbers, where four that are drawn together lie in two tiles, warps or queries", Value, float,
                   BFloat16) {
  const Card card;
  tensor_cores_follow<SelfAttention<Heads<2>, Dropout<1, 4>>, Value>(Shape{67, 2 * 3 * 8}, 2);
  tensor_cores_follow<SelfAttention<Heads<1>, Causal, Dropout<1, 10>>, Value>(Shape{130, 3 * 16}, 1);
  tensor_cores_follow<SelfAttention<Heads<2>, Dropout<1, 10>>, Value>(Shape{66, 2 * 3 * 8}, 1);
  tensor_cores_follow<SelfAttention<Heads<4>, KeyValueHeads<2>, Dropout<2, 3>>, Value>(Shape{2, 65, 8 * 8}, 1, 0);
  tensor_cores_follow<SelfAttention<Heads<1>, Dropout<1, 4>>, Value>(Shape{1, 3 * 8}, 5);
}

TEST_CASE_TEMPLATE("nothing is multiplied that no query sees, nor features that are not there, and blocks pass over no tile that none of them sees",
                   Value, float, BFloat16) {
  constexpr int passed = passed_positions<Value>, depth = TensorFactor<Value>::depth;
  const auto up = [](int n, int by) { return (n + by - 1) / by; };
  for (const bool causal : {false, true})
    for (const int features : {8, 40, 64})
      for (const int positions : {1, 70, 129}) {
        CAPTURE(positions);
        const Card card;
        const long of_features = long{passed / 8} * up(features, depth), of_positions = long{features / 8} * (passed / depth);
        long wanted = 0, barriers = 0;
        for (int own = 0; own < positions; own += 16) {
          const long keys = up(causal ? std::min(own + 16, positions) : positions, passed),
                     queries = up(positions, passed) - (causal ? own / passed : 0);
          wanted += keys * (of_features + of_positions) + keys * (2 * of_features + of_positions) + queries * (2 * of_features + 2 * of_positions);
        }
        for (int first = 0; first < positions; first += 64)
          barriers += 2 * (1 + up(causal ? std::min(first + 64, positions) : positions, passed)) + 1 + up(positions - (causal ? first : 0), passed);
        const auto runs = [&]<class L>(L) {
          attention_cases::OnTensorCores<L, Value> test{L::describe(Spec{Shape{positions, 3 * features}}), 2};
          attention_cases::run(test, 2);
        };
        causal ? runs(SelfAttention<Heads<1>, Causal>{}) : runs(SelfAttention<Heads<1>>{});
        CHECK(cuda_emulator::counts().warp_products == 2 * wanted);
        CHECK(cuda_emulator::counts().barriers == 2 * barriers);
      }
}

TEST_CASE_TEMPLATE("so are they for sizes that are drawn", Value, float, BFloat16) {
  const Card card;
  conformance::Sizes sizes(3);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t features = 8 * (1 + sizes.below(8)), positions = 1 + sizes.below(100), rows = 1 + sizes.below(2);
    tensor_cores_follow<SelfAttention<Heads<2>, KeyValueHeads<1>, Causal, Dropout<1, 4>>, Value>(Shape{positions, 4 * features}, rows);
    tensor_cores_follow<SelfAttention<Heads<1>>, Value>(Shape{positions, 3 * features}, rows);
  }
}
