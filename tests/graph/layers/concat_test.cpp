// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/concat.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

constexpr Spec of(Shape shape) { return Spec{shape}; }
template <class Model> Diagnosis fault = graph_of<Model>.fault;
bool says(const Diagnosis& found, Code code, std::string_view words) { return found.code == code && found.words.view() == words; }

}  // namespace

static_assert(Joins<Concat> && Joins<ConcatAlong<0>>);

TEST_CASE("values are joined along the last dimension, or along one that is named") {
  CHECK(Concat::describe(of(Shape{4}), of(Shape{3})).out == of(Shape{7}));
  CHECK(Concat::describe(of(Shape{2, 4}), of(Shape{2, 3})).out == of(Shape{2, 7}));
  CHECK(ConcatAlong<0>::describe(of(Shape{2, 4}), of(Shape{5, 4})).out == of(Shape{7, 4}));
  CHECK(ConcatAlong<1>::describe(of(Shape{2, 4, 3}), of(Shape{2, 1, 3})).out == of(Shape{2, 5, 3}));
  CHECK(Concat::describe(of(Shape{4}), of(Shape{3})).spelled.view() == "Concat");
  CHECK(ConcatAlong<1>::describe(of(Shape{2, 4}), of(Shape{2, 3})).spelled.view() == "ConcatAlong<1>");
}

TEST_CASE("a join keeps nothing, and any other dimension may be split") {
  const Leaf leaf = ConcatAlong<1>::describe(of(Shape{2, 4, 3}), of(Shape{2, 1, 3}));
  CHECK(leaf.saves == Saves::nothing);
  CHECK(leaf.operands == 2);
  CHECK_FALSE(leaf.sums);
  REQUIRE(leaf.signature_count == 3);
  CHECK(leaf.signatures[0].input == laid::shard(0));
  CHECK(leaf.signatures[1].input == laid::shard(2));
  const Signature& joins = leaf.signatures[2];  // in sections 4:1, as both values are plain
  CHECK((joins.input == laid::shard(1) && joins.second == laid::shard(1) && joins.output == laid::shard(1, 2, 4) && joins.any_sections));
  CHECK(ConcatAlong<1>::describe(of(Shape{2, 4, 3}), of(Shape{2, 9, 3})).signature_count == 2);  // 4 and 9: more sections than are counted
  CHECK(check_joined(leaf, of(Shape{2, 4, 3}), of(Shape{2, 1, 3})).ok());
  for (int i = 0; i < 3; ++i) CHECK(check_signature(leaf, leaf.signatures[i]).ok());
}

TEST_CASE("a row is runs of both values") {
  const ConcatParts last{Concat::describe(of(Shape{2, 4}), of(Shape{2, 3})), 1};
  CHECK((last.runs == 2 && last.first == 4 && last.second == 3));
  const ConcatParts first{ConcatAlong<0>::describe(of(Shape{2, 4}), of(Shape{5, 4})), 0};
  CHECK((first.runs == 1 && first.first == 8 && first.second == 20));
}

TEST_CASE("branches of many widths become one value, joined from left to right") {
  using Mix = Branches<Concat, Linear<4, 3>, ReLU, Sequential<>, Sequential<Linear<4, 8>, Linear<8, 2>>>;
  constexpr const Graph& graph = graph_of<Sequential<Input<6, 4>, Mix, Linear<13, 5>>>;
  static_assert(graph.fault.ok() && graph.node_count == 9);
  CHECK(graph.spec(4) == of(Shape{6, 7}));
  CHECK(graph.spec(5) == of(Shape{6, 11}));
  CHECK(graph.spec(8) == of(Shape{6, 13}));
  CHECK(graph.nodes[4].operands[0] == 4);
  CHECK(graph.nodes[4].operands[1] == 1);
  CHECK(graph.leaf(4).other == of(Shape{6, 4}));
  CHECK(graph.parameter_name(6, 0).view() == "1.3.1.weight");
  CHECK(graph.output() == of(Shape{6, 5}));
}

TEST_CASE("what cannot be joined is refused with what to give, and its repaired twin is not") {
  using Wide = Sequential<Input<6, 4>, Branches<ConcatAlong<0>, Linear<4, 4>, Linear<4, 3>>>;
  CHECK(says(fault<Wide>, Code{'G', 2},
             "branches '0' and '1' in '1' give (6, 4) and (6, 3), which cannot be joined. Fix: let branch '1' give (6, 4)."));
  CHECK(fault<Sequential<Input<6, 4>, Branches<Concat, Linear<4, 4>, Linear<4, 3>>>>.ok());
  CHECK(says(fault<Sequential<Input<6, 4>, Branches<Concat, Linear<4, 4>, Flatten>>>, Code{'G', 2},
             "branches '0' and '1' in '1' give (6, 4) and (24), which cannot be joined. Fix: let branch '1' give (6, 4)."));
  CHECK(says(fault<Sequential<Input<4>, Branches<ConcatAlong<1>, Linear<4, 4>, ReLU>>>, Code{'G', 1},
             "layer 3 '1': ConcatAlong<1> joins along dimension 1, but the branches give (4). Fix: name a dimension that is there, counted from 0 "
             "without the batch, or write Concat for the last."));
  CHECK(fault<Sequential<Input<4>, Branches<Concat, Embedding<9, 4>, Sequential<>>>>.code == Code{'G', 2});
}
