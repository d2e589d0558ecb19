// SPDX-License-Identifier: MIT
#include "heddle/graph/leaf_rules.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

constexpr std::int64_t large = std::int64_t{1} << 30;

/// What a model with one more layer is refused for; the layer stands between Linear<8, 4> and Linear<4, 2>.
template <class L> constexpr Diagnosis fault_with() { return graph_of<Sequential<Linear<8, 4>, L, Linear<4, 2>>>.fault; }
template <class L> std::string words_with() { return std::string{fault_with<L>().sentence().view()}; }

/// A layer of one's own that is right but for what Change makes of it.
template <auto Change> struct Own {
  static constexpr Spec takes() { return Spec{Shape{4}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Own";
    leaf.spelled << "Own";
    leaf.in = leaf.out = in;
    Change(leaf);
    return leaf;
  }
};
/// The same with two functions of one float each instead of a kernel.
template <auto Change> struct OwnFunctions : Own<Change> {
  static float forward(float x) { return -x; }
  static float backward(float, float gradient) { return -gradient; }
};
template <auto... Parameters> using With = Own<[](Leaf& leaf) { (leaf.with({Parameters(), Shape{4}, Initial::ones}), ...); }>;
constexpr auto named_a = [] { return "a"; };
constexpr auto named_b = [] { return "b"; };

/// A layer of one's own that refuses some widths, and one parameter whose width is made of that of the value.
template <auto Refuses, auto Width> struct Refusing {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Refusing";
    leaf.spelled << "Refusing";
    leaf.in = leaf.out = in;
    if (Refuses(in.shape.last())) leaf.fault = Diagnosis{Code{'G', 1}, "takes another width. Fix: give it."};
    return leaf.with({"weight", Shape{Width(in.shape.last())}, Initial::ones});
  }
};

}  // namespace

TEST_CASE("a layer that says it takes another shape than it is given is refused, whatever it computes") {
  using Takes7 = Own<[](Leaf& leaf) { leaf.in = Spec{Shape{7}}; }>;
  CHECK(words_with<Takes7>() ==
        "[heddle.G01] layer 1 '1': Own takes (7) but the value before it has (4). Fix: give it what it takes, or let its describe say leaf.in = in.");
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.in = Spec{Shape{2, 2}}; }>>().code == Code{'G', 1});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.in.type = ElementType::int32; }>>().code == Code{'G', 1});
  CHECK(fault_with<Own<[](Leaf&) {}>>().ok());
}

TEST_CASE("a layer with parameters of its own width says what it takes, or follows the value, or refuses another") {
  struct TakesAny {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "TakesAny";
      leaf.spelled << "TakesAny<2>";
      leaf.in = leaf.out = in;
      return leaf.with({"weight", Shape{2}, Initial::ones});
    }
  };
  CHECK(words_with<TakesAny>() ==
        "[heddle.G20] layer 1 '1': TakesAny<2> takes (4) and (5) alike, with the same parameters, so its kernel may read past their ends. Fix: add "
        "static constexpr Spec takes(), or set leaf.fault where the value does not fit.");
  struct SaysTwo : TakesAny {
    static constexpr Spec takes() { return Spec{Shape{2}}; }
  };
  CHECK(words_with<SaysTwo>() == "[heddle.G01] layer 1 '1': TakesAny<2> takes (2) but the value before it has (4). Fix: give it what it takes.");
  struct OneElement {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf = TakesAny::describe(in);
      leaf.parameters[0].shape = Shape{1};
      return leaf;
    }
  };
  static_assert(fault_with<OneElement>().ok());
  struct Follows {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf = TakesAny::describe(in);
      leaf.parameters[0].shape = in.shape;
      return leaf;
    }
  };
  static_assert(fault_with<Follows>().ok());
  struct Refuses {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf = TakesAny::describe(in);
      leaf.parameters[0].shape = Shape{4};
      if (in.shape.last() != 4) leaf.fault = Diagnosis{Code{'G', 1}, "takes 4. Fix: give 4."};
      return leaf;
    }
  };
  static_assert(fault_with<Refuses>().ok());
  static_assert(ends_in(Shape{3, 4}, Shape{4}) && ends_in(Shape{4}, Shape{4}) && !ends_in(Shape{4, 3}, Shape{4}) && !ends_in(Shape{4}, Shape{3, 4}));
  CHECK(graph_of<Sequential<Input<6>, Embedding<11, 8>>>.fault.ok());  // indexed by ids
}

