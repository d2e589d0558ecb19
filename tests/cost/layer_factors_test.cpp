// SPDX-License-Identifier: MIT
#include "heddle/cost/layer_factors.hpp"

#include <doctest/doctest.h>

#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Chain : Sequential<Linear<8, 8>, Linear<8, 8>, Linear<8, 8>, Linear<8, 8>> {};
template <class... Parts> using Of = Plan<Chain, CrossEntropy, SGD, Batch<8>, Parts...>;

}  // namespace

TEST_CASE("a factor multiplies what runs its layer, forwards and backwards, and nothing else") {
  using One = Of<Single>;
  constexpr Machine machine{.per_flop = 1};
  const double slow[] = {1, 3, 1, 1};
  const double plain = simulate(One::training, machine).step.value;
  const double factored = simulate(One::training, machine, {slow, 4}).step.value;
  const Graph& graph = graph_of<Chain>;
  CHECK(factored - plain == doctest::Approx(2.0 * 8 * static_cast<double>(graph.flops(1))));
  const double ones[] = {1, 1, 1, 1};
  CHECK(simulate(One::training, machine, {ones, 4}).step.value == plain);
  const double free[] = {0, 0, 0, 0};
  CHECK(simulate(One::training, machine, {free, 4}).step.value == 0);
}

TEST_CASE("a slow layer holds up the stage that it lies in, and its pipeline") {
  using Two = Of<Pipeline<CutBefore<2>, OneFOneB, Microbatches<4>>>;
  using Moved = Of<Pipeline<CutBefore<1>, OneFOneB, Microbatches<4>>>;
  const double slow[] = {4, 1, 1, 1};
  constexpr Machine machine{.per_flop = 1};
  CHECK(simulate(Two::training, machine).step.value < simulate(Moved::training, machine).step.value);
  CHECK(simulate(Two::training, machine, {slow, 4}).step.value > simulate(Moved::training, machine, {slow, 4}).step.value);
}

TEST_CASE("the norm, messages and the loss take what the machine says") {
  Entry entry{};
  const double slow[] = {5};
  const LayerFactors factors{slow, 1};
  entry.node = 0;
  entry.what = BodyOp::leaf_forward;
  CHECK(factors.of(entry) == 5);
  entry.what = BodyOp::loss;
  CHECK(factors.of(entry) == 1);
  entry.what = BodyOp::gather_value;
  CHECK(factors.of(entry) == 1);
  entry.what = BodyOp::leaf_backward_weight;
  entry.node = 1;
  CHECK(factors.of(entry) == 1);
}
