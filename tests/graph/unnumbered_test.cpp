// SPDX-License-Identifier: MIT
#include "heddle/graph/unnumbered.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

using Square = Linear<4, 4, NoBias>;
template <class Model> std::string names() {
  const Graph& graph = graph_of<Model>;
  std::string all;
  for (int n = 0; n < graph.node_count; ++n)
    for (int p = 0; p < graph.nodes[n].parameter_count; ++p) all += std::string{graph.parameter_name(n, p).view()} + ' ';
  return all;
}
template <class Model> std::string fault() { return std::string{graph_of<Model>.fault.sentence().view()}; }

}  // namespace

TEST_CASE("its layers are named as if they stood where it stands, and what is around it keeps its numbers") {
  using Two = Branches<Concat, Named<"q", Square>, Named<"k", Square>>;
  struct Net : Sequential<Square, Unnumbered<Two>, Linear<8, 4, NoBias>> {};
  CHECK(names<Net>() == "0.weight q.weight k.weight 2.weight ");
  struct Inside : Sequential<Square, Named<"attention", Sequential<Unnumbered<Two>, Linear<8, 4, NoBias>>>> {};
  CHECK(names<Inside>() == "0.weight attention.q.weight attention.k.weight attention.1.weight ");
  struct Around : Sequential<Unnumbered<Named<"only", Square>>, Unnumbered<Residual<Named<"norm", Square>, ReLU, Named<"last", Square>>>> {};
  CHECK(names<Around>() == "only.weight norm.weight last.weight ");
  CHECK(names<Sequential<Unnumbered<Square>, Square>>() == "weight 1.weight ");
}

TEST_CASE("nested ones leave out both numbers; a name or the number of a repetition is none of them") {
  using Block = Unnumbered<Residual<Named<"a", Square>, Named<"b", Square>>>;
  CHECK(names<Sequential<Unnumbered<Sequential<Block>>>>() == "a.weight b.weight ");
  CHECK(names<Sequential<Repeat<2, Block>>>() == "0.0.a.weight 0.0.b.weight 0.1.a.weight 0.1.b.weight ");
  CHECK(names<Sequential<Named<"x", Block>>>() == "x.a.weight x.b.weight ");
  CHECK(names<Unnumbered<Sequential<Named<"a", Square>, Frozen<Unnumbered<Square>>>>>() == "a.weight weight ");
}

TEST_CASE("two layers with parameters that have one name then are refused with both") {
  struct Twice : Sequential<Unnumbered<Sequential<Named<"a", Square>>>, Named<"a", Linear<4, 3>>> {};
  CHECK(fault<Twice>() == "[heddle.G04] two layers are named 'a' in a state_dict: Linear<4, 4, NoBias> and Linear<4, 3>. Fix: rename one of them.");
  struct Numbers : Sequential<Square, Unnumbered<Sequential<ReLU, Square>>> {};
  CHECK(fault<Numbers>().empty());  // a ReLU is in no state_dict
}
