// SPDX-License-Identifier: MIT
#include "heddle/policy/split_graph.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/attention.hpp"
#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/swiglu.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "policy/models.hpp"

using namespace heddle;

namespace {

template <class Model> SplitGraph studied(int ranks = 2, bool sequences = false) {
  SplitGraph facts{graph_of<Model>, ranks, sequences, {}};
  facts.study();
  return facts;
}
template <int N> void check_each(const bool* found, const bool (&wanted)[N]) {
  for (int l = 0; l < N; ++l) {
    CAPTURE(l);
    CHECK(found[l] == wanted[l]);
  }
}
using Norm = LayerNorm<6>;
struct Skips : Sequential<Linear<12, 6>, Residual<Linear<6, 6>, Residual<Linear<6, 12>, ReLU, Linear<12, 6>>>, Linear<6, 6>> {};
struct Sequences : Sequential<Input<6, 12>, Linear<12, 6>, Residual<Linear<6, 12>, ReLU, Linear<12, 6>>, Tanh, Linear<6, 6>, Flatten, Linear<36, 6>> {
};

}  // namespace

TEST_CASE("a value that several leaves read, or a block in every repetition, is shared; a branch has one reader, the join") {
  // leaves: Linear, Linear, Linear, ReLU, Linear, Add, Add, Linear
  check_each(studied<Skips>().shared, {true, true, false, false, false, false, false, true});
  // leaves: Linear, Linear, ReLU, Linear, Add, Linear
  struct Blocks : Sequential<Linear<12, 6>, Repeat<3, Residual<Linear<6, 12>, ReLU, Linear<12, 6>>>, Linear<6, 6>> {};
  const SplitGraph blocks = studied<Blocks>();
  check_each(blocks.shared, {true, false, false, false, true, true});
  check_each(blocks.mixed, {true, false, false, false, true, false});
  CHECK((blocks.source[4][0] == 4 && blocks.reader[3] == 1 + 2 * 4 && blocks.times[1] == 3));
}

TEST_CASE("more values that wait for a join than there is room for are shared") {
  using Twice = Branches<Add, Tanh, Branches<Add, Tanh, Branches<Add, Tanh, Tanh>>>;
  using Deep = Branches<Add, Tanh, Branches<Add, Tanh, Branches<Add, Tanh, Branches<Add, Tanh, Branches<Add, Tanh, Branches<Add, Tanh, Twice>>>>>>;
  struct Net : Sequential<Linear<4, 6>, Branches<Add, Tanh, Branches<Add, Tanh, Deep>>, Linear<6, 6>> {};
  const SplitGraph facts = studied<Net>();
  int waiting = 0, most = 0, given_up = 0;
  for (int l = 0; l < facts.graph.leaf_count; ++l) {
    for (int k = 0; k < facts.leaf(l).operands; ++k) waiting -= facts.source[l][k] > 0 && !facts.shared[facts.source[l][k] - 1] ? 1 : 0;
    waiting += facts.shared[l] ? 0 : 1;
    if (waiting > most) most = waiting;
    given_up += facts.shared[l] && facts.leaf(l).elementwise ? 1 : 0;
  }
  CHECK(most == SplitGraph::most_open);
  CHECK(given_up == 4);
}

TEST_CASE("sections are asked for through joins, of every branch those that are its own") {
  using Three = Branches<Concat, Linear<6, 8>, Linear<6, 4>, Linear<6, 4>>;
  struct Attends : Sequential<Input<4, 6>, Norm, Three, SelfAttention<Heads<4>, KeyValueHeads<2>>, Linear<8, 6>> {};
  const SplitGraph facts = studied<Attends>();
  // leaves: Input, Norm, q, k, join, v, join, attention, Linear
  CHECK(facts.asked[6] == laid::shard(1, 3, 2));
  CHECK((facts.asked[4] == laid::shard(1, 2, 2) && facts.asked[5] == laid::shard(1)));
  CHECK((facts.asked[2] == laid::shard(1) && facts.asked[3] == laid::shard(1)));
  CHECK((facts.asked[1].replicated() && facts.asked[7].replicated()));
  using Two = Branches<Concat, Linear<6, 8>, Branches<Concat, Linear<6, 4>, Linear<6, 4>>>;
  struct Nested : Sequential<Input<4, 6>, Norm, Two, SelfAttention<Heads<4>, KeyValueHeads<2>>, Linear<8, 6>> {};
  CHECK((studied<Nested>().asked[5] == laid::shard(1, 2) && studied<Nested>().asked[2] == laid::shard(1)));
  struct Uneven : Sequential<Norm, Branches<Concat, Linear<6, 5>, Linear<6, 7>>, SwiGLU, Linear<6, 6>> {};
  CHECK(studied<Uneven>().asked[3] == laid::shard(0, 2));  // and 5 features are no half of 12
  CHECK(studied<Uneven>().asked[1].replicated());
}