TEST_CASE("a layer that refuses some widths is tried on others") {
  CHECK(
      words_with<Refusing<[](std::int64_t width) { return width % 2 != 0; }, [](std::int64_t) { return 3; }>>() ==
      "[heddle.G20] layer 1 '1': Refusing takes (4) and (8) alike, with the same parameters, so its kernel may read past their ends. Fix: add static "
      "constexpr Spec takes(), or set leaf.fault where the value does not fit.");
  constexpr const Graph& odd =
      graph_of<Sequential<Input<5>, Refusing<[](std::int64_t width) { return width % 2 == 0; }, [](std::int64_t) { return 3; }>>>;
  CHECK(odd.fault.words.view().find("takes (5) and (15) alike") != std::string_view::npos);
  CHECK(fault_with<Refusing<[](std::int64_t width) { return width % 2 != 0; }, [](std::int64_t width) { return width; }>>().ok());
  CHECK(fault_with<Refusing<[](std::int64_t width) { return width != 4; }, [](std::int64_t) { return 4; }>>().ok());
}

TEST_CASE("parameters that follow the width in steps follow it") {
  CHECK(fault_with<Refusing<[](std::int64_t) { return false; }, [](std::int64_t width) { return width / 2; }>>().ok());
  CHECK(fault_with<Refusing<[](std::int64_t width) { return width % 2 != 0; }, [](std::int64_t width) { return width / 2; }>>().ok());
}

TEST_CASE("a fifth parameter, signature or dimension is counted, not written past the end") {
  using Five = Own<[](Leaf& leaf) {
    for (int i = 0; i < 5; ++i) leaf.with({"w", Shape{4}, Initial::ones});
  }>;
  CHECK(words_with<Five>() ==
        "[heddle.G19] layer 1 '1': Own has 5 parameters, but at most 4 are kept. Fix: make two layers of it, or join parameters.");
  using Splits = Own<[](Leaf& leaf) {
    for (int i = 0; i < 6; ++i) leaf.splits({});
  }>;
  CHECK(words_with<Splits>().find("Own states 6 signatures, but at most 4 are kept.") != std::string::npos);
  using Beyond = Own<[](Leaf& leaf) { leaf.splits(Signature{}.with(4, laid::replicate, laid::replicate)); }>;
  static_assert(fault_with<Beyond>().code == Code{'G', 19});
  using FiveSizes = Own<[](Leaf& leaf) { leaf.out.shape = Shape{1, 1, 1, 1, 4}; }>;
  CHECK(words_with<FiveSizes>().find("Own gives (1, 1, 1, 1, and 1 more), which has 5 dimensions") != std::string::npos);
  CHECK(graph_of<Sequential<Input<2, 2, 2, 2, 2>, ReLU>>.fault.code == Code{'G', 19});
}

TEST_CASE("counts that are set by hand are refused before anything beyond them is read") {
  CHECK(words_with<Own<[](Leaf& leaf) { leaf.parameter_count = 9; }>>().find("Own has 9 parameters, but at most 4 are kept.") != std::string::npos);
  CHECK(words_with<Own<[](Leaf& leaf) { leaf.signature_count = 9; }>>().find("Own states 9 signatures, but at most 4 are kept.") !=
        std::string::npos);
  CHECK(words_with<Own<[](Leaf& leaf) { leaf.parameter_count = -1; }>>() ==
        "[heddle.G23] layer 1 '1': Own counts -1 parameters and 0 signatures. Fix: let leaf.with and leaf.splits count them.");
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.signature_count = -1; }>>().code == Code{'G', 23});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.surplus_parameters = -1; }>>().code == Code{'G', 23});
  CHECK(words_with<Own<[](Leaf& leaf) { leaf.out.shape.dimensions = 9; }>>() ==
        "[heddle.G19] layer 1 '1': Own gives (4, 0, 0, 0), which has 9 dimensions, but at most 4 are kept. Fix: join some of them.");
  CHECK(words_with<Own<[](Leaf& leaf) { leaf.out.shape.dimensions = -1; }>>() ==
        "[heddle.G06] layer 1 '1': Own gives (), which has -1 dimensions. Fix: write Shape{sizes...}.");
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.in.shape.dimensions = 9; }>>().code == Code{'G', 1});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.with({"w", Shape{4}}).parameters[0].shape.dimensions = 9; }>>().code == Code{'G', 19});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.in.shape.dimensions = leaf.out.shape.dimensions = 9; }>>().code == Code{'G', 1});
}

