// SPDX-License-Identifier: MIT
#include "heddle/policy/tensor_parallel.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/by_hand.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/tied.hpp"
#include "policy/models.hpp"

using namespace heddle;
using tests::answer;

static_assert(Policy<TensorParallel<4>>);

namespace {

struct Mlp : Sequential<Linear<24, 16>, ReLU, Linear<16, 12>> {};
struct Block : Residual<Linear<8, 32>, Tanh, Linear<32, 8>> {};
struct Blocks : Sequential<Linear<24, 8>, Repeat<3, Block>, Linear<8, 16>, ReLU, Linear<16, 4>> {};
struct Odd : Sequential<Linear<24, 9>, ReLU, Linear<9, 15>> {};
struct Alone : Sequential<Linear<24, 12>> {};
struct Three : Sequential<Linear<24, 24>, ReLU, Linear<24, 24>, ReLU, Linear<24, 24>> {};

template <class Model, int N> constexpr Layout layout = answer<Model, TensorParallel<N>>();
template <class Model, int N> std::string words() { return std::string{layout<Model, N>.fault.sentence().view()}; }

}  // namespace

TEST_CASE("an MLP becomes one Linear by columns and one by rows; what is between is split with them") {
  constexpr auto& l = layout<Mlp, 4>;
  static_assert(l.fault.ok() && l.mesh.size(axis::tensor) == 4 && l.batch_ranks() == 1);
  constexpr Signature first = l.signature_of(graph_of<Mlp>, 0);
  static_assert(first.input.replicated() && first.output == laid::shard(0) && first.parameters[0] == laid::shard(0));
  static_assert(l.signature_of(graph_of<Mlp>, 1).output == laid::shard(0));
  constexpr Signature last = l.signature_of(graph_of<Mlp>, 2);
  static_assert(last.input == laid::shard(0) && last.output.partial() && last.parameters[1].partial());
  CHECK(last.parameter_gradients[1].replicated());
}

TEST_CASE("the block of a Repeat is solved once, and values that skip ahead are whole") {
  constexpr auto& l = layout<Blocks, 2>;
  static_assert(l.fault.ok());
  // leaves: Linear, (Linear, Tanh, Linear, Add), Linear, ReLU, Linear
  static_assert(l.signature[0] == 1 && l.laid_between[0].replicated());  // by columns, gathered
  static_assert(l.signature[4] == 0 && l.laid_between[3].replicated() && l.laid_between[4].replicated());
  static_assert(l.signature[1] == 1 && l.signature[2] == 1 && l.signature[3] == 2);
  CHECK((l.signature[5] == 1 && l.signature[6] == 1 && l.signature[7] == 2));
}

TEST_CASE("a layer without a partner is split by columns and its parts are gathered") {
  constexpr auto& l = layout<Three, 3>;
  static_assert(l.fault.ok());
  static_assert(l.signature[0] > 0 && l.signature[2] > 0 && l.signature[4] > 0);
  static_assert(layout<Alone, 2>.signature_of(graph_of<Alone>, 0).output == laid::shard(0));
  CHECK(layout<Alone, 2>.laid_between[0].replicated());
}

TEST_CASE("with SequenceParallel what skips ahead lies in parts of the sequence, and samples without one as before") {
  struct Steps : Sequential<Input<4, 8>, Linear<8, 8>, Residual<Linear<8, 16>, Tanh, Linear<16, 8>>, Linear<8, 2>> {};
  constexpr Layout l = answer<Steps, TensorParallel<2, SequenceParallel>>();
  static_assert(l.fault.ok());
  static_assert(l.laid_between[1] == laid::shard(0) && l.laid_between[4] == laid::shard(0) && l.laid_between[6].replicated());
  static_assert(l.signature_of(graph_of<Steps>, 5).input == laid::shard(0));
  static_assert(l.laid_between[2] == laid::shard(1) && l.signature_of(graph_of<Steps>, 2).input.replicated());
  constexpr Layout flat = answer<Blocks, TensorParallel<2, SequenceParallel>>();
  for (int leaf = 0; leaf < graph_of<Blocks>.leaf_count; ++leaf) CHECK(flat.laid_between[leaf] == layout<Blocks, 2>.laid_between[leaf]);
}

TEST_CASE("one rank splits nothing and is legal") {
  static_assert(layout<Alone, 1>.fault.ok());
  CHECK(layout<Mlp, 1>.signature[0] == 0);
}

TEST_CASE("a number of ranks that divides nothing is refused with those that do") {
  static_assert(layout<Odd, 2>.fault.code == Code{'P', 1});
  static_assert(layout<Odd, 3>.fault.ok());
  CHECK(
      words<Odd, 2>() ==
      "[heddle.P01] TensorParallel<2> cannot split the 9 features of layer 0 '0' Linear<24, 9> evenly. Fix: use as many ranks as divide 9: 1, 3, 9.");
}

TEST_CASE("what is never cut is refused with the numbers of ranks that divide it, though they divide the features") {
  struct OfThree {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf = elementwise("OfThree", in, 1);
      leaf.signatures[0].with_pieces(3);
      leaf.by_hand = true;
      return leaf;
    }
  };
  struct Net : Sequential<Linear<6, 6>, OfThree, Linear<6, 6>> {};
  CHECK(words<Net, 2>() ==
        "[heddle.P01] TensorParallel<2> cannot split the 3 pieces that stay whole of layer 1 '1' OfThree evenly. Fix: use as many "
        "ranks as divide 3: 1, 3.");
}