TEST_CASE("gradients may be summed once where a value is made if every leaf that reads it can leave a term") {
  struct Reads : Sequential<Norm, Branches<Add, Linear<6, 4>, Linear<6, 4, NoBias>>> {};
  struct Skip : Sequential<Norm, Branches<Add, Linear<6, 6>, Sequential<>>> {};
  struct One : Sequential<Norm, Linear<6, 6>, ReLU> {};
  struct Reshaped : Sequential<Input<2, 3>, Flatten, Branches<Add, Linear<6, 4>, Linear<6, 4>>> {};
  struct Again : Sequential<Norm, Repeat<2, Branches<Add, Linear<6, 6>, Linear<6, 6>>>> {};
  CHECK(studied<Reads>().may_sum_once(0));
  CHECK_FALSE(studied<Skip>().may_sum_once(0));
  CHECK_FALSE(studied<One>().may_sum_once(0));
  CHECK_FALSE(studied<Reshaped>().may_sum_once(1));
  CHECK_FALSE(studied<Again>().may_sum_once(0));
}

TEST_CASE("the stream of residuals is split along the sequence up to what must be whole: a reshape, the output, what is read beside the input") {
  // leaves: Input, Linear, Linear, ReLU, Linear, Add, Tanh, Linear, Flatten, Linear
  const SplitGraph facts = studied<Sequences>(2, true);
  check_each(facts.whole, {true, false, false, false, false, false, false, true, true, true});
  CHECK(facts.sequence(1) == laid::shard(0));
  for (int l = 0; l < 8; ++l) CHECK(studied<Skips>(2, true).whole[l]);       // samples of one dimension have no sequence
  for (int l = 0; l < 10; ++l) CHECK(studied<Sequences>(4, true).whole[l]);  // 6 positions on 4 ranks
}

TEST_CASE("channels are no sequence: what is marked is split, whatever dimension it is") {
  struct Images : Sequential<Input<6, 4, 4>, BatchNorm2d<6>, Residual<Linear<4, 8>, ReLU, Linear<8, 4>>, Tanh, Linear<4, 2>> {};
  const SplitGraph images = studied<Images>(2, true);
  for (int l = 0; l < images.graph.leaf_count; ++l) CHECK((images.whole[l] && images.sequence(l).replicated()));
  struct Streams : Sequential<Input<2, 4>, Embedding<7, 6>, Residual<Linear<6, 12>, ReLU, Linear<12, 6>>, Tanh, Linear<6, 2>> {};
  const SplitGraph streams = studied<Streams>(4, true);
  // leaves: Input, Embedding, Linear, ReLU, Linear, Add, Tanh, Linear
  check_each(streams.whole, {true, false, false, false, false, false, false, true});
  CHECK(streams.sequence(5) == laid::shard(1));
  struct Turned : Sequential<Input<24>, Linear<24, 24>, Unflatten<4, 6>, Norm, Residual<Norm>, Norm> {};
  CHECK((studied<Turned>(2, true).sequence(3) == laid::shard(0) && !studied<Turned>(2, true).whole[3]));
}

TEST_CASE("a value whose sequence is not that which its reader was described for stays whole") {
  struct Unmarked {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf = elementwise("Unmarked", in, 1);
      leaf.out.sequence = -1;
      return leaf;
    }
  };
  struct Net : Sequential<Input<4, 6>, Norm, Repeat<2, Sequential<Norm, Unmarked>>, Norm> {};
  const SplitGraph facts = studied<Net>(2, true);
  // leaves: Input, Norm, (Norm, Unmarked), Norm
  CHECK((facts.differs(2, 4) && !facts.differs(2, 2)));
  check_each(facts.whole, {true, true, false, true, true});  // between both is one sequence
}

TEST_CASE("what is joined along the sequence is whole before the join, and what is joined along features is not") {
  struct Longer : Sequential<Input<6, 12>, Linear<12, 6>, Branches<ConcatAlong<0>, Linear<6, 6>, Tanh>, Linear<6, 6>> {};
  struct Wider : Sequential<Input<6, 12>, Linear<12, 6>, Branches<Concat, Linear<6, 6>, Tanh>, Linear<12, 6>> {};
  const SplitGraph longer = studied<Longer>(2, true);
  CHECK((longer.joins_sequences(4) && longer.whole[2] && longer.whole[3] && !longer.whole[1]));
  const SplitGraph wider = studied<Wider>(2, true);
  CHECK((!wider.joins_sequences(4) && !wider.whole[2] && !wider.whole[3]));
}
