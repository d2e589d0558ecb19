// SPDX-License-Identifier: MIT
#include "heddle/plan/read/ledger.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

using Spread = Plan<Mnist, CrossEntropy, Adam, Batch<64, KeepLast>, DataParallel<4>>;

static_assert(traffic<Spread>().gradients().on(axis::data).moved_per_rank() == 2 * 3 * Bytes{4 * 39'760} / 4);

namespace {

template <class P> void sums_over_ranks_agree() {
  constexpr Traffic moved = traffic<P>();
  Bytes to_peers;
  Bytes in_reductions;
  for (int r = 0; r < devices<P>; ++r) {
    to_peers += moved.sent_to_peers(Rank{r});
    in_reductions += moved.sent_in_reductions(Rank{r});
  }
  CHECK(to_peers == moved.activations().total_with_padding);
  Bytes reduced;
  for (const Axis a : batch_axes) reduced += moved.gradients().on(a).total_with_padding;
  CHECK(in_reductions == reduced);
  CHECK(moved.total() == moved.activations().total_payload + moved.gradients().on(axis::data).total_payload);
}

}  // namespace

TEST_CASE("DataParallel<N> moves 2 (N-1)/N gradient bytes per rank") {
  static_assert(traffic<Trained<Mnist, DataParallel<2>>>().gradients().on(axis::data).moved_per_rank() == 2 * Bytes{4 * 39'760} / 2);
  static_assert(traffic<Trained<Mnist, DataParallel<8>>>().gradients().on(axis::data).moved_per_rank() == 2 * 7 * Bytes{4 * 39'760} / 8);
  constexpr Volume four = traffic<Spread>().gradients().on(axis::data);
  static_assert(four.total_payload == 2 * 3 * Bytes{4 * 39'760});
  static_assert(four.messages == 4 * 2 * 3);  // one bucket
  CHECK(four.ranks == 4);
}

TEST_CASE("the padding of flat buffers is counted and said") {
  constexpr Volume moved = traffic<Spread>().gradients().on(axis::data);
  // linear1: (39200 + 50 -> 64) floats = 157,056 bytes; padded to units of 4096: 159,744. linear2: (500 -> 512) + (10 -> 16) = 2112 -> 4096.
  static_assert(moved.total_with_padding == 2 * 3 * Bytes{159'744 + 4'096});
  CHECK(moved.padding() == moved.total_with_padding - moved.total_payload);
}

TEST_CASE("buckets change messages and not bytes") {
  using Whole = Trained<Mnist, DataParallel<4>>;
  using Two = Trained<Mnist, DataParallel<4>, Bucket<1_KiB>>;
  constexpr Volume whole = traffic<Whole>().gradients().on(axis::data);
  constexpr Volume two = traffic<Two>().gradients().on(axis::data);
  static_assert(two.total_payload == whole.total_payload && two.total_with_padding == whole.total_with_padding);
  CHECK(two.messages == 2 * whole.messages);
}

TEST_CASE("one device moves nothing") {
  constexpr Traffic none = traffic<Trained<Mnist, Single>>();
  static_assert(none.total() == Bytes{0});
  static_assert(none.loss().total_payload == Bytes{0} && none.loss().messages == 0);
  CHECK(none.sent_to_peers(Rank{0}) == Bytes{0});
  CHECK(traffic<Trained<Mnist, DataParallel<1>>>().total() == Bytes{0});
}

TEST_CASE("a boundary of a pipeline moves b x features x 4 bytes there and back for each micro-batch") {
  constexpr int M = 4;
  constexpr int b = 16 / M;
  using P = Trained<Chain, Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, OneFOneB, Microbatches<M>>>;
  constexpr Volume moved = traffic<P>().activations();
  static_assert(moved.total_payload == Bytes{2 /*boundaries*/ * (b * 6 * 4) * M * 2 /*ways*/});
  static_assert(moved.messages == 2 * M * 2);
  static_assert(moved.total_with_padding == Bytes{2 * (32 * 4) * M * 2});  // 24 floats of a grain fill two lines of 16
  static_assert(traffic<P>().gradients().on(axis::data).total_payload == Bytes{0});
  CHECK(moved.moved_per_rank() == moved.total_payload / 3);
}

TEST_CASE("a boundary between two chunks of one device costs nothing") {
  constexpr Volume back = traffic<Trained<Chain, BackIn<GPipe, 4>>>().activations();
  constexpr Volume both_ways =
      traffic<Trained<Chain, Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<0>>, Stage<Part3, On<1>>, GPipe, Microbatches<4>>>>().activations();
  static_assert(back.messages == 2 * 4 * 2);
  CHECK(both_ways.messages == 1 * 4 * 2);
}

TEST_CASE("in a hybrid each replica has its boundary and each stage its reduction") {
  using P = Trained<Mnist, Hybrid<Pipeline<Stage<Sequential<Linear<784, 50>, ReLU>>, Stage<Linear<50, 10>>>, DataParallel<4>>>;
  constexpr Traffic moved = traffic<P>();
  static_assert(moved.activations().total_payload == Bytes{4 * (4 * 50 * 4) * 2});  // replicas x rows x features x 4 x ways
  static_assert(moved.gradients().on(axis::data).total_payload == 2 * 3 * Bytes{4 * 39'760});
  CHECK(moved.gradients().on(axis::stage).total_payload == Bytes{0});
}

TEST_CASE("what ranks send sums up to what the plan moves") {
  sums_over_ranks_agree<Spread>();
  sums_over_ranks_agree<Trained<Chain, DataParallel<3>, Bucket<1_B>>>();
  sums_over_ranks_agree<Trained<Chain, BackIn<OneFOneB, 4>>>();
  sums_over_ranks_agree<Trained<Skips, Hybrid<Pipeline<Balanced<3>, GPipe, Microbatches<4>>, DataParallel<2>>>>();
  sums_over_ranks_agree<Trained<Skips, Hybrid<DataParallel<2>, Pipeline<Balanced<3>, GPipe, Microbatches<4>>>>>();
}

TEST_CASE("a loss that is reported is one float over the axes that split the batch") {
  constexpr Volume loss = traffic<Spread>().loss();
  static_assert(loss.total_payload == 2 * 3 * Bytes{4});
  CHECK(loss.messages == 4 * 2 * 3);
}
