// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/recompute.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/sigmoid.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/plan/advice.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"
#include "plan/symbols.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Inner : Residual<Linear<6, 8>, GELU, Named<"back", Linear<8, 6>>> {};
// 0 Linear, blocks of 1 Linear, 2 GELU, 3 Linear, 4 sum; 5 to 8; 9 Sigmoid, 10 Linear.
struct Stack : Sequential<Linear<8, 6>, Named<"blocks", Repeat<2, Inner>>, Sigmoid, Linear<6, 3>> {};
struct Odd : Sequential<Input<2, 4>, Flatten, Repeat<3, Sequential<Residual<Tanh, Linear<8, 8>, Flatten, ReLU>, Residual<Residual<>, GELU>, Flatten>>,
                        Residual<Repeat<2, Residual<ReLU, Linear<8, 8, NoBias>>>>, GELU, Linear<8, 3>> {};

/// Nodes that run again, in the order of the backward bodies.
std::string again(const Program& p) {
  std::string all;
  for (int c = p.chunks - 1; c >= 0; --c)
    for (int e = p.backward_bodies[c].begin; e < p.backward_bodies[c].end; ++e) {
      const Entry& entry = p.entries[e];
      if (entry.what == BodyOp::leaf_forward || (entry.what == BodyOp::add && entry.node >= 0)) all += std::to_string(entry.node) + ' ';
      if (entry.what == BodyOp::leaf_backward) all += 'b' + std::to_string(entry.node) + ' ';
    }
  return all;
}
template <class What> std::string words() { return std::string{ChosenLayers<What, Stack>::value.fault.sentence().view()}; }

}  // namespace

TEST_CASE("a label is a word of a path") {
  static_assert(has_label("blocks.*.back", "back") && has_label("blocks.*.back", "blocks") && has_label("back", "back"));
  static_assert(!has_label("blocks.*.back", "bac") && !has_label("blocks.*.back", "ack") && !has_label("blocks", ""));
  CHECK_FALSE(has_label("", ""));
}

TEST_CASE("Recompute names blocks, layers of a type and layers of a name, together") {
  constexpr auto blocks = ChosenLayers<Recompute<EveryBlock>, Stack>::value;
  static_assert(blocks.any && blocks.blocks && !blocks.leaf[0] && blocks.fault.ok());
  constexpr auto typed = ChosenLayers<Recompute<GELU, Linear<8, 6>>, Stack>::value;
  CHECK(std::vector<bool>(typed.leaf, typed.leaf + 7) == std::vector<bool>{true, false, true, true, false, false, false});
  constexpr auto named = ChosenLayers<Recompute<Only<"blocks">, Sigmoid>, Stack>::value;
  CHECK(std::vector<bool>(named.leaf, named.leaf + 7) == std::vector<bool>{false, true, true, true, true, true, false});
  constexpr auto none = ChosenLayers<void, Stack>::value;
  static_assert(!none.any && none.fault.ok());
}

TEST_CASE("what the model does not have, and nothing at all, is refused with L05") {
  CHECK(words<Recompute<>>() == "[heddle.L05] Recompute names no layer. Fix: write Recompute<EveryBlock>, or name layers as in Recompute<GELU>.");
  CHECK(words<Recompute<Only<>>>() == words<Recompute<>>());
  CHECK(words<Recompute<GELU, ReLU>>() == "[heddle.L05] Stack has no layer ReLU to run again. Fix: name one that it has, such as Linear<8, 6>.");
  CHECK(words<Recompute<Only<"back", "front">>>() ==
        "[heddle.L05] Stack has no layer named 'front' to run again. Fix: use a word of a path such as 'blocks.*.0'.");
  struct Unnamed : Sequential<Linear<8, 6>, ReLU, Linear<6, 3>> {};
  CHECK(std::string{ChosenLayers<Recompute<Only<"relu">>, Unnamed>::value.fault.sentence().view()} ==
        "[heddle.L05] Unnamed has no layer named 'relu' to run again. Fix: name layers by their type, as in Recompute<GELU>.");
  CHECK(std::string{ChosenLayers<Recompute<EveryBlock>, Chain>::value.fault.sentence().view()} ==
        "[heddle.L05] Chain has no Repeat and no OneUnit, so it has no blocks to run again. Fix: name layers, as in Recompute<GELU>.");
  CHECK(check<Trained<Chain, Single, Recompute<Sigmoid>>>().code == Code{'L', 5});
}

