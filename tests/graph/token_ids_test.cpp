// SPDX-License-Identifier: MIT
#include "heddle/graph/token_ids.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/frozen.hpp"
#include "heddle/graph/graph_check.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/rescaling.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

TEST_CASE("a token id is one of the vocabulary") {
  static_assert(is_token(0, 3) && is_token(2, 3) && !is_token(3, 3) && !is_token(-1, 3));
  static_assert(is_token(std::numeric_limits<std::int32_t>::max(), std::int64_t{1} << 31));
  static_assert(is_token(16'777'217, 16'777'218));  // no float is that number
  CHECK_FALSE(is_token(std::numeric_limits<std::int32_t>::min(), 3));
}

TEST_CASE("the input of a model has the type that its first layer takes, also through layers that reshape") {
  struct Words : Sequential<Input<2, 3>, Flatten, Sequential<Unflatten<3, 2>>, Frozen<Embedding<5, 4>>, Linear<4, 5>> {};
  static_assert(graph_of<Words>.fault.ok() && graph_of<Words>.input.type == ElementType::int32);
  for (int v = 0; v < 4; ++v) CHECK(graph_of<Words>.spec(v).type == ElementType::int32);
  for (int v = 4; v <= graph_of<Words>.node_count; ++v) CHECK(graph_of<Words>.spec(v).type == ElementType::float32);
  CHECK(check_graph(graph_of<Words>).ok());
  struct Pixels : Sequential<Input<2, 3>, Flatten, Linear<6, 5>> {};
  static_assert(graph_of<Pixels>.input.type == ElementType::float32);
}

TEST_CASE("ids cannot be added to what is made of them") {
  struct Sum : Sequential<Input<4>, Residual<Embedding<5, 1>, Flatten>> {};
  CHECK(graph_of<Sum>.fault.sentence().view() ==
        "[heddle.G02] the Residual in '1' takes int32 (4) but its layers give float32 (4), which cannot be added. Fix: let it begin behind the layer "
        "that takes int32.");
}

TEST_CASE("a layer of one's own that takes ids says how many there are, and one that says so takes ids") {
  struct Uncounted {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "Uncounted", leaf.spelled << "Uncounted";
      leaf.in = Spec{in.shape, ElementType::int32};
      leaf.out = Spec{in.shape};
      return leaf;
    }
  };
  struct OfFloats {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "OfFloats", leaf.spelled << "OfFloats";
      leaf.in = leaf.out = in;
      leaf.vocabulary = 7;
      return leaf;
    }
  };
  CHECK(
      graph_of<Sequential<Input<4>, Uncounted>>.fault.sentence().view() ==
      "[heddle.G23] layer 1 '1': Uncounted takes int32, but looks nothing up. Fix: say how many ids there are in leaf.vocabulary, or take float32.");
  CHECK(graph_of<Sequential<Input<4>, OfFloats>>.fault.sentence().view() ==
        "[heddle.G23] layer 1 '1': OfFloats looks up ids of 7 tokens, but takes float32. Fix: write leaf.in.type = ElementType::int32.");
}

TEST_CASE("ids may be reshaped on their way from the input") {
  struct Reshaped : Sequential<Input<2, 3>, Flatten, Embedding<5, 4>, Linear<4, 5>> {};
  static_assert(graph_of<Reshaped>.fault.ok() && output_spec<Reshaped>.shape == Shape(6, 5));
  static_assert(vocabulary_of(graph_of<Reshaped>) == 5);
  struct None : Sequential<Linear<4, 5>> {};
  static_assert(vocabulary_of(graph_of<None>) == 0);
  CHECK(before_reshapes(graph_of<Reshaped>, 2) == 0);
  CHECK(graph_of<Reshaped>.first_backward == 2);  // no gradient of ids is made, wherever a cut lies
  CHECK(graph_of<None>.first_backward == 0);
}

TEST_CASE("what a layer computes is no token id") {
  struct Computed : Sequential<Linear<4, 6>, Flatten, Embedding<5, 4>> {};
  CHECK(graph_of<Computed>.fault.sentence().view() ==
        "[heddle.G18] layer 2 '2' Embedding<5, 4> looks token ids up, but it reads what layer 0 '0' Linear<4, 6> computes, through which no gradient "
        "could come back. Fix: let it read the input of the model.");
}

TEST_CASE("bytes lie whole on every rank, and a layer that would have parts of them is refused") {
  struct OfParts {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "OfParts", leaf.spelled << "OfParts";
      leaf.in = Spec{in.shape, ElementType::uint8};
      leaf.out = Spec{in.shape};
      leaf.splits({laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}});
      return leaf;
    }
  };
  CHECK(graph_of<Sequential<Input<4>, OfParts>>.fault.sentence().view() ==
        "[heddle.G23] layer 1 '1' OfParts reads uint8, which lies whole on every rank, but signature 0 has it Shard<0>. Fix: let that signature take "
        "it as laid::replicate.");
}

TEST_CASE("what a layer computes are no bytes, and bytes are no numbers") {
  const auto said = [](const auto& graph) { return std::string{graph.fault.sentence().view()}; };
  struct Computed : Sequential<Input<4>, Linear<4, 6>, Flatten, Rescaling<>, Linear<6, 2>> {};
  CHECK(said(graph_of<Computed>) ==
        "[heddle.G01] layer 3 '3': Rescaling<1, 255> takes uint8 but the value before it has float32. Fix: let it read the input of the model.");
  struct Twice : Sequential<Input<4>, Branches<Add, Rescaling<>, Linear<4, 4>>> {};
  CHECK(said(graph_of<Twice>) ==
        "[heddle.G01] layer 2 '1.1': Linear<4, 4> takes float32 but the value before it has uint8. Fix: put a layer that gives float32 before it.");
  struct Both : Sequential<Input<4>, Branches<Add, Sequential<Rescaling<>, Linear<4, 4>>, Rescaling<1, 128>>, Linear<4, 2>> {};
  static_assert(graph_of<Both>.fault.ok() && graph_of<Both>.input.type == ElementType::uint8);
}
