// SPDX-License-Identifier: MIT
// What the documents ask of a plan adds no error to its refusal either: idle shares, operations, bytes, remarks, places in the Program.
// compilers: g++ clang++ clang++-14 nvcc
// slow: nvcc
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 2 `linear2`: Linear<60, 10> takes 60 features
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Head = Linear<50, 10>;
#else
using Head = Linear<60, 10>;
#endif

struct Mlp : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Head>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using Applied = Inference<Mlp, Batch<64>, Single>;
constexpr bool every_rank_sends() {
  bool sends = true;
  for (int rank = 0; rank < devices<Trained>; ++rank) sends = sends && traffic<Trained>().sent_to_peers(Rank{rank}) > 0_B;
  return sends;
}

static_assert(every_rank_sends());
static_assert(bubble_percent(Trained::training) == 49 && bubble_percent(lower<Trained>()) == 49);
static_assert(stage_flops(Trained::training, 0) == 156'900 && stage_flops(Trained::training, 1) == 3120);
static_assert(lower<Trained>().loss_role() == 1 && lower<Trained>().device_of_chunk[1] == 1 && lower<Trained>().first_node[1] == 1);
static_assert(lower<Trained>().batch.micro_rows == 16 && lower<Trained>().mesh.ranks() == 2);
static_assert(traffic<Trained>().loss().messages == 0 && traffic<Trained>().activations().messages == 8);
static_assert(traffic<Trained>().sent_to_peers(Rank{0}) > 12_KB && traffic<Trained>().sent_in_norm(Rank{0}) == 0_B);
static_assert(advice<Trained>().has(Code{'A', 3}) && !advice<Trained>().has(Code{'A', 7}));
static_assert(10 * flops_run_again(lower<Trained>()) < flops<Mlp>);
static_assert(bubble_percent(Applied::evaluation) == 0 && lower<Applied>().loss_role() == 0);