TEST_CASE("a block runs again before its first backward, without what nobody reads: its last product and its sum") {
  CHECK(again(training_of<Trained<Stack, Single, Recompute<EveryBlock>>>()) == "b10 b9 5 6 b7 b6 b5 1 2 b3 b2 b1 b0 ");
  CHECK(again(training_of<Trained<Stack, Single>>()) == "b10 b9 b7 b6 b5 b3 b2 b1 b0 ");
}

TEST_CASE("a layer that is named runs again before the backward of its reader") {
  CHECK(again(training_of<Trained<Stack, Single, Recompute<GELU>>>()) == "b10 b9 6 b7 b6 b5 2 b3 b2 b1 b0 ");
  CHECK(again(training_of<Trained<Stack, Single, Recompute<Sigmoid>>>()) == "9 b10 b9 b7 b6 b5 b3 b2 b1 b0 ");
  CHECK(again(training_of<Trained<Stack, Single, Recompute<GELU, Only<"back">, Sigmoid>>>()) == "9 b10 b9 6 b7 b6 b5 2 b3 b2 b1 b0 ");
}

TEST_CASE("a layer whose output is sent is not run again") {
  using Cut = Pipeline<Stage<Sequential<Linear<8, 6>, Inner, Inner, Sigmoid>>, Stage<Linear<6, 3>>>;
  struct Parts : Sequential<Linear<8, 6>, Inner, Inner, Sigmoid, Linear<6, 3>> {};
  CHECK(again(training_of<Trained<Parts, Cut, Recompute<Sigmoid>>>()).find("9 b10") == std::string::npos);
  using Two = Pipeline<Stage<Sequential<Linear<8, 6>, GELU, GELU>>, Stage<Linear<6, 3>>>;
  CHECK(again(training_of<Trained<Sequential<Linear<8, 6>, GELU, GELU, Linear<6, 3>>, Two, Recompute<GELU>>>()) == "b3 1 b2 b1 b0 ");
}

TEST_CASE("a layer that shares its storage with a reshape that is kept costs nothing") {
  struct Image : Sequential<Linear<8, 6>, Sigmoid, Unflatten<2, 3>, Linear<3, 3>, Flatten> {};
  using Kept = Trained<Image, Single>;
  using Named = Trained<Image, Single, Recompute<Sigmoid>>;
  CHECK(training_of<Named>().pools[0].slot_bytes == training_of<Kept>().pools[0].slot_bytes);
}

TEST_CASE("an evaluation runs nothing again, so an Inference does not take the option") {
  using P = Trained<Stack, Single, Recompute<EveryBlock>>;
  CHECK(evaluation_of<P>().backward_bodies[0].count() == 0);
  CHECK(flops_run_again(evaluation_of<P>()) == Flops{0});
  static_assert(check<Inference<Stack, Batch<64>, Single, Recompute<GELU>>>().code == Code{'L', 10});
}

TEST_CASE("flops that run again are those of the layers that do") {
  constexpr std::int64_t block = 2 * 6 * 8 + 8 + graph_of<Stack>.leaf(2).forward_flops;
  static_assert(flops_run_again(Trained<Stack, Single, Recompute<EveryBlock>>::training) == Flops{2 * block});
  static_assert(flops_run_again(Trained<Stack, Single, Recompute<GELU>>::training) == Flops{2 * graph_of<Stack>.leaf(2).forward_flops});
  struct Sums : Sequential<Linear<8, 6>, Repeat<2, Sequential<Residual<Linear<6, 6, NoBias>>, Residual<Linear<6, 6, NoBias>>>>, Linear<6, 3>> {};
  static_assert(flops_run_again(Trained<Sums, Single, Recompute<EveryBlock>>::training) == Flops{2 * (2 * 6 * 6 + 6)});  // a product and its sum
  CHECK(flops_run_again(Trained<Stack, Single>::training) == Flops{0});
}