TEST_CASE("sizes below 1 are refused in inputs, outputs and parameters") {
  static_assert(graph_of<Sequential<Input<-2, -2>, ReLU>>.fault.code == Code{'G', 6});
  static_assert(graph_of<Sequential<Input<3, 0>, ReLU>>.fault.code == Code{'G', 6});
  using NegativeOutput = Own<[](Leaf& leaf) { leaf.out.shape = Shape{-4}; }>;
  CHECK(words_with<NegativeOutput>().find("Own gives (-4), which has a size below 1.") != std::string::npos);
  using NegativeParameter = Own<[](Leaf& leaf) { leaf.with({"w", Shape{-4}, Initial::ones}); }>;
  CHECK(words_with<NegativeParameter>().find("Own has parameter 'w' (-4), which has a size below 1.") != std::string::npos);
}

TEST_CASE("names of parameters are the last words of a state_dict: unique, whole, without dots") {
  static_assert(fault_with<With<named_a, named_b>>().ok());
  CHECK(words_with<With<named_a, named_a>>() == "[heddle.G04] layer 1 '1': Own has two parameters named 'a'. Fix: rename one of them.");
  static_assert(fault_with<With<[] { return ""; }>>().code == Code{'G', 4});
  static_assert(fault_with<With<[] { return "a.b"; }>>().code == Code{'G', 4});
  static_assert(fault_with<With<[] { return "a*"; }>>().code == Code{'G', 4});
  using Long = With<[] { return "query_projection_weight"; }, [] { return "query_projection_bias"; }>;
  static_assert(fault_with<Long>().ok());
  CHECK(graph_of<Sequential<Linear<8, 4>, Long>>.parameter_name(1, 0).view() == "1.query_projection_weight");
  CHECK(graph_of<Sequential<Linear<8, 4>, Long>>.parameter_name(1, 1).view() == "1.query_projection_bias");
  using Cut = With<[] { return Text<16>{"query_projection_weight"}; }>;
  CHECK(words_with<Cut>().find("has a parameter whose name 'query_project...' was cut.") != std::string::npos);
  using TooLong = With<[] { return "a_name_of_more_than_forty_characters_is_cut"; }>;
  static_assert(fault_with<TooLong>().code == Code{'G', 4});
}

TEST_CASE("products of extents beyond what is counted are refused, not wrapped") {
  static_assert(graph_of<Sequential<Linear<large, large>>>.fault.code == Code{'G', 21});
  CHECK(std::string{graph_of<Sequential<Linear<large, large>>>.fault.sentence().view()}.find("Linear<1073741824, 1073741824>") != std::string::npos);
  static_assert(graph_of<Sequential<Input<1 << 20, 1 << 20, 1 << 20>, ReLU>>.fault.code == Code{'G', 21});
  static_assert(graph_of<Sequential<Input<1 << 30, 4>, Linear<4, large>>>.fault.code == Code{'G', 21});
  using Works = Own<[](Leaf& leaf) { leaf.forward_flops = most_countable; }>;
  static_assert(fault_with<Works>().code == Code{'G', 21});
  static_assert(graph_of<Sequential<Linear<(1 << 20), (1 << 20)>>>.fault.ok());
  CHECK(elementwise("Costly", Spec{Shape{large, large}}, 1 << 30).forward_flops == most_countable);
}

TEST_CASE("a description that contradicts itself is refused") {
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.spelled = {}; }>>().code == Code{'G', 23});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.out.shape = Shape{2, 3}, leaf.reshapes = true; }>>().code == Code{'G', 23});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.out.shape = Shape{3}, leaf.elementwise = true; }>>().code == Code{'G', 23});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.out.type = ElementType::int32; }>>().code == Code{'G', 23});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.weight_flops = -1; }>>().code == Code{'G', 23});
  CHECK(words_with<Own<[](Leaf& leaf) { leaf.out.shape = Shape{3}, leaf.elementwise = true; }>>() ==
        "[heddle.G23] layer 1 '1': Own says that it is elementwise, but makes (3) of (4). Fix: give the shape that it takes, or drop elementwise.");
}