TEST_CASE("a model in which nothing can be split is refused") {
  struct Plain {
    static constexpr Spec takes() { return Spec{Shape{8}}; }
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "Plain";
      leaf.spelled << "Plain";
      leaf.in = leaf.out = in;
      return leaf.with({Text<16>{"weight"}, Shape{8}});
    }
  };
  static_assert(layout<Plain, 2>.fault.code == Code{'P', 5});
  CHECK(layout<tests::Chain, 5>.fault.code == Code{'P', 1});
}

TEST_CASE("a split by hand is kept: a lone Row takes its part of a whole input, and a size that does not divide is refused") {
  using Good = Sequential<Column<Linear<24, 16>>, ReLU, Row<Linear<16, 12>>>;
  using Gathered = Sequential<Column<Linear<24, 16>>, ReLU, Column<Linear<16, 12>>>;
  using RowFirst = Sequential<Row<Linear<24, 16>>, ReLU, Linear<16, 12>>;
  using RowAfterWhole = Sequential<Linear<24, 16>, Flatten, Row<Linear<16, 12>>>;
  using Vocabulary = Sequential<Linear<24, 8>, ReLU, Column<Linear<8, 13>>>;
  static_assert(layout<Good, 4>.fault.ok() && layout<Good, 4>.signature[0] == 1 && layout<Good, 4>.signature[2] == 1);
  static_assert(layout<Gathered, 4>.fault.ok() && layout<Gathered, 4>.laid_between[2].replicated());
  static_assert(layout<RowFirst, 4>.fault.ok() && layout<RowFirst, 4>.signature[0] == 1);
  static_assert(layout<RowAfterWhole, 4>.fault.ok() && layout<RowAfterWhole, 4>.signature[2] == 1);
  CHECK(layout<Vocabulary, 4>.fault.code == Code{'P', 1});
}

TEST_CASE("a split by hand whose parts cannot lie where a value skips ahead is refused in other words than a size") {
  struct Steps : Sequential<Input<4, 8>, Column<Linear<8, 8>>, Residual<Linear<8, 16>, Tanh, Linear<16, 8>>> {};
  constexpr Layout l = answer<Steps, TensorParallel<2, SequenceParallel>>();
  static_assert(l.fault.code == Code{'P', 2});
  CHECK(l.fault.sentence().view().starts_with(
      "[heddle.P02] layer 1 '1' Linear<8, 8> is to be split by hand and takes Replicate and gives Shard<1>, of which "));
}

TEST_CASE("axis tensor is claimed once") {
  Layout twice = layout<Mlp, 2>;
  TensorParallel<2>::answer(graph_of<Mlp>, twice);
  CHECK(twice.fault.code == Code{'M', 1});
  CHECK(answer<Mlp, TensorParallel<0>>().fault.code == Code{'M', 2});
}

TEST_CASE("leaves that share parameters are split alike, by what all of them together cost least") {
  using Square = Linear<16, 16>;
  struct Facing : Sequential<Linear<24, 16>, Tanh, Named<"a", Square>, ReLU, Tied<"b", Square, To<"a">>, Tanh, Linear<16, 8>> {};
  struct Apart : Sequential<Linear<24, 16>, Tanh, Named<"a", Square>, ReLU, Named<"b", Square>, Tanh, Linear<16, 8>> {};
  constexpr auto& apart = layout<Apart, 2>;
  static_assert(apart.signature_of(graph_of<Apart>, 2).parameters[0] != apart.signature_of(graph_of<Apart>, 4).parameters[0]);
  constexpr auto& facing = layout<Facing, 2>;
  static_assert(facing.fault.ok());
  constexpr Signature a = facing.signature_of(graph_of<Facing>, 2);
  constexpr Signature b = facing.signature_of(graph_of<Facing>, 4);
  static_assert(a.parameters[0] == b.parameters[0] && a.parameters[1] == b.parameters[1]);
  static_assert(a.parameter_gradients[0] == b.parameter_gradients[0] && a.parameter_gradients[1] == b.parameter_gradients[1]);
  CHECK(a.parameters[0].sharded());
}

TEST_CASE("leaves that share parameters stay whole where no split suits all, and are refused if one is split by hand") {
  struct Whole
      : Sequential<Linear<24, 9>, ReLU, Named<"a", Linear<9, 9>>, Tanh, Tied<"b", Linear<9, 9>, To<"a">>, Linear<9, 32>, ReLU, Linear<32, 4>> {};
  static_assert(layout<Whole, 4>.fault.ok());
  static_assert(!layout<Whole, 4>.signature_of(graph_of<Whole>, 4).parameters[0].sharded());
  using Square = Linear<16, 16>;
  struct Crossed : Sequential<Named<"a", Column<Square>>, ReLU, Tied<"b", Row<Square>, To<"a">>, Linear<16, 4>> {};
  CHECK(layout<Crossed, 2>.fault.code == Code{'G', 16});
  CHECK(
      words<Crossed, 2>().find("layer 2 'b' Linear<16, 16> uses the parameters of layer 0 'a' Linear<16, 16>, but TensorParallel<2> finds no way") !=
      std::string_view::npos);
}

TEST_CASE("a model of more different layers than signatures are kept for is refused with both numbers") {
  Graph graph;
  graph.leaf_count = Layout::most_leaves + 1;
  Layout answers{graph};
  choose_signatures(graph, answers, 2, false);
  CHECK(answers.fault.code == Code{'P', 5});
  CHECK(answers.fault.words.view().find("has 1025 different layers, TensorParallel splits at most 1024") != std::string_view::npos);
}
