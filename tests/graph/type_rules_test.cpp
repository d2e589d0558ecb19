// SPDX-License-Identifier: MIT
#include "heddle/graph/type_rules.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/rescaling.hpp"
#include "heddle/graph/leaf_rules.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

constexpr Spec bytes{Shape{4}, ElementType::uint8};
constexpr Spec ids{Shape{4}, ElementType::int32};

/// By the rule itself, and where a model is checked.
std::string words(const Leaf& leaf) {
  CHECK(check_leaf(leaf, leaf.in).words.view() == check_types(leaf).words.view());
  return std::string{check_types(leaf).sentence().view()};
}

struct ReluLast : Sequential<Input<4>, Branches<Add, Rescaling<>, ReLU>, Linear<4, 3>> {};
struct ReluFirst : Sequential<Input<4>, Branches<Add, ReLU, Rescaling<>>, Linear<4, 3>> {};
template <class Model> std::string refusal() {
  using Trained = Plan<Model, CrossEntropy, Adam, Batch<8>, Single>;
  return std::string{check<Trained>().sentence().view()};
}

}  // namespace

TEST_CASE("numbers, ids that are looked up, bytes that are rescaled, and what only reshapes either") {
  CHECK(words(Linear<4, 3>::describe(Spec{Shape{4}})).empty());
  CHECK(words(Embedding<5, 3>::describe(ids)).empty());
  CHECK(words(Rescaling<>::describe(bytes)).empty());
  CHECK(words(Flatten::describe(bytes)).empty());
  CHECK(words(Flatten::describe(ids)).empty());
}

TEST_CASE("a function of each element that is given bytes or ids is told what stands before it, whichever branch comes first") {
  CHECK(words(ReLU::describe(bytes)) ==
        "[heddle.G18] ReLU reads numbers, but what it reads are bytes, which another layer rescales. Fix: let it stand behind a Rescaling.");
  CHECK(words(ReLU::describe(ids)).find("[heddle.G18] ReLU reads numbers, but what it reads are token ids, which another layer looks up.") == 0);
  const char* const told = " ReLU reads numbers, but what it reads are bytes, which another layer rescales. Fix: let it stand behind a Rescaling.";
  CHECK(refusal<ReluFirst>().find(told) != std::string::npos);
  CHECK(refusal<ReluLast>().find(told) != std::string::npos);
  CHECK(refusal<ReluLast>().find("[heddle.G18]") == 0);
}

TEST_CASE("a description that contradicts itself is told so") {
  Leaf leaf = Embedding<5, 3>::describe(ids);
  leaf.in.type = ElementType::float32;
  CHECK(words(leaf) == "[heddle.G23] Embedding<5, 3> looks up ids of 5 tokens, but takes float32. Fix: write leaf.in.type = ElementType::int32.");
  leaf = Embedding<5, 3, PaddingIndex<4>>::describe(ids);
  CHECK(words(leaf).empty());
  leaf.parameters[0].padding_row = 5;
  CHECK(words(leaf) ==
        "[heddle.G23] Embedding<5, 3, PaddingIndex<4>> says that row 5 of 'weight' is of padding, which has 5 rows. Fix: name one from 0 to 4, or -1 "
        "for none.");
  leaf.parameters[0].padding_row = -2;
  CHECK(words(leaf).substr(0, 12) == "[heddle.G23]");
  leaf = Embedding<5, 3>::describe(ids);
  leaf.vocabulary = 0;
  CHECK(words(leaf) ==
        "[heddle.G23] Embedding<5, 3> takes int32, but looks nothing up. Fix: say how many ids there are in leaf.vocabulary, or take float32.");
  leaf = Rescaling<>::describe(bytes);
  leaf.out.type = ElementType::uint8;
  CHECK(words(leaf) == "[heddle.G23] Rescaling<1, 255> says that it gives uint8, but layers compute float32. Fix: give float32.");
}
