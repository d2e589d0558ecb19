// SPDX-License-Identifier: MIT
// Plans that are data: thousands of layouts, divisions and options that a seed draws are lowered and checked while the test runs; some of them train.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "equivalence/any_plan.hpp"
#include "heddle/graph/kept_values.hpp"
#include "heddle/plan/lowered.hpp"

using namespace equivalence;

namespace {

struct Model
    : Sequential<Linear<7, 6>, Repeat<3, Residual<Linear<6, 9>, GELU, Linear<9, 6, NoBias>>>, Tanh, Residual<ReLU, Linear<6, 6>>, Linear<6, 5>> {};
using Loss = MeanSquaredError;
using Optimizer = Adam;

using Answer = void (*)(const Graph&, Layout&);
template <class P> constexpr Answer answer = [](const Graph& graph, Layout& layout) { P::answer(graph, layout); };
struct NamedPolicy {
  const char* name;
  Answer answer;
};
template <int S, class Order, int M> using In = Pipeline<Balanced<S>, Order, Microbatches<M>>;

#define POLICY(...) \
  NamedPolicy { #__VA_ARGS__, answer < __VA_ARGS__> }
// What a pipeline of each kind is mixed with.
#define WITH(...)                                                                                              \
  POLICY(__VA_ARGS__), POLICY(Hybrid<__VA_ARGS__, DataParallel<2>>), POLICY(Hybrid<__VA_ARGS__, Sharded<2>>),  \
      POLICY(Hybrid<__VA_ARGS__, Sharded<2, Keep::Step>>), POLICY(Hybrid<Sharded<2, Gradients>, __VA_ARGS__>), \
      POLICY(Hybrid<__VA_ARGS__, Sharded<2, OptimizerState>, DataParallel<2>>)

const NamedPolicy policies[] = {POLICY(Single),
                                POLICY(DataParallel<2>),
                                POLICY(DataParallel<3>),
                                POLICY(DataParallel<4>),
                                POLICY(Sharded<2, OptimizerState>),
                                POLICY(Sharded<2, Gradients>),
                                POLICY(Sharded<4>),
                                POLICY(Sharded<2, Keep::Step>),
                                POLICY(Hybrid<Sharded<2>, DataParallel<2>>),
                                WITH(Pipeline<Balanced<2>>),
                                WITH(In<2, GPipe, 2>),
                                WITH(In<3, GPipe, 4>),
                                WITH(In<2, OneFOneB, 4>),
                                WITH(In<5, OneFOneB, 8>),
                                WITH(In<2, Interleaved<2>, 4>),
                                WITH(In<3, Interleaved<2>, 3>),
                                WITH(In<2, ZeroBubbleH1, 2>),
                                WITH(In<4, ZeroBubbleH1, 4>)};

/// What one seed draws.
struct Draw {
  std::uint64_t seed;
  int count = 0;

  int below(int choices) {
    return static_cast<int>(bits64(Seed{seed}, 77, static_cast<std::uint64_t>(count++)) % static_cast<std::uint64_t>(choices));
  }
};

struct Asked {
  LoweringRequest request;
  std::string words;
};

[[nodiscard]] Asked request_for(const NamedPolicy& policy, int batch, int rounds, int grain, bool mixed) {
  constexpr const Graph& of_floats = graph_of<Model>;
  constexpr const Graph& rounded = graph_room::KeptValues<Model, ElementType::bfloat16>::graph;
  const Graph& graph = mixed ? rounded : of_floats;
  Asked asked{LoweringRequest{graph, Layout{graph}, BatchDivision{}}, policy.name};
  LoweringRequest& request = asked.request;
  request.layout.loss = split_of_loss<Loss>(of_floats.output());
  policy.answer(graph, request.layout);
  request.batch = divide_batch(request.layout, BatchRequest{batch, Remedy::keep, rounds, grain, false, regroups_a_gradient(graph, request.layout)});
  request.target_features = Loss::target_features(of_floats.output());
  request.states = Optimizer::states;
  asked.words +=
      (mixed ? ", bfloat16, batch " : ", batch ") + std::to_string(batch) + ", rounds " + std::to_string(rounds) + ", grain " + std::to_string(grain);
  return asked;
}

/// Leaves to run again are shown by the request: they live as long as `leaves`.
[[nodiscard]] Asked drawn(std::uint64_t seed, bool* leaves) {
  Draw draw{seed};
  const NamedPolicy& policy = policies[draw.below(static_cast<int>(std::size(policies)))];
  const int grain = 1 << draw.below(3);
  Asked asked = request_for(policy, 16 << draw.below(3), 1 << draw.below(2), grain, seed % 3 == 0);
  LoweringRequest& request = asked.request;
  request.bucket_bytes = Bytes{64 << draw.below(7)};
  const int again = draw.below(4);
  for (int l = 0; l < request.graph.leaf_count; ++l) leaves[l] = draw.below(2) == 1;
  if (again > 1) request.again = {leaves, again == 3, true};
  asked.words = "seed " + std::to_string(seed) + ": " + asked.words + ", bucket " + std::to_string(request.bucket_bytes.value) + ", run again " +
                std::to_string(again);
  return asked;
}

[[nodiscard]] AnyRun run_of(const LoweredPlan& plan, const Work& work) {
  const int batch = plan.training().batch.batch;
  return train_any({&plan.training(), &plan.evaluation()}, work, batch, batch - 3);
}

}  // namespace

TEST_CASE(
    "two thousand plans that are data pass every check, and a quarter of them trains to the bits of one device and moves and holds what it states") {
  const Work work = work_of<Model, Loss, Optimizer>(96, 0);
  std::map<std::tuple<int, int, bool>, AnyRun> alone;
  int legal = 0;
  int ran = 0;
  int of_mixed = 0;
  for (std::uint64_t seed = 1; seed <= 2'000; ++seed) {
    bool leaves[graph_of<Model>.leaf_count]{};
    const Asked asked = drawn(seed, leaves);
    INFO(asked.words);
    const LoweredPlan plan = lower(asked.request);
    if (const Diagnosis found = check_answers(asked.request); !found.ok()) {
      CHECK(plan.fault().sentence().view() == found.sentence().view());
      continue;
    }
    REQUIRE(std::string{check(plan).sentence().view()} == "");
    if (++legal % 4 != 0) continue;
    const int batch = plan.training().batch.batch;
    const int grain = plan.training().batch.grain_rows;
    const bool mixed = asked.request.graph.values == ElementType::bfloat16;
    AnyRun& one = alone[{batch, grain, mixed}];
    if (one.held.empty()) one = run_of(lower(request_for(policies[0], batch, 1, grain, mixed).request), work);
    of_mixed += mixed ? 1 : 0;
    check_same_run(run_of(plan, work), one);
    ++ran;
  }
  MESSAGE(legal << " of 2000 plans were legal, " << ran << " trained, of which " << of_mixed << " keep values as bfloat16");
  CHECK(of_mixed > 100);
  CHECK(legal > 1'000);
  CHECK(ran > 300);
}
