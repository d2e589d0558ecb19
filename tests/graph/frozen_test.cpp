// SPDX-License-Identifier: MIT
#include "heddle/graph/frozen.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/one_unit.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/read/program_hash.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Whole : Sequential<Named<"body", Sequential<Linear<8, 6>, ReLU, Linear<6, 6>>>, Linear<6, 3>> {};
struct Headed : Sequential<Frozen<Named<"body", Sequential<Linear<8, 6>, ReLU, Linear<6, 6>>>>, Linear<6, 3>> {};
struct Middle : Sequential<Linear<8, 6>, Frozen<Repeat<2, Residual<Linear<6, 6>, Tanh>>>, Linear<6, 3>> {};
struct Inner : Sequential<Linear<8, 6>, Repeat<2, Sequential<Frozen<Linear<6, 6>>, Tanh, Linear<6, 6>>>, Linear<6, 3>> {};

template <class Model, class Policy, class... Options>
using Trained = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<8>, Policy, Options...>;

}  // namespace

TEST_CASE("several layers are frozen as their Sequential is") {
  struct Several : Sequential<Frozen<Linear<8, 6>, Named<"middle", Tanh>, Linear<6, 6>>, Linear<6, 3>> {};
  struct Joined : Sequential<Frozen<Sequential<Linear<8, 6>, Named<"middle", Tanh>, Linear<6, 6>>>, Linear<6, 3>> {};
  const Graph& several = graph_of<Several>;
  const Graph& joined = graph_of<Joined>;
  REQUIRE((several.fault.ok() && several.node_count == 4 && joined.node_count == 4));
  for (int n = 0; n < 4; ++n) {
    CHECK(several.name(n).view() == joined.name(n).view());
    CHECK(several.frozen(n) == joined.frozen(n));
  }
  CHECK((several.frozen(0) && several.frozen(2) && !several.frozen(3)));
  CHECK(several.parameter_name(2, 0).view() == "0.2.weight");
}

TEST_CASE("nothing may be frozen: that is the value itself, as an empty Sequential is") {
  struct Nothing : Sequential<Linear<8, 6>, Frozen<>, Linear<6, 3>> {};
  REQUIRE(graph_of<Nothing>.fault.ok());
  CHECK(graph_of<Nothing>.node_count == 2);
  CHECK(graph_of<Nothing>.output().shape == Shape{3});
}

TEST_CASE("names, shapes, numbers and operations forward are those of the layers without Frozen") {
  const Graph& with = graph_of<Headed>;
  const Graph& without = graph_of<Whole>;
  REQUIRE(with.node_count == without.node_count);
  CHECK(parameters<Headed> == parameters<Whole>);
  for (int n = 0; n < with.node_count; ++n) {
    CHECK(with.name(n).view() == without.name(n).view());
    CHECK(with.nodes[n].first_parameter == without.nodes[n].first_parameter);
    CHECK(with.nodes[n].parameter_count == without.nodes[n].parameter_count);
    CHECK(with.work(n).forward == without.work(n).forward);
  }
  CHECK(with.parameter_name(2, 1).view() == "body.2.bias");
  CHECK((graph_of<Sequential<Named<"a", Linear<8, 4>>, Frozen<Named<"a", Linear<4, 4>>>>>.fault.code == Code{'G', 4}));
}

TEST_CASE("what is inside is not trained, also in every repetition, and what is outside is") {
  const Graph& headed = graph_of<Headed>;
  for (int n = 0; n < headed.node_count; ++n) CHECK(headed.nodes[n].trained_count() == (n < 3 ? 0 : headed.nodes[n].parameter_count));
  CHECK(headed.frozen(0));
  CHECK_FALSE(headed.frozen(1));  // nothing to freeze
  CHECK(headed.frozen_elements() == 8 * 6 + 6 + 6 * 6 + 6);
  const Graph& inner = graph_of<Inner>;
  for (int n = 0; n < inner.node_count; ++n) CHECK(inner.frozen(n) == (n == 1 || n == 4));
  const Graph& middle = graph_of<Middle>;
  for (int n = 0; n < middle.node_count; ++n) CHECK(middle.frozen(n) == (n == 1 || n == 4));
  using Twice = Sequential<Frozen<Sequential<Frozen<Linear<8, 6>>, Linear<6, 6>>>, Linear<6, 3>>;
  CHECK(graph_of<Twice>.frozen_elements() == 8 * 6 + 6 + 6 * 6 + 6);
}

