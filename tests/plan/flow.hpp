// SPDX-License-Identifier: MIT
// Room: tests. Plans whose Programs the tests of what flows change, and what the checks say then.
// Sees: plan/plans.hpp, policies, plan/check.  Does not see: processes, kernels.
#pragma once

#include <string>
#include <string_view>

#include "heddle/graph/tied.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

namespace heddle::tests {

struct Language : Sequential<Linear<8, 6>, Named<"wte", Linear<6, 6>>, Tanh, Linear<6, 6>, ReLU, Tied<"middle", Linear<6, 6>, To<"wte">>, GELU,
                             Tied<"head", Linear<6, 6>, To<"wte">>, Linear<6, 3>> {};

using Replicas = Trained<Skips, DataParallel<2>>;
using InTurns = Trained<Chain, BackIn<OneFOneB, 4>>;
using HalvedSlices = Trained<Skips, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>>>;
using SplitSlices = Trained<Skips, Hybrid<TensorParallel<3>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>, DataParallel<2>>,
                            Clip<GlobalNorm>, LossScaling>;
using SplitHalves = Trained<Skips, Hybrid<TensorParallel<3>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2, Gradients>>>;
using TiedStages = Trained<Language, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, OptimizerState>, DataParallel<2>>>;

/// Rules that stand before the one of this code find nothing, and this one says these words.
inline bool refused_for(const Diagnosis& found, Code code, std::string_view words) {
  return found.code == code && found.sentence().view().find(words) != std::string_view::npos &&
         found.words.view().find(". Fix: ") != std::string_view::npos;
}

/// What the rule of gradients alone says, whatever stands before it: with the chain of closing lines that LineCheck would leave.
inline Diagnosis followed(const Program& p) {
  std::vector<int> after(static_cast<std::size_t>(p.lists[p.roles - 1].end));
  int first = 0;
  int* next = &first;
  for (int i = 0; i < p.lists[p.roles - 1].end; ++i) {
    if (computes(p.instructions[i].op) || p.instructions[i].transfer >= 0) continue;
    *next = i + 1;
    next = &after[static_cast<std::size_t>(i)];
  }
  return run_time::gradient_flow(p, {p, after.data(), first});
}

/// The body that an entry stands in; an empty one if it is in none.
inline IndexRange body_of(const Program& p, int entry) {
  for (int c = 0; c < p.chunks; ++c)
    for (const IndexRange& body :
         {p.forward_bodies[c], p.training ? p.backward_bodies[c] : IndexRange{}, p.training ? p.weight_bodies[c] : IndexRange{}})
      if (entry >= body.begin && entry < body.end) return body;
  return {};
}

}  // namespace heddle::tests
