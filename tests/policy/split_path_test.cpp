// SPDX-License-Identifier: MIT
#include "heddle/policy/split_path.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/attention.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/swiglu.hpp"
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

struct Attends : Sequential<Input<4, 12>, LayerNorm<12>,
                            Residual<LayerNorm<12>, Branches<Concat, Linear<12, 24>, Linear<12, 12, NoBias>, Linear<12, 12>>,
                                     SelfAttention<Heads<12>, KeyValueHeads<6>>, Linear<24, 12>>> {};
struct Gates : Sequential<Linear<12, 6>, Branches<Concat, Linear<6, 12>, Linear<6, 12>>, SwiGLU, Linear<12, 6>> {};
struct Plain : Sequential<Linear<12, 6>, Branches<Add, Linear<6, 12>, Sequential<Linear<6, 12>, ReLU>>, Linear<12, 6>> {};
struct Kept : Sequential<Linear<12, 6>, ReLU, Branches<Concat, Linear<6, 12>, Linear<6, 12>>, Linear<24, 6>> {};

/// Every choice of states, one by one, whether gradients are summed once or not: the cheapest that fits.
struct Exhaustive {
  SplitPath& path;
  SplitCost best{};
  bool found = false;
  std::int8_t chosen[Layout::most_leaves]{};

  [[nodiscard]] Laid before(int l, int k) const {
    const int made = path.source[l][k];
    return made == 0 ? laid::replicate : path.laid_between(made - 1, chosen[made - 1]);
  }
  [[nodiscard]] bool fits(int l, int state) const {
    bool all = path.legal(l, state);
    for (int k = 0; k < path.leaf(l).operands && all; ++k) all = path.takes(l, state, k, before(l, k));
    return all;
  }
  [[nodiscard]] SplitCost price(int l, int state) const {
    SplitCost sum = path.price(l, state);
    for (int k = 0; k < path.leaf(l).operands; ++k) sum = sum.plus(path.entry_price(l, state, k, before(l, k)));
    return sum;
  }
  void from(int l, SplitCost sum) {
    if (found && !sum.less(best)) return;
    if (l == path.graph.leaf_count) {
      best = sum;
      found = true;
      return;
    }
    for (int o = 0; o < SplitPath::states; ++o) {
      if (!fits(l, o)) continue;
      chosen[l] = static_cast<std::int8_t>(o);
      from(l + 1, sum.plus(price(l, o)));
    }
  }
  void sums_from(int l) {
    while (l < path.graph.leaf_count && !path.may_sum_once(l)) ++l;
    if (l == path.graph.leaf_count) return from(0, {});
    for (const bool once : {false, true}) {
      path.summed_once[l] = once;
      sums_from(l + 1);
    }
  }
};

template <class Model> void compare(int ranks, bool sequences = false, LossSplit loss = {}) {
  SplitPath path{graph_of<Model>, ranks, sequences, false, loss};
  Exhaustive own{path};
  REQUIRE(path.solve(own.chosen));
  SplitCost sum;
  for (int l = 0; l < graph_of<Model>.leaf_count; ++l) {
    CAPTURE(l);
    CHECK(own.fits(l, own.chosen[l]));
    sum = sum.plus(own.price(l, own.chosen[l]));
  }
  const int last = graph_of<Model>.leaf_count - 1;
  const Laid out = path.laid_between(last, own.chosen[last]);
  CHECK((out.replicated() || out == loss.takes));  // what leaves the model is whole, or as the loss takes it
  CHECK((!sum.less(path.least) && !path.least.less(sum)));
  Exhaustive all{path};
  all.sums_from(0);
  REQUIRE(all.found);
  CHECK(sum.work == all.best.work);
  CHECK(sum.moved == all.best.moved);
  CHECK(sum.beside == all.best.beside);
}
template <class Model> Laid between(int leaf, int ranks, bool sequences = false) {
  SplitPath path{graph_of<Model>, ranks, sequences};
  std::int8_t chosen[Layout::most_leaves]{};
  REQUIRE(path.solve(chosen));
  return path.laid_between(leaf, chosen[leaf]);
}

}  // namespace

TEST_CASE("what is chosen is the cheapest of all choices that fit") {
  for (const int ranks : {2, 3, 4, 6}) {
    CAPTURE(ranks);
    compare<Pairs>(ranks);
    compare<Wide>(ranks);
    compare<Skips>(ranks);
    compare<Sequences>(ranks);
    compare<Sequences>(ranks, true);
    compare<Beside>(ranks);
    compare<Beside>(ranks, true);
    compare<Gates>(ranks);
    compare<Plain>(ranks);
    compare<Kept>(ranks);
    compare<Attends>(ranks);
    compare<Attends>(ranks, true);
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

TEST_CASE("branches are split alike and joined in sections; gradients of what they read are summed once, behind what gives it") {
  // leaves: Input, Norm | Norm, q, k, join, v, join, attention, Linear, Add
  for (const bool sequences : {false, true}) {
    CAPTURE(sequences);
    CHECK(between<Attends>(2, 2, sequences) == laid::terms_back);
    CHECK((between<Attends>(3, 2, sequences) == laid::shard(1) && between<Attends>(5, 2, sequences) == laid::shard(1, 2, 2)));
    CHECK(between<Attends>(7, 2, sequences) == laid::shard(1, 3, 2));
  }
  CHECK((between<Attends>(3, 4).replicated() && between<Attends>(7, 4).replicated()));  // 6 heads of keys and values on 4 ranks
  CHECK(between<Gates>(3, 4) == laid::shard(0, 2));
  CHECK((between<Plain>(1, 2) == laid::shard(0) && between<Plain>(4, 2) == laid::shard(0)));  // added in parts
  CHECK((between<Kept>(3, 2).replicated() && between<Kept>(4, 2).replicated()));              // the product behind takes no sections
  CHECK(between<Kept>(1, 2) == laid::terms_back);
}

TEST_CASE("a branch finds its input as the value lies that all branches read, not as the branch before it gives its own") {
  // leaves: Input, Linear | Linear, Tanh | Add, Linear, Linear, ReLU, Linear | Linear | Add, Add, Linear
  SplitPath path{graph_of<Beside>, 2, true};
  path.study();
  REQUIRE_FALSE(path.whole[5]);
  CHECK((path.source[9][0] == 1 + 5 && path.fixed(path.source[9][0]) && path.found(path.source[9][0]) == laid::shard(0)));
  CHECK(path.found(path.source[2][0]).replicated());  // Input gives it whole
}

TEST_CASE("the stream of residuals is split along the sequence") {
  // leaves: Input, Linear, Linear, ReLU, Linear, Add, Tanh, Linear, Flatten, Linear
  CHECK(between<Sequences>(1, 2, true) == laid::shard(0));
  CHECK(between<Sequences>(5, 2, true) == laid::shard(0));
  CHECK(between<Sequences>(6, 2, true) == laid::shard(0));
  CHECK(between<Sequences>(9, 2, true).replicated());
}