TEST_CASE("nothing runs a backward before the first trained layer, and a frozen one makes no gradients of parameters") {
  const Graph& headed = graph_of<Headed>;
  CHECK(headed.first_backward == 3);
  for (int n = 0; n < 3; ++n) CHECK(headed.work(n).total() == headed.work(n).forward);
  CHECK(headed.work(3).input_gradient == 0);
  CHECK(headed.work(3, headed.last_untrained(), 3).input_gradient == 0);  // nor does it where it begins a stage
  CHECK(headed.work(3).parameter_gradients > 0);
  const Graph& middle = graph_of<Middle>;
  CHECK(middle.first_backward == 0);
  CHECK(middle.work(1).input_gradient > 0);
  CHECK(middle.work(1).parameter_gradients == 0);
  CHECK(flops<Headed> < flops<Whole>);
}

TEST_CASE("a Program runs them so, keeps less and knows a change of it") {
  const Program& headed = lower<Trained<Headed, Single>>();
  const Program& middle = lower<Trained<Middle, Single>>();
  for (const Program* p : {&headed, &middle})
    for (int e = p->backward_bodies[0].begin; e < p->backward_bodies[0].end; ++e) {
      const Entry& entry = p->entries[e];
      if (entry.node < 0) continue;
      CHECK(entry.node >= p->graph->first_backward);
      CHECK((!p->graph->frozen(entry.node) || entry.what == plan_room::BodyOp::leaf_backward_input));
      CHECK((!p->graph->frozen(entry.node) || !entry.a.set()));  // the gradient of what a Linear takes is made of its weight
    }
  CHECK(headed.bucket_count == 1);
  CHECK(headed.buckets[0].payload == 6 * 3 + 3);
  CHECK(headed.arenas[0].total < lower<Trained<Whole, Single>>().arenas[0].total);
  CHECK_FALSE(same_bits<Trained<Headed, Single>, Trained<Whole, Single>>());
  CHECK(plan_room::program_hash(headed) != plan_room::program_hash(lower<Trained<Whole, Single>>()));
}

TEST_CASE("all layers frozen leave nothing to train, but can be applied") {
  using All = Sequential<Frozen<Linear<8, 6>>, ReLU, Frozen<Linear<6, 3>>>;
  CHECK(check<Trained<All, Single>>().code == Code{'G', 9});
  CHECK(std::string{check<Trained<All, Single>>().words.view()}.find("in frozen layers alone") != std::string::npos);
  CHECK(check<Inference<All, Batch<8>, Single>>().ok());
}

TEST_CASE("a frozen layer shares parameters with frozen ones alone") {
  using Owner = Sequential<Frozen<Named<"first", Linear<8, 8>>>, Tied<"second", Linear<8, 8>, To<"first">>, Linear<8, 3>>;
  using User = Sequential<Named<"first", Linear<8, 8>>, Frozen<Tied<"second", Linear<8, 8>, To<"first">>>, Linear<8, 3>>;
  using Both = Sequential<Frozen<Named<"first", Linear<8, 8>>>, Frozen<Tied<"second", Linear<8, 8>, To<"first">>>, Linear<8, 3>>;
  using Together =
      Sequential<Frozen<Named<"body", Sequential<Named<"first", Linear<8, 8>>, Tied<"second", Linear<8, 8>, To<"body.first">>>>>, Linear<8, 3>>;
  CHECK(graph_of<Owner>.fault.code == Code{'G', 15});
  CHECK(graph_of<User>.fault.code == Code{'G', 15});
  CHECK(std::string{graph_of<User>.fault.words.view()}.find("it is frozen, but only one of both. Fix: write both inside Frozen, or neither") !=
        std::string::npos);
  CHECK(graph_of<Both>.fault.ok());
  CHECK(graph_of<Together>.fault.ok());
  CHECK(graph_of<Both>.frozen_elements() == 8 * 8 + 8);  // they count once
  CHECK(graph_of<Both>.tie_count == 1);
}
