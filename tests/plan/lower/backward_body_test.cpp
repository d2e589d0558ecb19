// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/backward_body.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/flatten.hpp"
#include "plan/plans.hpp"
#include "plan/symbols.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

std::string shortly(const Program& p, const IndexRange& body) {
  std::string all;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    if (entry.what == BodyOp::leaf_backward_input) all += 'i' + std::to_string(entry.node);
    if (entry.what == BodyOp::leaf_backward_weight) all += 'w' + std::to_string(entry.node);
    if (entry.what == BodyOp::leaf_backward) all += std::to_string(entry.node);
    if (entry.what == BodyOp::add) all += "add";
    if (entry.what == BodyOp::copy) all += "copy";
    if (entry.what == BodyOp::reduce_start) all += std::string{"+"} + static_cast<char>('a' + entry.bucket);
    all += ' ';
  }
  return all;
}
std::string shortly(const Program& p, int chunk) { return shortly(p, p.backward_bodies[chunk]); }

struct Deep : Sequential<Linear<8, 6>, Residual<Linear<6, 6>, Residual<Tanh, Residual<Linear<6, 6>>>>, Repeat<2, Block>, Linear<6, 3>> {};
struct Image : Sequential<Input<2, 4>, Flatten, Linear<8, 6>, Flatten, ReLU, Residual<Flatten, Tanh>, Linear<6, 3>> {};

}  // namespace

TEST_CASE("leaves run in reverse, and a bucket is reduced as soon as its lowest layer has run") {
  CHECK(shortly(training_of<Trained<Mnist, Single>>(), 0) == "2 1 0 ");
  CHECK(shortly(training_of<Trained<Mnist, DataParallel<2>>>(), 0) == "2 1 0 +a ");
  CHECK(shortly(training_of<Trained<Mnist, DataParallel<2>, Bucket<1_KiB>>>(), 0) == "2 +a 1 0 +b ");
  CHECK(shortly(training_of<Trained<Mnist, DataParallel<1>>>(), 0) == "2 1 0 ");
}

TEST_CASE("a reduction in a body is kept for the last micro-batch") {
  const Program& p = training_of<Trained<Chain, DataParallel<2>, Accumulate<2>>>();
  int starts = 0;
  for (int e = p.backward_bodies[0].begin; e < p.backward_bodies[0].end; ++e) {
    CHECK(p.entries[e].when == (p.entries[e].what == BodyOp::reduce_start ? When::last_micro_batch : When::always));
    starts += p.entries[e].what == BodyOp::reduce_start ? 1 : 0;
  }
  CHECK(starts == p.bucket_count);
}

TEST_CASE("the gradient of a skip is added, without a copy where one device holds both ends") {
  struct One : Sequential<Linear<8, 6>, Residual<Linear<6, 6>>, Linear<6, 3>> {};
  CHECK(shortly(training_of<Trained<One, Single>>(), 0) == "3 1 add 0 ");
}

TEST_CASE("every gradient is the sum of its terms, later readers first, whatever is in place") {
  follow(training_of<Trained<Chain, Single>>());
  follow(training_of<Trained<Skips, Single>>());
  follow(training_of<Trained<Deep, Single>>());
  follow(training_of<Trained<Image, Single>>());
  follow(training_of<Trained<Sequential<Linear<8, 6>, Residual<Residual<Residual<ReLU>>>, Linear<6, 3>>, Single>>());
}

TEST_CASE("a cut changes neither the terms of a gradient nor their order") {
  follow(training_of<Trained<Chain, Pipeline<Balanced<5>>>>());
  follow(training_of<Trained<Chain, Back>>());
  follow(training_of<Trained<Skips, Pipeline<Balanced<3>>>>());
  follow(training_of<Trained<Deep, Pipeline<Balanced<4>>>>());
  follow(training_of<Trained<Image, Pipeline<Balanced<4>>>>());
}

TEST_CASE("a stage that holds only the sum of a Residual takes both its values, also back on the first device") {
  using Inner = Residual<Linear<6, 6>>;  // the same leaves as the first two of the Residual around it
  struct Nested : Sequential<Linear<8, 6>, Residual<Inner>, Linear<6, 3>> {};
  using First = Sequential<Linear<8, 6>, Inner>;
  using Last = Sequential<Residual<>, Linear<6, 3>>;
  follow(training_of<Trained<Nested, Pipeline<Stage<First>, Stage<Last>>>>());
  follow(training_of<Trained<Nested, Pipeline<Stage<First>, Stage<Residual<>>, Stage<Linear<6, 3>, On<0>>>>>());
  follow(training_of<Trained<Nested, Pipeline<Stage<First, On<0>>, Stage<Last, On<0>>>>>());
}

template <class Model, int S> using Split = Trained<Model, Pipeline<Balanced<S>, ZeroBubbleH1, Microbatches<8>>>;

TEST_CASE("a split backward is two bodies: gradients of inputs, and of parameters with their reductions") {
  using P = Trained<Chain, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, DataParallel<2>>, Bucket<1_B>>;
  static_assert(P::training.splits_backward);
  std::string input, weight;
  for (int c = 1; c >= 0; --c) {
    input += shortly(P::training, P::training.backward_bodies[c]);
    weight += shortly(P::training, P::training.weight_bodies[c]);
  }
  CHECK(input == "i4 3 i2 1 ");  // the input of the model has no gradient
  CHECK(weight == "w4 +b w2 +c w0 +a ");
  const Program& whole = training_of<Trained<Chain, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>();
  for (int c = 0; c < 2; ++c) CHECK(whole.weight_bodies[c].count() == 0);
}

TEST_CASE("what a weight part reads is what the whole backward would have read, whatever shared its place") {
  follow(training_of<Split<Chain, 1>>());
  follow(training_of<Split<Chain, 3>>());
  follow(training_of<Split<Skips, 1>>());
  follow(training_of<Split<Skips, 3>>());
  follow(training_of<Split<Deep, 2>>());
  follow(training_of<Split<Deep, 4>>());
  follow(training_of<Split<Image, 1>>());
  follow(training_of<Split<Image, 3>>());
  follow(training_of<
         Split<Sequential<Linear<8, 6>, Residual<Linear<6, 6>, ReLU>, Residual<Residual<Linear<6, 6>>, ReLU, Linear<6, 6>>, Linear<6, 3>>, 2>>());
}

TEST_CASE("what is held between the parts is the gradients that weight parts read, each once") {
  struct One : Sequential<Linear<8, 6>, ReLU, Linear<6, 5>, Tanh, Linear<5, 3>> {};
  const Program& p = training_of<Split<One, 1>>();
  // Of Linear<6, 5> and Linear<8, 6>; that of the last layer is the gradient of the loss, in the frame.
  CHECK(p.pools[pool_of(0, PoolKind::gradient_reread)].slot_bytes == 4 * (p.grain_stride(5) + p.grain_stride(6)));
  CHECK(p.pools[pool_of(0, PoolKind::gradient_reread)].slots == 1);
  CHECK(training_of<Trained<One, Single>>().pools[pool_of(0, PoolKind::gradient_reread)].slot_bytes == 0);
}

TEST_CASE("stages interleaved over two devices keep the terms of every gradient and their order") {
  follow(training_of<Trained<Chain, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>());
  follow(training_of<Trained<Deep, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>());
  follow(training_of<Trained<Skips, Pipeline<Balanced<1>, Interleaved<3>, Microbatches<4>>>>());
}
