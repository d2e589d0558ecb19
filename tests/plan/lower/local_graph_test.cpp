// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/local_graph.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Mlp : Sequential<Linear<24, 16>, ReLU, Residual<Linear<16, 32>, Tanh, Linear<32, 16>>, Linear<16, 4>> {};
using Split = Trained<Mlp, TensorParallel<4>>;
using Local = Localised<Split::Request>;

}  // namespace

TEST_CASE("a rank sees the same nodes and names, and leaves of the size that it runs") {
  constexpr const Graph& whole = graph_of<Mlp>;
  constexpr const Graph& local = Local::graph;
  static_assert(local.node_count == whole.node_count && local.parameter_count == whole.parameter_count);
  for (int n = 0; n < whole.node_count; ++n) {
    CAPTURE(n);
    CHECK(local.describe(n) == whole.describe(n));
    CHECK(local.spec(n + 1).shape.dimensions == whole.spec(n + 1).shape.dimensions);
  }
  static_assert(local.spec(1).shape == Shape{4} && local.leaf(1).out.shape == Shape{4} && local.spec(2).shape == Shape{16});  // then gathered
  static_assert(local.input == whole.input && local.output() == whole.output());
  static_assert(local.leaf(2).out.shape == Shape{8} && local.leaf(3).in.shape == Shape{8} && local.leaf(4).in.shape == Shape{8});
  CHECK(local.leaf(4).parameters[0].shape == Shape{16, 8});
}

TEST_CASE("ranks hold the model once but for what stays whole") {
  constexpr std::int64_t rest = 16;  // the bias of the row
  static_assert(4 * (Local::graph.parameter_elements() - rest) == parameters<Mlp> - rest);
  CHECK(Split::training.graph->parameter_elements() == Local::graph.parameter_elements());
}

TEST_CASE("without axis tensor the graph is the model's own and nothing has a signature") {
  using Alone = Localised<Trained<Mlp, DataParallel<2>>::Request>;
  static_assert(Alone::graph.leaves == graph_of<Mlp>.leaves && !Alone::graph.split.any());
  static_assert(Localised<Trained<Mlp, TensorParallel<1>>::Request>::graph.split.any() == false);
  CHECK(Trained<Mlp, Single>::training.graph->signature(0) == Signature{});
}
