// SPDX-License-Identifier: MIT
#include "heddle/policy/split_path.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "policy/models.hpp"

using namespace heddle;

namespace {

struct Pairs : Sequential<Linear<12, 36>, ReLU, Linear<36, 12>, Tanh, Linear<12, 24>, Linear<24, 6>> {};
struct Wide : Sequential<Linear<6, 6>, Linear<6, 60>, ReLU, Linear<60, 60>, ReLU, Linear<60, 6>> {};
struct Writer : Sequential<Input<3>, Embedding<48, 12>, Residual<Linear<12, 24>, ReLU, Linear<24, 12>>, Linear<12, 48, NoBias>> {};
struct Skips : Sequential<Linear<12, 6>, Residual<Linear<6, 6>, Residual<Linear<6, 12>, ReLU, Linear<12, 6>>>, Linear<6, 6>> {};

struct Sequences : Sequential<Input<6, 12>, Linear<12, 6>, Residual<Linear<6, 12>, ReLU, Linear<12, 6>>, Tanh, Linear<6, 6>, Flatten, Linear<36, 6>> {
};
struct Beside : Sequential<Input<6, 12>, Branches<Add, Linear<12, 6>, Sequential<Linear<12, 6>, Tanh>>, Linear<6, 6>,
                           Branches<Add, Sequential<Linear<6, 12>, ReLU, Linear<12, 6>>, Linear<6, 6>, Sequential<>>, Linear<6, 6>> {};

/// Every choice of states, one by one: the cheapest that fits, or no choice.
struct Exhaustive {
  const SplitPath& path;
  SplitCost best{};
  bool found = false;

  void from(int leaf, Laid last, SplitCost sum) {
    if (leaf == path.graph.leaf_count) {
      if (!found || sum.less(best)) best = sum;
      found = true;
      return;
    }
    const Laid before = path.found_by(leaf, last);
    for (int o = 0; o < SplitPath::states; ++o)
      if (path.legal(leaf, o) && path.takes(leaf, o, before))
        from(leaf + 1, path.laid_between(leaf, o), sum.plus(path.price(leaf, o)).plus(path.entry_price(leaf, o, before)));
  }
};

template <class Model> void compare(int ranks, bool sequences = false, LossSplit loss = {}) {
  SplitPath path{graph_of<Model>, ranks, sequences, false, loss};
  std::int8_t chosen[Layout::most_leaves]{};
  REQUIRE(path.solve(chosen));
  SplitCost sum;
  Laid before = laid::replicate;
  for (int l = 0; l < graph_of<Model>.leaf_count; ++l) {
    CAPTURE(l);
    before = path.found_by(l, before);
    CHECK(path.legal(l, chosen[l]));
    CHECK(path.takes(l, chosen[l], before));
    sum = sum.plus(path.price(l, chosen[l])).plus(path.entry_price(l, chosen[l], before));
    before = path.laid_between(l, chosen[l]);
  }
  CHECK((before.replicated() || before == loss.takes));  // what leaves the model is whole, or as the loss takes it
  Exhaustive all{path};
  all.from(0, laid::replicate, {});
  REQUIRE(all.found);
  CHECK(sum.work == all.best.work);
  CHECK(sum.moved == all.best.moved);
  CHECK(sum.beside == all.best.beside);
}

}  // namespace

TEST_CASE("the path is the cheapest of all choices that fit") {
  for (const int ranks : {2, 3, 4, 6}) {
    CAPTURE(ranks);
    compare<Pairs>(ranks);
    compare<Wide>(ranks);
    compare<Skips>(ranks);
    compare<Sequences>(ranks);
    compare<Sequences>(ranks, true);
    compare<Beside>(ranks);
    compare<Beside>(ranks, true);
    compare<Wide>(ranks, false, LossSplit{laid::shard(0), 3});
    compare<Writer>(ranks, false, LossSplit{laid::shard(1), 9});
    compare<Writer>(ranks, true, LossSplit{laid::shard(1), 9});
  }
}

TEST_CASE("a loss that takes parts is given them where its terms are fewer than what a gather moves, and nobody else reads the output") {
  std::int8_t chosen[Layout::most_leaves]{};
  const auto output = [&](const Graph& graph, int ranks, LossSplit loss) {
    SplitPath path{graph, ranks, false, false, loss};
    REQUIRE(path.solve(chosen));
    return path.laid_between(graph.leaf_count - 1, chosen[graph.leaf_count - 1]);
  };
  CHECK(output(graph_of<Writer>, 4, {laid::shard(1), 9}) == laid::shard(1));  // 36 instead of 3 x 48
  CHECK(output(graph_of<Writer>, 4, {}).replicated());
  CHECK(output(graph_of<Writer>, 4, {laid::shard(1), 40}).replicated());  // 160
  CHECK(output(graph_of<Writer>, 5, {laid::shard(1), 9}).replicated());   // 48 does not divide
  struct Again : Sequential<Linear<24, 24>, Repeat<3, Linear<24, 24>>> {};
  CHECK(output(graph_of<Again>, 4, {laid::shard(0), 3}).replicated());  // its first two outputs are read by itself
}

