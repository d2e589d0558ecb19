// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/held.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Normed : Sequential<Linear<5, 8>, LayerNorm<8>, Linear<8, 3>> {};
struct Pairs : Sequential<Input<4, 16>, Linear<16, 64>, Tanh, Linear<64, 16>, LayerNorm<16>, Linear<16, 64>, Tanh, Linear<64, 16>> {};
template <class Model, class Policy> using Request = RequestOf<Plan<Model, MeanSquaredError, SGD, Batch<6>, Policy, Grain<3>>>;

}  // namespace

TEST_CASE("a tensor takes whole lines for each grain") {
  using R = Request<Normed, Single>;
  const HeldBytes held{R::graph, R::batch};
  CHECK(R::batch.grains() == 2);
  CHECK(held.of(5) == 2 * 64);   // 15 floats a grain
  CHECK(held.of(6) == 2 * 128);  // 18
  CHECK(held.value(1) == held.of(8));
  CHECK(held.of(Spec{Shape{5}, ElementType::int32}) == held.of(5));
}

TEST_CASE("on one device a backward reads nothing beside values but statistics, and nothing is on its way") {
  using R = Request<Normed, Single>;
  const HeldBytes held{R::graph, R::batch};
  CHECK(held.beside(0) == 0);
  CHECK(held.beside(1) == held.of(2));
  CHECK_FALSE((held.has_taken(2) || held.has_given(2)));
  CHECK(held.on_the_way(held.whole_input(2), laid::replicate, laid::replicate) == 0);
}

TEST_CASE("parts of a sequence are gathered: what travels has the room of all parts, and a slice has none") {
  using R = Request<Pairs, TensorParallel<2, SequenceParallel>>;
  const Graph& graph = Localised<typename CutAccount<R>::A>::graph;
  const HeldBytes held{graph, R::batch};
  CHECK(graph.converts_input(5));
  CHECK(held.whole_input(5) == Shape{4, 16});
  CHECK(held.taken(5) == held.of(64));  // a pair takes whole sequences,
  CHECK(held.value(5) == held.of(32));  // of which each rank has half
  CHECK_FALSE(held.has_taken(5));       // they are gathered again
  CHECK(held.on_the_way(held.whole_input(5), laid::shard(0), laid::replicate) == 2 * held.of(32));
  CHECK(held.on_the_way(held.whole_input(5), laid::replicate, laid::shard(0)) == 0);
}
