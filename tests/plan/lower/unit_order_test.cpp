// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/unit_order.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/tied.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Inner : Residual<Named<"up", Linear<16, 32>>, Frozen<Named<"still", Linear<32, 32>>>, Named<"down", Linear<32, 16>>> {};
struct Deep : Sequential<Named<"stem", Linear<8, 16>>, Named<"blocks", Repeat<2, Inner>>, Named<"head", Linear<16, 4>>> {};
/// Owner and use begin units 1 and 2.
struct TiedTwo : Sequential<Linear<6, 6>, Named<"in", Linear<6, 6>>, Tied<"out", Linear<6, 6>, To<"in">>, Linear<6, 3>> {};

template <class Model> constexpr auto spared = ChosenGroups<Model, AdamW, NoDecay<>>::value;
/// "up.weight, down.weight": the parameters of a unit as they lie.
template <class Model> std::string order(const UnitNodes& unit) {
  std::string all;
  unit.each(graph_of<Model>, spared<Model>.view(),
            [&](int n, int k) { all += (all.empty() ? "" : ", ") + std::string{graph_of<Model>.parameter_name(n, k).view()}; });
  return all;
}
template <class P> [[nodiscard]] std::int64_t begin_of(const char* name) {
  const Program& p = training_of<P>();
  for (int n = 0; n < p.graph->node_count; ++n)
    for (int k = 0; k < p.graph->nodes[n].parameter_count; ++k)
      if (p.graph->parameter_name(n, k).view() == name) return p.parameters[p.graph->nodes[n].first_parameter + k].begin;
  return -1;
}

}  // namespace

TEST_CASE("parameters of a unit that are trained lie by group, in the order of the model within one, and every other unit turns groups round") {
  constexpr const Graph& graph = graph_of<Deep>;
  constexpr UnitNodes first = unit_from(graph, 1, graph.node_count, 0, false);
  static_assert(first.first == 1 && graph.nodes[first.end].block != graph.nodes[1].block && !first.descends);
  CHECK(order<Deep>(first) == "blocks.0.up.weight, blocks.0.down.weight, blocks.0.up.bias, blocks.0.down.bias");
  CHECK(order<Deep>(unit_from(graph, 1, graph.node_count, 1, false)) ==
        "blocks.0.up.bias, blocks.0.down.bias, blocks.0.up.weight, blocks.0.down.weight");
  CHECK(order<Deep>(unit_from(graph, 0, graph.node_count, 0, false)) == "stem.weight, stem.bias");
  CHECK(order<Deep>(unit_from(graph, 0, graph.node_count, 1, true)) == "stem.weight, stem.bias");  // shared
  CHECK(order<Deep>(unit_from(graph, 1, 2, 0, false)) == "blocks.0.up.weight, blocks.0.up.bias");  // up to a cut
}

TEST_CASE("a plan places parameters so, whatever its policy, and a plan without groups in the order of the model") {
  using Alone = Plan<Deep, CrossEntropy, AdamW, Batch<8>, Single, NoDecay<>>;
  using Units = Plan<Deep, CrossEntropy, AdamW, Batch<8>, DataParallel<2>, NoDecay<>>;
  using Plain = Plan<Deep, CrossEntropy, AdamW, Batch<8>, Single>;
  for (const char* name : {"stem.weight", "blocks.0.up.bias", "blocks.1.down.weight", "head.bias"})
    CHECK(begin_of<Alone>(name) == begin_of<Units>(name));
  CHECK(begin_of<Alone>("blocks.0.up.bias") < begin_of<Alone>("blocks.0.up.weight"));
  CHECK(begin_of<Alone>("blocks.1.down.weight") < begin_of<Alone>("blocks.1.up.bias"));
  CHECK(begin_of<Plain>("blocks.0.up.weight") < begin_of<Plain>("blocks.0.up.bias"));
  CHECK(begin_of<Plain>("blocks.1.up.bias") < begin_of<Plain>("blocks.1.down.weight"));
}

TEST_CASE("uses of shared parameters lie alike, since their gradients are added element by element") {
  using Ties = Plan<TiedTwo, CrossEntropy, AdamW, Batch<8>, Single, NoDecay<>>;
  const Program& p = training_of<Ties>();
  CHECK(begin_of<Ties>("in.bias") - begin_of<Ties>("in.weight") == 48);  // 36 elements fill 3 lines
  CHECK(begin_of<Ties>("out.bias") - begin_of<Ties>("out.weight") == 48);
  CHECK(begin_of<Ties>("0.weight") < begin_of<Ties>("0.bias"));
  CHECK(begin_of<Ties>("3.bias") < begin_of<Ties>("3.weight"));
  CHECK(p.unit_count == 4);
}
