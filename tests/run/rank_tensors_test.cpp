// SPDX-License-Identifier: MIT
#include "heddle/run/rank_tensors.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// How often each element of each parameter is held by the ranks of one copy.
template <class P, class Held> void every_element_is_held(int times, Held held) {
  const Program& p = P::training;
  for (int parameter = 0; parameter < p.graph->parameter_count; ++parameter) {
    CAPTURE(parameter);
    std::vector<int> seen(static_cast<std::size_t>(p.parameters[parameter].elements));
    for (int rank = 0; rank < devices<P>; ++rank) {
      RankTensors tensors{p, Rank{rank}};
      const HeldPart part = held(tensors, parameter);
      for (std::int64_t i = 0; i < part.elements; ++i) ++seen[static_cast<std::size_t>(part.begin + i)];
      for (std::int64_t i = 0; i < part.elements; ++i) part.values[i] = 1;  // within the arena: a sanitizer looks on
      CHECK(tensors.arena().high_water() <= tensors.arena().size());
    }
    for (const int count : seen) CHECK(count == times);
  }
}
constexpr auto parameter = [](RankTensors& t, int p) { return t.held_parameter(p); };
constexpr auto gradient = [](RankTensors& t, int p) { return t.held_gradient(p); };

}  // namespace

TEST_CASE("replicas hold every element each") {
  every_element_is_held<Trained<Mnist, DataParallel<2>>>(2, parameter);
  every_element_is_held<Trained<Mnist, DataParallel<2>>>(2, gradient);
}

TEST_CASE("slices hold every element once, also of tensors with fewer elements than ranks") {
  struct Narrow : Sequential<Linear<3, 2>, ReLU, Linear<2, 3>> {};
  using Many = Plan<Narrow, CrossEntropy, SGD, Batch<64>, Sharded<64>>;
  every_element_is_held<Many>(1, parameter);
  every_element_is_held<Many>(1, gradient);
  every_element_is_held<Trained<Skips, Sharded<4>>>(1, parameter);
  every_element_is_held<Trained<Skips, Sharded<4, Gradients>>>(4, parameter);
  every_element_is_held<Trained<Skips, Sharded<4, OptimizerState>>>(1, gradient);
  every_element_is_held<Trained<Skips, Hybrid<Sharded<2>, DataParallel<2>>>>(2, gradient);
}