TEST_CASE("two functions of one float each give the shape that they take, whatever else is said") {
  CHECK(
      words_with<OwnFunctions<[](Leaf& leaf) { leaf.out.shape = Shape{1}; }>>() ==
      "[heddle.G23] layer 1 '1': Own is two functions of one float each, but makes (1) of (4). Fix: give the shape that it takes, or write a kernel "
      "instead of forward and backward.");
  static_assert(fault_with<OwnFunctions<[](Leaf& leaf) { leaf.out.shape = Shape{2, 2}; }>>().code == Code{'G', 23});
  static_assert(fault_with<OwnFunctions<[](Leaf& leaf) { leaf.reshapes = true; }>>().code == Code{'G', 23});
  static_assert(fault_with<OwnFunctions<[](Leaf& leaf) { leaf.elementwise = true; }>>().ok());
  CHECK(fault_with<OwnFunctions<[](Leaf&) {}>>().ok());
}

TEST_CASE("two functions of one float each have no parameter, which would never be trained") {
  using Beta = OwnFunctions<[](Leaf& leaf) { leaf.with({"beta", Shape{1}, Initial::ones}); }>;
  CHECK(
      words_with<Beta>() ==
      "[heddle.G23] layer 1 '1': Own is two functions of one float each, but has parameter 'beta', which they never see, so it would not be trained. "
      "Fix: write a kernel instead of forward and backward.");
}

TEST_CASE("what is elementwise is split as it is given") {
  using Shrinks = Own<[](Leaf& leaf) {
    leaf.elementwise = true, leaf.splits({laid::replicate, laid::shard(0), laid::partial, laid::shard(0), {}, {}});
  }>;
  CHECK(words_with<Shrinks>() ==
        "[heddle.G23] layer 1 '1': Own maps every element by itself, but signature 0 takes its input Replicate and gives its output Shard<0>. Fix: "
        "give "
        "the output as the input is taken.");
  using Functions = OwnFunctions<[](Leaf& leaf) { leaf.splits({laid::shard(0), laid::replicate, laid::shard(0), laid::replicate, {}, {}}); }>;
  static_assert(fault_with<Functions>().code == Code{'G', 23});
  using Straight = OwnFunctions<[](Leaf& leaf) { leaf.splits({laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}}); }>;
  CHECK(fault_with<Straight>().ok());
}

TEST_CASE("a layer that only reshapes has nothing to compute with") {
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.reshapes = true, leaf.with({"w", Shape{4}, Initial::ones}); }>>().code == Code{'G', 23});
  CHECK(fault_with<Own<[](Leaf& leaf) { leaf.reshapes = true; }>>().ok());
}

TEST_CASE("statistics are a tensor that can be counted, of a layer with a kernel") {
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.statistics = Shape{2}; }>>().ok());
  CHECK(words_with<Own<[](Leaf& leaf) {
          leaf.statistics = Shape{2, 0};
        }>>() == "[heddle.G06] layer 1 '1': Own keeps statistics (2, 0), which has a size below 1. Fix: give every dimension a size of at least 1.");
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.statistics = Shape(1, 1, 1, 1, 1); }>>().code == Code{'G', 19});
  static_assert(fault_with<Own<[](Leaf& leaf) { leaf.statistics = Shape(large, large, large); }>>().code == Code{'G', 21});
  CHECK(
      words_with<Own<[](Leaf& leaf) { leaf.reshapes = true, leaf.statistics = Shape{2}; }>>() ==
      "[heddle.G23] layer 1 '1': Own says that it only reshapes, but keeps statistics (2). Fix: drop reshapes, by which its kernel would never run, "
      "or the statistics.");
}

TEST_CASE("after a layer that is refused the graph has numbers that can be counted") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<large, large>, Linear<large, large>>>;
  static_assert(!graph.fault.ok() && graph.parameter_elements() == 0 && graph.flops(0) == 0);
  CHECK(graph.node_count == 2);
}