TEST_CASE("a table is split by features where they are gathered, by rows of the vocabulary where sequences or a person ask for it") {
  std::int8_t chosen[Layout::most_leaves]{};
  SplitPath whole{graph_of<Writer>, 4};
  REQUIRE(whole.solve(chosen));
  CHECK(whole.signature(1, chosen[1]).parameters[0] == laid::shard(1));
  SplitPath thirds{graph_of<Writer>, 3, true};
  REQUIRE(thirds.solve(chosen));
  CHECK(thirds.signature(1, chosen[1]).parameters[0] == laid::shard(0));
  CHECK(thirds.laid_between(1, chosen[1]) == laid::shard(0));  // its terms are summed and scattered along the sequence
}

TEST_CASE("what is moved counts in units of (N-1)/N: a sum in place twice what a gather or a scatter is, a cut nothing") {
  static_assert(moved_between(laid::partial, laid::replicate, 10) == 20);
  static_assert(moved_between(laid::partial, laid::shard(0), 10) == 10);
  static_assert(moved_between(laid::shard(1), laid::replicate, 10) == 10);
  static_assert(moved_between(laid::replicate, laid::shard(1), 10) == 0);
  CHECK(moved_between(laid::shard(1), laid::shard(1), 10) == 0);
}

TEST_CASE("work counts before what moves") {
  CHECK(SplitCost{1, 100}.less(SplitCost{2, 0}));
  CHECK(SplitCost{1, 1}.less(SplitCost{1, 2}));
  CHECK(SplitCost{1, 1, 1}.less(SplitCost{1, 1, 2}));
  CHECK_FALSE(SplitCost{1, 1}.less(SplitCost{1, 1}));
}

TEST_CASE("a value that more than the next leaf reads is shared") {
  SplitPath path{graph_of<Skips>, 2};
  path.study();
  // leaves: Linear, Linear, Linear, ReLU, Linear, Add, Add, Linear
  const bool wanted[] = {true, true, false, false, true, true, false, true};
  for (int l = 0; l < 8; ++l) {
    CAPTURE(l);
    CHECK(path.shared[l] == wanted[l]);
    CHECK(path.whole[l]);  // samples of one dimension have no sequence
  }
}

TEST_CASE("a branch finds its input as the value lies that all branches read, not as the branch before it gives its own") {
  SplitPath path{graph_of<Beside>, 2, true};
  path.study();
  // leaves: Input, Linear | Linear, Tanh | Add, Linear, Linear, ReLU, Linear | Linear | Add, Add, Linear
  REQUIRE_FALSE(path.whole[1]);
  CHECK(path.found_by(2, laid::shard(0)).replicated());  // Input gives it whole
  CHECK(path.found_by(3, laid::shard(1)) == laid::shard(1));
  CHECK(path.found_by(9, laid::replicate) == laid::shard(0));
  CHECK(path.found_by(10, laid::replicate) == laid::shard(0));
}

TEST_CASE("what is joined along the sequence is whole before the join, and what is joined along features is not") {
  struct Longer : Sequential<Input<6, 12>, Linear<12, 6>, Branches<ConcatAlong<0>, Linear<6, 6>, Tanh>, Linear<6, 6>> {};
  struct Wider : Sequential<Input<6, 12>, Linear<12, 6>, Branches<Concat, Linear<6, 6>, Tanh>, Linear<12, 6>> {};
  for (const int ranks : {2, 3, 6}) {
    compare<Longer>(ranks, true);
    compare<Wider>(ranks, true);
  }
  SplitPath longer{graph_of<Longer>, 2, true};
  longer.study();
  CHECK((longer.joins_sequences(4) && longer.whole[2] && longer.whole[3] && !longer.whole[1]));
  SplitPath wider{graph_of<Wider>, 2, true};
  wider.study();
  CHECK((!wider.joins_sequences(4) && !wider.whole[2] && !wider.whole[3]));
}

TEST_CASE("the stream of residuals is split along the sequence up to what must be whole: a reshape, the output, what is read beside the input") {
  SplitPath path{graph_of<Sequences>, 2, true};
  path.study();
  // leaves: Input, Linear, Linear, ReLU, Linear, Add, Tanh, Linear, Flatten, Linear
  const bool whole[] = {true, false, false, false, false, false, false, true, true, true};
  for (int l = 0; l < 10; ++l) {
    CAPTURE(l);
    CHECK(path.whole[l] == whole[l]);
  }
  std::int8_t chosen[Layout::most_leaves]{};
  REQUIRE(path.solve(chosen));
  CHECK(path.laid_between(1, chosen[1]) == laid::shard(0));
  CHECK(path.laid_between(5, chosen[5]) == laid::shard(0));
  CHECK(path.signature(5, chosen[5]).input == laid::shard(0));
  CHECK(path.laid_between(9, chosen[9]).replicated());
}
