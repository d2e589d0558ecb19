// SPDX-License-Identifier: MIT
#include "heddle/graph/one_unit.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/tied.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Apart : Sequential<Linear<20, 16>, ReLU, Linear<16, 16>, Linear<16, 4>> {};
struct Wrapped : Sequential<OneUnit<Linear<20, 16>, ReLU, Linear<16, 16>>, Linear<16, 4>> {};
struct Inside : Sequential<Linear<20, 16>, Repeat<2, OneUnit<Linear<16, 16>, ReLU, Linear<16, 16>>>, Linear<16, 4>> {};
struct Around : Sequential<OneUnit<Linear<20, 16>, Repeat<2, Linear<16, 16>>>, Repeat<2, Linear<16, 16>>, Linear<16, 4>> {};

template <class Model, class Policy, class... Options>
using Trained = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<8>, Policy, Options...>;

}  // namespace

TEST_CASE("layers of one unit are gathered together, and others each by itself") {
  CHECK(lower<Trained<Apart, Sharded<2>>>().unit_count == 3);
  CHECK(lower<Trained<Wrapped, Sharded<2>>>().unit_count == 2);
  CHECK(lower<Trained<Wrapped, Sharded<2>>>().bucket_count == 2);
}

TEST_CASE("names, shapes and parameters are those of a Sequential") {
  CHECK(parameters<Wrapped> == parameters<Apart>);
  CHECK(graph_of<Wrapped>.parameter_name(0, 0).view() == "0.0.weight");
  CHECK(graph_of<Wrapped>.parameter_name(2, 1).view() == "0.2.bias");
  CHECK(graph_of<Sequential<OneUnit<Linear<8, 4>, Linear<5, 4>>>>.fault.code == Code{'G', 1});
}

TEST_CASE("inside a block it says nothing, and a Repeat inside is part of it") {
  CHECK(lower<Trained<Inside, Sharded<2>>>().unit_count == 4);
  CHECK(lower<Trained<Around, Sharded<2>>>().unit_count == 4);
  CHECK(graph_of<Around>.nodes[0].block == graph_of<Around>.nodes[2].block);
  CHECK(graph_of<Around>.nodes[3].block != graph_of<Around>.nodes[2].block);
  CHECK(graph_of<Around>.nodes[3].block != graph_of<Around>.nodes[4].block);
}

TEST_CASE("it is a block that runs again") {
  using Again = Trained<Around, Single, Recompute<EveryBlock>>;
  CHECK(check<Again>().ok());
  CHECK(flops_run_again(lower<Again>()).value > 0);
  CHECK(flops_run_again(lower<Trained<Around, Single>>()).value == 0);
  CHECK(check<Trained<Apart, Single, Recompute<EveryBlock>>>().code == Code{'L', 5});
}

TEST_CASE("a tied layer is a unit of its own") {
  using Owned = Sequential<OneUnit<Named<"first", Linear<8, 8>>, ReLU>, Tied<"second", Linear<8, 8>, To<"first">>>;
  using Within = Sequential<Named<"first", Linear<8, 8>>, OneUnit<ReLU, Tied<"second", Linear<8, 8>, To<"first">>>>;
  CHECK(graph_of<Owned>.fault.code == Code{'G', 15});
  CHECK(graph_of<Within>.fault.code == Code{'G', 15});
}
