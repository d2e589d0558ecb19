// SPDX-License-Identifier: MIT
#include "heddle/plan/lowered.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/graph/tied.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"
#include "plan/same_program.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <int S, class Order, int M = 4> using In = Pipeline<Balanced<S>, Order, Microbatches<M>>;
struct Shared : Sequential<Named<"a", Linear<8, 8>>, Tanh, Tied<"b", Linear<8, 8>, To<"a">>, Linear<8, 3>> {};

}  // namespace

TEST_CASE("a plan that is lowered while a program runs is the plan that the compiler lowers: policies, orders, products, options") {
  lowers_alike<Trained<Chain, Single>>();
  lowers_alike<Trained<Chain, Back>>();
  lowers_alike<Trained<Chain, DataParallel<2>, Bucket<1_B>, Grain<2>>>();
  lowers_alike<Trained<Skips, In<2, GPipe>, Accumulate<2>>>();
  lowers_alike<Trained<Skips, In<2, Interleaved<2>>, Recompute<GELU, Tanh>>>();
  lowers_alike<Trained<Skips, Hybrid<In<4, ZeroBubbleH1>, DataParallel<2>>, Accumulate<2>, Recompute<GELU>>>();
  lowers_alike<Trained<Skips, Hybrid<Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>, LossScaling>>();
  lowers_alike<Trained<Skips, Hybrid<In<2, Interleaved<2>>, Sharded<2, Keep::Step>>>>();
  lowers_alike<Trained<Chain, Hybrid<TensorParallel<2>, In<2, OneFOneB>, Sharded<2, Gradients>>>>();
  lowers_alike<Trained<Shared, In<3, OneFOneB>>>();
  lowers_alike<Trained<Shared, Hybrid<In<2, OneFOneB>, Sharded<2>>>>();
}

TEST_CASE("an Inference is lowered to its own arenas, and a budget is of these") {
  using Applied = Inference<Skips, Batch<16, KeepLast>, Hybrid<In<2, OneFOneB>, DataParallel<2>>>;
  lowers_alike<Applied, Inference<Chain, Batch<16>, Sharded<2>>, Inference<Chain, Batch<16>, TensorParallel<2>, Accumulate<2>>>();
  LoweringRequest request = request_of<Applied>();
  const std::int64_t needs = lower(request).applied().arenas[0].total;
  CHECK(needs < lower(request).training().arenas[0].total);
  request.budget = Bytes{2 * needs};
  CHECK(check(lower(request)).ok());
  request.budget = Bytes{needs / 4};
  CHECK(check(lower(request)).code == Code{'C', 1});
}

TEST_CASE("the plans of this test are noted without a word of it, refused ones are not") {
  const std::size_t before = noticed_plans().size();
  CHECK(before > 10);
  CHECK(check<Trained<Chain, TensorParallel<5>>>().code == Code{'P', 1});
  CHECK(noticed_plans().size() == before);
}

TEST_CASE("policies answer for a graph that is data, and the plan of it is checked") {
  std::vector<TracedLeaf> leaves;
  std::vector<Node> nodes;
  Graph graph = graph_of<Chain>;
  for (int layers = 1; layers <= 40; ++layers) {  // Linear<8, 8> so many times
    leaves.assign(1, TracedLeaf{});
    leaves[0].leaf = Linear<8, 8>::describe(Spec{Shape{8}});
    nodes.clear();
    for (int n = 0; n < layers; ++n) {
      Node node;
      node.operands[0] = n;
      node.first_parameter = 2 * n;
      node.parameter_count = 2;
      nodes.push_back(node);
    }
    graph.leaves = leaves.data();
    graph.nodes = nodes.data();
    graph.leaf_count = 1;
    graph.node_count = layers;
    graph.parameter_count = 2 * layers;
    Layout layout{graph};
    Hybrid<Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>, DataParallel<2>>::answer(graph, layout);
    const LoweringRequest request{graph, layout, divide_batch(layout, BatchRequest{64})};
    const LoweredPlan plan = lower(request);
    INFO(layers);
    CHECK(plan.fault().ok() == (layers >= 4));  // a stage has a layer
    CHECK(check(plan).code == plan.fault().code);
    if (layers >= 4) CHECK(plan.training().graph->node_count == layers);
  }
}

TEST_CASE("a plan longer than a compiler may evaluate is lowered and checked at run time") {
  using Short = Trained<Chain, In<2, OneFOneB, 4>>;
  LoweringRequest request = request_of<Short::Request>();
  request.batch.rounds = 1'000;  // 4,000 micro-batches: S07 at build
  request.batch.batch *= 1'000;
  CHECK(check_schedule_length(request.graph, request.layout, request.batch).code == Code{'S', 7});
  CHECK(std::string{check(lower(request)).sentence().view()} == "");
  CHECK(lower(request).training().lists[0].count() > 16'000);
}

TEST_CASE("a budget that the arena exceeds is C01, as of a Plan") {
  LoweringRequest request = request_of<Trained<Chain, Single>::Request>();
  request.budget = 64_B;
  CHECK(check(lower(request)).code == Code{'C', 1});
}
