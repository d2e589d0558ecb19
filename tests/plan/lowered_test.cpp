// SPDX-License-Identifier: MIT
#include "heddle/plan/lowered.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

#include "heddle/graph/tied.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/lowered_again.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <int S, class Order, int M = 4> using In = Pipeline<Balanced<S>, Order, Microbatches<M>>;
struct Shared : Sequential<Named<"a", Linear<8, 8>>, Tanh, Tied<"b", Linear<8, 8>, To<"a">>, Linear<8, 3>> {};

template <class ThePlan> void lowers_alike() {
  const NoticedPlan* const noticed = Noticing<ThePlan>::noticed;
  CHECK(noticed->request().graph.node_count > 0);
  CHECK(noticed->training != nullptr);
  CHECK(lowered_otherwise(*noticed) == "");
}

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
  lowers_alike<Applied>();
  lowers_alike<Inference<Chain, Batch<16>, Sharded<2>>>();
  lowers_alike<Inference<Chain, Batch<16>, TensorParallel<2>, Accumulate<2>>>();
  LoweringRequest request = request_of<Applied>();
  const std::int64_t needs = lower(request).applied().arenas[0].total;
  CHECK(needs < lower(request).training().arenas[0].total);
  request.budget = Bytes{2 * needs};
  CHECK(check(lower(request)).ok());
  request.budget = Bytes{needs / 4};
  CHECK(check(lower(request)).code == Code{'C', 1});
}

/// What this program has noted of a plan, looked for by name: to name Noticing<ThePlan> would note it.
template <class ThePlan> const NoticedPlan* noted() {
  const NoticedPlan* plan = first_noticed;
  while (plan != nullptr && std::string_view{plan->name} != typeid(ThePlan*).name()) plan = plan->next;
  return plan;
}

TEST_CASE("the plans of this test are noted without a word of it, also those that are only asked for, and refused ones with what is said") {
  using Asked = Trained<Chain, DataParallel<16>, Bucket<7_B>>;
  CHECK(check<Asked>().ok());
  REQUIRE(noted<Asked>() != nullptr);
  CHECK(noted<Asked>()->training->mesh.ranks() == 16);
  CHECK(noted<Asked>()->request().bucket_bytes == 7_B);
  using Applied = Inference<Chain, Batch<48>, Single>;
  CHECK(devices<Applied> == 1);
  REQUIRE(noted<Applied>() != nullptr);
  CHECK(noted<Applied>()->training->batch.batch == 48);
  using Refused = Trained<Chain, TensorParallel<5>>;
  CHECK(check<Refused>().code == Code{'P', 1});
  REQUIRE(noted<Refused>() != nullptr);
  CHECK(noted<Refused>()->found->code == Code{'P', 1});
  CHECK((noted<Refused>()->request != nullptr));
  CHECK(noted<Refused>()->training == nullptr);
  using TooLarge = Trained<Chain, Single, Memory<64_B>>;
  CHECK(check<TooLarge>().code == Code{'C', 1});
  REQUIRE(noted<TooLarge>() != nullptr);
  CHECK(noted<TooLarge>()->training != nullptr);
  using Twice = Trained<Chain, Single, Single>;
  CHECK(check<Twice>().code == Code{'L', 2});
  REQUIRE(noted<Twice>() != nullptr);
  CHECK((noted<Twice>()->request == nullptr));
  CHECK(noted<Trained<Chain, DataParallel<16>, Bucket<9_B>>>() == nullptr);
}

TEST_CASE("a noted plan that is lowered otherwise is told in words") {
  using Piped = Trained<Chain, In<2, OneFOneB>>;
  NoticedPlan noticed = *Noticing<Piped>::noticed;
  REQUIRE(lowered_otherwise(noticed) == "");
  SUBCASE("another order of its list") {
    noticed.request = request_of<Trained<Chain, In<2, GPipe>>>;
    CHECK(lowered_otherwise(noticed).starts_with("op of a line of number "));
  }
  SUBCASE("another training, the same evaluation") {
    noticed.training = noticed.evaluation;
    CHECK(lowered_otherwise(noticed) != "");
  }
  SUBCASE("another evaluation, the same training") {
    noticed.evaluation = noticed.training;
    CHECK(lowered_otherwise(noticed) != "");
  }
  SUBCASE("refused, and not by the compiler") {
    noticed.request = request_of<RequestOf<Trained<Chain, TensorParallel<5>>>>;
    CHECK(lowered_otherwise(noticed).starts_with("check says '' and '[heddle.P01] "));
  }
  SUBCASE("refused by the compiler alone") {
    noticed.found = &Verdict<Trained<Chain, TensorParallel<5>>>::found;
    CHECK(lowered_otherwise(noticed).starts_with("check says '[heddle.P01] "));
  }
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
