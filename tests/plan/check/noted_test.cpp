// SPDX-License-Identifier: MIT
#include "heddle/plan/check/noted.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/gain.hpp"
#include "plan/spoilt.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto facts = Code{'S', 18};
using Rounds = Trained<Chain, Sharded<2, Gradients>, Accumulate<2>>;
using Shares = Trained<Chain, WeightedDataParallel<3, 1>>;
struct Gained : Sequential<Linear<8, 16, NoBias>, Gain, ReLU, Linear<16, 8, NoBias>> {};
using Split = Trained<Gained, TensorParallel<2>>;
struct Ids : Sequential<Input<4>, Embedding<12, 8>, Linear<8, 16>, ReLU, Linear<16, 12>> {};
using Words = Trained<Ids, TensorParallel<2>>;
struct TwoInputs : Sequential<Inputs<Input<4>, Input<3>>, Branches<Add, Linear<4, 5>, Sequential<FromInput<1>, Linear<3, 5>>>> {};

/// The leaf whose signature has a gradient of a parameter that is Partial.
int partial_leaf(const Making& p, int& parameter) {
  for (int l = 0; l < p.graph.leaf_count; ++l)
    for (parameter = 0; parameter < p.graph.leaves[l].leaf.parameter_count; ++parameter)
      if (p.graph.split.signatures[l].parameter_gradients[parameter].partial()) return l;
  return -1;
}
void takes_a_term_for_whole(Making& p) {
  int k = 0;
  const int l = partial_leaf(p, k);
  REQUIRE(l >= 0);
  changeable(p.graph.split.signatures[l]).parameter_gradients[k] = laid::replicate;
}
void gives_a_term_for_whole(Making& p) {
  for (int l = 0; l < p.graph.leaf_count; ++l)
    if (Signature& s = changeable(p.graph.split.signatures[l]); s.input_gradient.partial()) s.input_gradient = laid::replicate;
}

}  // namespace

TEST_CASE("what the lowering notes follows from the model, the layout and the batch, under every policy") {
  const auto sound = [](const Diagnosis& found) { CHECK(found.sentence().view() == ""); };
  const auto nothing = [](Making&) {};
  sound(noted_with<Replicas>(After::placing, nothing));
  sound(noted_with<InTurns>(After::placing, nothing));
  sound(noted_with<SplitSlices>(After::placing, nothing));
  sound(noted_with<SplitHalves>(After::placing, nothing));
  sound(noted_with<TiedStages>(After::placing, nothing));
  sound(noted_with<Rounds>(After::placing, nothing));
  sound(noted_with<Shares>(After::placing, nothing));
}

TEST_CASE("inputs of the model that are noted otherwise are found") {
  using Both = Trained<TwoInputs, Single>;
  CHECK(noted_with<Both>(After::placing, [](Making&) {}).ok());
  CHECK(refused_for(noted_with<Both>(After::placing, [](Making& p) { p.graph.input_count = 1; }), facts,
                    "the number of inputs of the model is noted as 1, but 2 follows"));
  CHECK(refused_for(noted_with<Both>(After::placing, [](Making& p) { p.graph.more_inputs[0].shape.sizes[0] = 5; }), facts,
                    "the size of another input of the model is noted as 5, but 3 follows"));
}

TEST_CASE("a term of a sum that the lowering takes for the whole is found, though all lines are as they would then have to be") {
  for (const auto& spoil : {takes_a_term_for_whole, gives_a_term_for_whole}) CHECK(lines_are_legal_with<Split>(After::dividing, spoil));
  CHECK(refused_for(noted_with<Split>(After::dividing, takes_a_term_for_whole), facts,
                    "the gradient of a parameter of Gain is noted as Replicate, but Partial follows from the model, the layout and the batch"));
  CHECK(refused_for(noted_with<Split>(After::dividing, gives_a_term_for_whole), facts,
                    "the gradient of the input of Linear<8, 16, NoBias> is noted as Replicate, but Partial follows"));
}

TEST_CASE("slices of several backwards that the lowering does not add up are found") {
  const auto spoil = [](Making& p) { p.storage.adds_slices = false; };
  CHECK(lines_are_legal_with<Rounds>(After::slicing, spoil));
  CHECK(
      refused_for(noted_with<Rounds>(After::slicing, spoil), facts, "whether slices of several backwards are added up is noted as 0, but 1 follows"));
}

