// SPDX-License-Identifier: MIT
#include "heddle/plan/check/placements.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/swiglu.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/gain.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Steps : Sequential<Input<4, 8>, Linear<8, 8>, Residual<Linear<8, 16>, Tanh, Linear<16, 8>>, Linear<8, 8>, GELU, Linear<8, 4>> {};
struct Mlp : Sequential<Linear<24, 16>, ReLU, Residual<Linear<16, 32>, Tanh, Linear<32, 16>>, GELU, Linear<16, 8>, ReLU, Linear<8, 4>> {};
using Sequences = Plan<Steps, MeanSquaredError, SGD, Batch<8>, TensorParallel<2, SequenceParallel>>;
struct Apart : Sequential<LayerNorm<8>, Branches<Concat, Linear<8, 16>, Linear<8, 16>>, SwiGLU, Linear<16, 6>> {};
struct Gained : Sequential<Linear<8, 16, NoBias>, Gain, ReLU, Linear<16, 8, NoBias>> {};
struct Writer : Sequential<Input<4>, Embedding<48, 8>, Linear<8, 16>, GELU, Linear<16, 8>, Tanh, Linear<8, 48, NoBias>> {};
using Texts = Plan<Writer, CrossEntropy, SGD, Batch<8>, TensorParallel<2>>;
template <class... Policies> using Of = Trained<Mlp, Hybrid<Policies...>, Grain<2>>;

/// Every reduction of a body is dropped, doubled, kept for the last micro-batch, turned to another axis, and moved behind its reader.
template <class P> int mutate_reductions() {
  Copy copy{training_of<P>()};
  REQUIRE(check(copy.view()).ok());
  int way = 0;
  const auto red = [&] {
    CAPTURE(way);
    ++way;
    const Diagnosis found = check(copy.view());
    CHECK(found.code == Code{'P', 4});
  };
  int reductions = 0;
  for (std::size_t e = 0; e < copy.entries.size(); ++e) {
    if (!converts(copy.entries[e].what)) continue;
    CAPTURE(e);
    ++reductions;
    const Entry kept = copy.entries[e];
    copy.entries[e] = Entry{};
    red();
    copy.entries[e] = kept;
    copy.entries[e].when = When::last_micro_batch;
    red();
    copy.entries[e] = kept;
    copy.entries[e].axis = Axis::data;
    red();
    copy.entries[e] = kept;
    const bool of_a_sum = static_cast<int>(e) >= training_of<P>().backward_bodies[training_of<P>().chunks - 1].begin &&
                          training_of<P>().graph->adds(kept.node);  // not bound to a neighbour
    if (e + 1 < copy.entries.size() && !of_a_sum) {
      std::swap(copy.entries[e], copy.entries[e + 1]);
      red();
      const Entry next = copy.entries[e];
      copy.entries[e] = kept;  // twice
      red();
      copy.entries[e + 1] = next;
    }
  }
  CHECK(check(copy.view()).ok());
  return reductions;
}

}  // namespace

TEST_CASE("a sum over axis tensor that is dropped, doubled, late or along another axis turns the check red") {
  CHECK(mutate_reductions<Of<TensorParallel<2>>>() == 6);  // two sums forward, two backward; a gather, and the cut of its gradient
  CHECK(mutate_reductions<Of<TensorParallel<4>, DataParallel<2>>>() == 6);
  CHECK(mutate_reductions<Of<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>() == 6);
}

TEST_CASE("so does the sum of terms that several readers leave, once, where the value was made") {
  static_assert(traffic<Trained<Apart, TensorParallel<2>>>().value_collectives(0, BodyOp::reduce_value) == 2);
  CHECK(mutate_reductions<Trained<Apart, TensorParallel<2>>>() == 2);
  CHECK(mutate_reductions<Trained<Apart, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>>() == 2);
}

TEST_CASE("so does every gather, scatter and cut of sequences that are split in parts") { CHECK(mutate_reductions<Sequences>() >= 10); }

TEST_CASE("an input of which parts are kept is gathered again in the part of a split backward that reads it") {
  using P =
      Plan<Steps, MeanSquaredError, SGD, Batch<8>, Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<1>, ZeroBubbleH1, Microbatches<2>>>>;
  const Program& p = training_of<P>();
  const auto gathers = [&](const IndexRange& body) {
    int again = 0;
    for (int e = body.begin; e + 1 < body.end; ++e) {
      if (p.entries[e].what != BodyOp::gather_value || !(p.entries[e].d == p.entries[e + 1].a)) continue;
      CHECK(p.entries[e].a.pool >= 0);  // the parts are kept
      ++again;
    }
    return again;
  };
  CHECK(gathers(p.backward_bodies[0]) == 0);  // the gradient of a Linear's input is not made of the input
  CHECK(gathers(p.weight_bodies[0]) > 0);
  CHECK(mutate_reductions<P>() >= 10);
}

