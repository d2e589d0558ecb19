// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/pieces.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Inner : Residual<Named<"up", Linear<16, 32>>, GELU, Named<"down", Linear<32, 16>>> {};
struct Deep : Sequential<Named<"stem", Linear<8, 16>>, Named<"blocks", Repeat<2, Inner>>, Named<"head", Linear<16, 4>>> {};
struct TiedEnds : Sequential<Named<"in", Linear<6, 6>>, Tanh, Tied<"out", Linear<6, 6>, To<"in">>, Named<"last", Linear<6, 3>>> {};
/// As large as the blocks of a small transformer: what mixes and what widens, each with two products.
struct Mixing : Residual<Named<"in", Linear<16, 48>>, Tanh, Named<"out", Linear<48, 16>>> {};
struct Widening : Residual<Named<"up", Linear<16, 64>>, GELU, Named<"down", Linear<64, 16>>> {};
struct Blocks : Sequential<Named<"stem", Linear<8, 16>>, Named<"blocks", Repeat<12, Sequential<Mixing, Widening>>>, Named<"head", Linear<16, 4>>> {};
struct Chained : Sequential<Linear<16, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 16>, ReLU, Linear<16, 4>> {};
struct Adapted : Sequential<Linear<8, 16>, Repeat<4, Residual<Frozen<Linear<16, 32>>, GELU, Linear<32, 16>>>, Linear<16, 4>> {};

/// "0: 0-319 of 1, 320-1023 of 0;": the pieces of each bucket.
std::string pieces_of(const Program& p) {
  std::string all;
  for (int i = 0; i < p.piece_count; ++i) {
    const StepPiece& piece = p.pieces[i];
    if (i == 0 || p.pieces[i - 1].bucket != piece.bucket)
      all += (i == 0 ? "" : "; ") + std::to_string(piece.bucket) + ": ";
    else
      all += ", ";
    all += std::to_string(piece.begin) + '-' + std::to_string(piece.end() - 1) + " of " + std::to_string(piece.group);
  }
  return all;
}
/// Pieces of one bucket if its parameters lay in the order of the model.
int pieces_in_order_of_model(const Program& p) {
  int count = 0, group = -1;
  for (int n = 0; n < p.graph->node_count; ++n)
    for (int k = 0; k < p.graph->nodes[n].trained_count(); ++k) {
      const int own = p.groups.of_parameter[p.graph->nodes[n].first_parameter + k];
      count += own == group ? 0 : 1;
      group = own;
    }
  return count;
}
template <class Model, class... Parts> using Spared = Plan<Model, CrossEntropy, AdamW, Batch<8>, NoDecay<>, Parts...>;

}  // namespace

TEST_CASE("pieces of one group cover each bucket from its first element to its last") {
  using Plain = Plan<Deep, CrossEntropy, AdamW, Batch<8>, Single>;
  CHECK(training_of<Plain>().piece_count == 0);
  CHECK_FALSE(training_of<Plain>().groups.any());
  using One = Spared<Deep, Single>;
  // stem 8 x 16 and 16; each block 16 x 32, 32, 32 x 16, 16; head 16 x 4 and 4: units of 1,024, 2,048, 2,048 and 1,024 elements.
  CHECK(pieces_of(training_of<One>()) == "0: 0-127 of 0, 128-1071 of 1, 1072-4095 of 0, 4096-5135 of 1, 5136-6143 of 0");
  using Units = Plan<Deep, CrossEntropy, AdamW, Batch<8>, Sharded<2>, LearningRateFactor<"head", 2>, LearningRateFactor<"blocks.0", 2>>;
  CHECK(pieces_of(training_of<Units>()) == "0: 0-1023 of 1; 1: 0-2047 of 0; 2: 0-2047 of 1; 3: 0-1023 of 0");
  CHECK(pieces_of(training_of<Spared<Deep, Sharded<2>>>()) ==
        "0: 0-15 of 1, 16-1023 of 0; 1: 0-1023 of 0, 1024-2047 of 1; 2: 0-47 of 1, 48-2047 of 0; 3: 0-127 of 0, 128-1023 of 1");
  using Stages = Plan<Deep, CrossEntropy, AdamW, Batch<8>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, NoDecay<"stem", "head">>;
  CHECK(pieces_of(training_of<Stages>()) == "0: 0-1023 of 1, 1024-3071 of 0; 1: 0-2047 of 0, 2048-3071 of 1");
}

TEST_CASE("a bucket of units is stepped in a piece more than it has units where biases do not decay, however many layers a unit has") {
  using Large = Spared<Blocks, Single>;
  CHECK(training_of<Large>().unit_count == 14);
  CHECK(pieces_in_order_of_model(training_of<Large>()) == 100);
  CHECK(training_of<Large>().piece_count == 15);
  using Stages = Spared<Blocks, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  CHECK(training_of<Stages>().bucket_count == 2);
  CHECK(training_of<Stages>().piece_count == 16);
  using Layers = Spared<Chained, DataParallel<2>>;
  CHECK(pieces_in_order_of_model(training_of<Layers>()) == 10);
  CHECK(training_of<Layers>().piece_count == 6);
  using Tuned = Spared<Adapted, Sharded<2, OptimizerState>>;
  CHECK(pieces_in_order_of_model(training_of<Tuned>()) == 12);
  CHECK(training_of<Tuned>().piece_count == 7);
  CHECK(training_of<Spared<Blocks, Sharded<2>>>().piece_count == 28);  // each unit is a bucket: weights and biases
}

TEST_CASE("a gradient of a tied use that another layer keeps is in no piece") {
  using Ties = Spared<TiedEnds, Single>;
  int stepped = 0;
  for (int b = 0; b < training_of<Ties>().bucket_count; ++b) {
    std::int64_t elements = 0;
    for (int i = 0; i < training_of<Ties>().piece_count; ++i)
      elements += training_of<Ties>().pieces[i].bucket == b ? training_of<Ties>().pieces[i].elements : 0;
    CHECK(elements == (training_of<Ties>().buckets[b].steps() ? training_of<Ties>().buckets[b].elements : 0));
    stepped += training_of<Ties>().buckets[b].steps() ? 1 : 0;
  }
  CHECK(stepped == training_of<Ties>().bucket_count - 1);
}