TEST_CASE("other rows, axes, chunks, terms or targets than those of the plan are found by their names") {
  const auto read = [](auto spoil) { return [=](Making& p) { spoil(p.request); }; };
  CHECK(refused_for(noted_with<Replicas>(After::reading, read([](LoweringRequest& in) { in.layout.batch_split[0] = false; })), facts,
                    "whether the batch is split along axis data is noted as 0, but 1 follows"));
  CHECK(refused_for(noted_with<Shares>(After::reading, read([](LoweringRequest& in) { std::swap(in.batch.shares[0], in.batch.shares[1]); })), facts,
                    "the share of a replica is noted as 1, but 3 follows"));
  CHECK(refused_for(noted_with<Rounds>(After::reading, read([](LoweringRequest& in) { in.batch.grain_rows = 1; })), facts,
                    "the number of rows of a grain is noted as 1, but 4 follows"));
  CHECK(refused_for(noted_with<Rounds>(After::reading, read([](LoweringRequest& in) { in.target_features = 2; })), facts,
                    "the number of targets of a row is noted as 2, but 1 follows"));
  CHECK(refused_for(noted_with<InTurns>(After::reading, read([](LoweringRequest& in) { --in.layout.first_node[1]; })), facts,
                    "the end of a chunk is noted as 1, but 2 follows"));
  CHECK(refused_for(noted_with<SplitSlices>(After::reading, read([](LoweringRequest& in) { in.clips = false; })), facts,
                    "whether gradients are clipped is noted as 0, but 1 follows"));
  CHECK(refused_for(noted_with<SplitSlices>(After::reading, read([](LoweringRequest& in) { in.guards = true; })), facts,
                    "whether a loss that is not finite holds the step is noted as 1, but 0 follows"));
}

TEST_CASE("whatever a divided leaf describes otherwise than the whole one is found, also what no list names") {
  const auto divided = [](auto spoil) {
    return noted_with<Words>(After::dividing, [=](Making& p) {
      for (int l = 0; l < p.graph.leaf_count; ++l) spoil(changeable(p.graph.leaves[l]), p.request.graph.leaves[l].leaf);
    });
  };
  const auto of_linear = [&](auto spoil) {
    return divided([=](TracedLeaf& traced, const Leaf& whole) {
      if (whole.spelled.view() == "Linear<8, 16>") spoil(traced);
    });
  };
  CHECK(of_linear([](TracedLeaf&) {}).sentence().view() == "");
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.parameters[0].fan_in *= 4; }), facts,
                    "the number of inputs from which a parameter is drawn, of Linear<8, 16> is noted as 32, but 8 follows"));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.parameters[0].initial = Initial::zeros; }), facts,
                    "how a parameter starts, of Linear<8, 16> is noted as 0, but 2 follows"));
  CHECK(refused_for(divided([](TracedLeaf& t, const Leaf& whole) {
                      if (whole.vocabulary != 0) t.leaf.in.type = ElementType::uint8;
                    }),
                    facts, "the elements of the input of Embedding<12, 8> is noted as uint8, but int32 follows"));
  constexpr auto otherwise = "the description of Linear<8, 16> is not noted as it follows from the model";
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.out.type = ElementType::uint8; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.other.shape = Shape{2}; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.parameters[1].name << 's'; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.vocabulary = 3; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.signatures[0].pieces = 2; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.leaf.by_hand = true; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.path << 's'; }), facts, otherwise));
  CHECK(refused_for(of_linear([](TracedLeaf& t) { t.type = TypeId::none; }), facts, otherwise));
  for (std::int64_t Leaf::*flops : {&Leaf::forward_flops, &Leaf::backward_flops, &Leaf::weight_flops})
    CHECK(refused_for(of_linear([=](TracedLeaf& t) { t.leaf.*flops *= 2; }), facts, otherwise));
}

TEST_CASE("how a divided leaf lies is compared whole, and so are its elements between layers") {
  const auto of_linear = [](auto spoil) {
    return noted_with<Words>(After::dividing, [=](Making& p) {
      for (int l = 0; l < p.graph.leaf_count; ++l)
        if (p.graph.leaves[l].leaf.spelled.view() == "Linear<8, 16>") spoil(p.graph.split, l);
    });
  };
  CHECK(refused_for(of_linear([](GraphSplit& split, int l) { changeable(split.signatures[l]).pieces = 4; }), facts,
                    "how many pieces are never cut, or what may be in sections, of Linear<8, 16> is noted as 4, but 0 follows"));
  CHECK(refused_for(of_linear([](GraphSplit& split, int l) { changeable(split.spec_between[l]).type = ElementType::int32; }), facts,
                    "the elements between layers of the output of Linear<8, 16> is noted as int32, but float32 follows"));
}
