// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/lower.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

bool same(const Instruction& a, const Instruction& b) {
  return a.op == b.op && a.when == b.when && a.axis == b.axis && a.chunk == b.chunk && a.micro_batch == b.micro_batch && a.transfer == b.transfer &&
         a.peer == b.peer && a.bucket == b.bucket && a.token == b.token && a.sequence == b.sequence;
}

void same_lists(const Program& a, const Program& b) {
  REQUIRE(a.roles == b.roles);
  for (int r = 0; r < a.roles; ++r) {
    REQUIRE(a.lists[r].count() == b.lists[r].count());
    for (int i = 0; i < a.lists[r].count(); ++i) CHECK(same(a.instructions[a.lists[r].begin + i], b.instructions[b.lists[r].begin + i]));
    CHECK(a.arenas[r].total == b.arenas[r].total);
  }
}

using Pipe = Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>;

}  // namespace

TEST_CASE("a program is a constant: its shape can be asked for at build") {
  constexpr const Program& p = Trained<Chain, Pipe>::training;
  static_assert(p.roles == 3 && p.chunks == 3 && p.training);
  static_assert(p.transfer_count == 2 * 2);
  static_assert(p.batch.total_micro_batches() == 4);
  static_assert(p.bucket_count == 3);  // at least one a role
  static_assert(p.loss_role() == 2);
  CHECK(p.graph->model.view() == "Chain");
}

TEST_CASE("training and evaluation share parameters, buckets and arenas, and differ in lists") {
  using P = Trained<Chain, Pipe>;
  CHECK(P::evaluation.parameters == P::training.parameters);
  CHECK(P::evaluation.arenas == P::training.arenas);
  CHECK_FALSE(P::evaluation.training);
  CHECK(P::evaluation.transfer_count == 2);  // values, no gradients
  CHECK(evaluation_of<P>().lists[0].count() < training_of<P>().lists[0].count());
  for (int r = 0; r < 3; ++r)
    for (int i = evaluation_of<P>().lists[r].begin; i < evaluation_of<P>().lists[r].end; ++i) {
      CHECK((!computes(evaluation_of<P>().instructions[i].op) || evaluation_of<P>().instructions[i].op == ListOp::forward));
      CHECK(evaluation_of<P>().instructions[i].op != ListOp::step);
    }
}

TEST_CASE("the order in which a plan names its parts changes nothing") {
  same_lists(training_of<Plan<Chain, CrossEntropy, Adam, Batch<16>, Pipe>>(), training_of<Plan<Pipe, Batch<16>, Adam, CrossEntropy, Chain>>());
}

TEST_CASE("replicas run the same lists as one device but for their reductions") {
  const Program& one = training_of<Trained<Chain, Pipe>>();
  const Program& many = training_of<Trained<Chain, Hybrid<Pipe, DataParallel<2>>>>();
  for (int r = 0; r < 3; ++r) {
    int i = one.lists[r].begin;
    for (int k = many.lists[r].begin; k < many.lists[r].end; ++k) {
      if (many.instructions[k].op == ListOp::reduce_start || many.instructions[k].op == ListOp::reduce_wait) continue;
      REQUIRE(i < one.lists[r].end);
      CHECK(same(one.instructions[i++], many.instructions[k]));
    }
    CHECK(i == one.lists[r].end);
  }
}

TEST_CASE("the nesting of a Hybrid changes ranks and no list") {
  same_lists(training_of<Trained<Chain, Hybrid<Pipe, DataParallel<2>>>>(), training_of<Trained<Chain, Hybrid<DataParallel<2>, Pipe>>>());
}

TEST_CASE("a plan for 16,384 devices has the lists of one for two replicas") {
  using Wide = Plan<Chain, CrossEntropy, Adam, Batch<32768>, Hybrid<Pipeline<Balanced<4>>, DataParallel<4096>>>;
  using Narrow = Plan<Chain, CrossEntropy, Adam, Batch<16>, Hybrid<Pipeline<Balanced<4>>, DataParallel<2>>>;
  static_assert(devices<Wide> == 16'384);
  same_lists(Wide::training, Narrow::training);
}

TEST_CASE("an optimizer without states leaves out their memory and nothing else") {
  using WithAdam = Plan<Chain, CrossEntropy, Adam, Batch<16>, Single>;
  using WithSGD = Plan<Chain, CrossEntropy, SGD, Batch<16>, Single>;
  same_lists(WithSGD::training, Plan<Chain, CrossEntropy, SGD, Single, Batch<16>>::training);
  CHECK(peak_memory<WithAdam>() - peak_memory<WithSGD>() == 8 * Bytes{training_of<WithAdam>().arenas[0].flat_elements()});
}