TEST_CASE("every read in forward and backward finds its value, whatever is in place, reshaped, cut or run again") {
  CHECK(follow(Trained<Stack, Single, Recompute<EveryBlock>>::training).leaves_again == 4);
  CHECK(follow(training_of<Trained<Odd, Single, Recompute<EveryBlock>>>()).leaves_again > 3);
  follow(training_of<Trained<Odd, Single, Recompute<Tanh, ReLU, Flatten>>>());
  follow(training_of<Trained<Odd, Single, Recompute<GELU, Flatten>>>());
  follow(training_of<Trained<Odd, Single, Recompute<EveryBlock, GELU, Linear<8, 3>>>>());
  follow(training_of<Trained<Odd, Single, Recompute<Linear<8, 8>, Linear<8, 8, NoBias>>>>());
  follow(training_of<Trained<Odd, Pipeline<Balanced<3>>, Recompute<EveryBlock, GELU>>>());
  follow(training_of<Trained<Odd, Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>, Recompute<Tanh, ReLU, GELU>>>());
  follow(training_of<Trained<Odd, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Recompute<EveryBlock>>>());
  follow(training_of<Trained<Chain, Back, Recompute<ReLU, Tanh>>>());
}

TEST_CASE("a weight part reads what ran again before the input part") {
  CHECK(follow(training_of<Trained<Stack, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock>>>()).leaves_again == 4);
  follow(training_of<Trained<Odd, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock, GELU>>>());
  follow(training_of<Trained<Odd, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Recompute<Tanh, ReLU, GELU, Flatten>>>());
}

TEST_CASE("units are gathered as often as without, and before what runs again") {
  CHECK(check_slices(training_of<Trained<Stack, Sharded<2>, Recompute<EveryBlock>>>()).ok());
  CHECK(check_slices(training_of<Trained<Odd, Sharded<2>, Recompute<Linear<8, 8>, Tanh, Flatten, ReLU>>>()).ok());
  // A segment that would need the parameters of two units, and one whose reader belongs to the next unit: they keep what the other unit reads.
  struct Units : Sequential<Linear<8, 6>, Linear<6, 6>, GELU, Linear<6, 6, NoBias>, Linear<6, 3>> {};
  CHECK(again(training_of<Trained<Units, Sharded<2>, Recompute<Linear<8, 6>, Linear<6, 6>, GELU, Linear<6, 6, NoBias>>>>()) == "b4 b3 1 b2 b1 b0 ");
  using Split = Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>;
  // The input part of the first layer's backward is empty, but what it gives is made again there.
  CHECK(check<Trained<Sequential<Linear<8, 6>, GELU, Linear<6, 6>, ReLU, Linear<6, 3>>, Hybrid<Split, Sharded<2>>, Recompute<Linear<8, 6>, GELU>>>()
            .ok());
  CHECK(traffic<Trained<Stack, Sharded<2>, Recompute<EveryBlock>>>().total() == traffic<Trained<Stack, Sharded<2>>>().total());
}

TEST_CASE("a sum that runs again is laid for its readers as in the forward, between the gradients of the layers around it") {
  using Inside = Residual<Linear<12, 24>, GELU, Linear<24, 12>>;
  struct Repeated : Sequential<Linear<12, 12>, Inside, Inside, Unflatten<3, 4>, Flatten, Linear<72, 72>, Unflatten<6, 12>> {};
  struct Steps : Sequential<Input<6, 23>, Linear<23, 12>, Repeat<2, Repeated>, Flatten, Linear<72, 10>> {};
  using P = Trained<Steps, TensorParallel<2, SequenceParallel>, Recompute<EveryBlock>>;
  int laid = 0;
  for (int e = training_of<P>().backward_bodies[0].begin; e < training_of<P>().backward_bodies[0].end; ++e) {
    const Entry& entry = training_of<P>().entries[e];
    if (entry.what == BodyOp::add && entry.node >= 0 && training_of<P>().graph->converts_output(entry.node)) ++laid;
  }
  CHECK(laid == 2);
  CHECK(check<P>().ok());
}

namespace {

// Tanh gives its part of the features, which its own backward reads, and the reshapes take them whole: both are made again.
struct Gathered : Sequential<Linear<32, 32>, Tanh, Unflatten<4, 8>, Flatten, Linear<32, 64>, GELU, Linear<64, 32>> {};
template <int L> struct Parts : Sequential<Linear<32, 32>, Repeat<L, Gathered>, Linear<32, 10>> {};
template <int L> constexpr std::int64_t kept_by = Trained<Parts<L>, TensorParallel<2>, Recompute<EveryBlock>>::training.pools[0].slot_bytes;

}  // namespace

TEST_CASE("a part beside a value that runs again is not kept either") { CHECK(kept_by<4> - kept_by<3> == 4 * 16 * 32); }