TEST_CASE("the sentence names the layer") {
  Copy copy{training_of<Of<TensorParallel<2>>>()};
  for (Entry& entry : copy.entries)
    if (entry.what == BodyOp::reduce_value) {
      entry = Entry{};
      break;
    }
  CHECK(check(copy.view()).sentence().view() ==
        "[heddle.P04] the output of layer 4 '2.2' Linear<32, 16> is Partial along axis tensor and must be Replicate, but nothing beside it makes it "
        "so. "
        "Fix: convert it once, before anything reads it.");
}

TEST_CASE("what no rank has a term of must not be summed") {
  Copy copy{training_of<Of<TensorParallel<2>>>()};
  for (std::size_t e = 0; e < copy.entries.size(); ++e)
    if (copy.entries[e].what == BodyOp::loss) {
      Entry sum;
      sum.what = BodyOp::reduce_value;
      sum.axis = Axis::tensor;
      sum.node = 0;
      sum.collective = 0;
      sum.d = copy.entries[e].a;
      copy.entries[e] = sum;
      break;
    }
  CHECK(check(copy.view()).code == Code{'P', 4});
}

TEST_CASE("the terms of a loss in parts are gathered once, just before it, of what it takes") {
  static_assert(Texts::training.graph->laid_between(7) == laid::shard(1));
  CHECK(mutate_reductions<Texts>() == 6);  // forward the table's features, a sum, terms of the loss; backward two sums and a cut
  for (const bool training : {true, false}) {
    const Program& original = training ? training_of<Texts>() : evaluation_of<Texts>();
    std::size_t loss = 0;
    while (original.entries[loss].what != BodyOp::loss) ++loss;
    const auto red = [&](const auto& change) {
      Copy copy{original};
      change(copy.entries[loss - 2], copy.entries[loss - 1], copy.entries[loss]);
      return check_placements(copy.view()).code == Code{'P', 4};
    };
    CHECK_FALSE(red([](Entry&, Entry&, Entry&) {}));
    CHECK(red([](Entry& terms, Entry&, Entry&) { terms = Entry{}; }));
    CHECK(red([](Entry&, Entry& gather, Entry&) { gather = Entry{}; }));
    CHECK(red([](Entry&, Entry& gather, Entry&) { gather.a.offset += 64; }));
    CHECK(red([](Entry&, Entry&, Entry& last) { last.c.offset += 64; }));
    CHECK(red([](Entry&, Entry&, Entry& last) { last.a.offset += 64; }));
    CHECK(red([](Entry&, Entry&, Entry& last) { last.b.offset += 64; }));
    CHECK(red([](Entry&, Entry&, Entry& last) { last.d.offset += 64; }));
    CHECK(red([](Entry& terms, Entry&, Entry&) { terms.when = When::last_micro_batch; }));
    CHECK(red([](Entry&, Entry& gather, Entry&) { gather.when = When::last_micro_batch; }));
    CHECK(red([](Entry&, Entry& gather, Entry&) { gather.node = 0; }));
    CHECK(red([](Entry& terms, Entry& gather, Entry&) { std::swap(terms, gather); }));
    Program whole_only = original;
    whole_only.loss = {};
    CHECK(check_placements(whole_only).sentence().view() ==
          "[heddle.P04] the output of layer 6 '6' Linear<8, 48, NoBias> is Shard<1> along axis tensor and must be Replicate, but nothing beside it "
          "makes it so. Fix: convert it once, before anything reads it.");
  }
  Copy copy{training_of<Texts>()};
  for (Entry& entry : copy.entries)
    if (entry.what == BodyOp::gather_value && entry.node == 7) entry = Entry{};
  CHECK(
      check(copy.view()).sentence().view() ==
      "[heddle.P04] the loss takes the output of layer 6 '6' Linear<8, 48, NoBias>, which is Shard<1> along axis tensor, but the terms of all parts "
      "are not gathered just before it. Fix: let every rank make its terms and gather them once, before the loss.");
}

TEST_CASE("programs without axis tensor pass") {
  static_assert(check_placements(lower<Trained<Mlp, DataParallel<2>>>()).ok());
  CHECK(check_placements(Of<TensorParallel<2>>::evaluation).ok());
}

TEST_CASE("a gradient of which each rank has a term is reduced once, in its body and when its sum is closed") {
  Copy copy{training_of<Plan<Gained, MeanSquaredError, SGD, Batch<8>, TensorParallel<2>>>()};
  int reductions = 0;
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::reduce_parameter) continue;
    ++reductions;
    const Entry kept = entry;
    entry = Entry{};
    CHECK(check(copy.view()).words.view().find("times, not once") != std::string_view::npos);
    entry = kept;
    entry.axis = Axis::data;
    CHECK(check(copy.view()).code == Code{'P', 4});
    entry = kept;
  }
  CHECK(reductions == 1);
  CHECK(check(copy.view()).ok());
}
