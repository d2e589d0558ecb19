// SPDX-License-Identifier: MIT
#include "equivalence/lost_ranks.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Grain<2>, Bucket<1_KiB>, Parts...>;

/// Some failures leave all parameters as they were, others do not.
template <class Plan> void fail_everywhere(bool after) {
  Failures<Plan> failures;
  failures.every_place(after);
  CHECK(failures.went_on() > 0);
  CHECK(failures.refused() > 0);
}

}  // namespace

TEST_CASE("two replicas: a rank that throws at any place is named, and nobody hangs") { fail_everywhere<Of<DataParallel<2>>>(false); }

TEST_CASE("three stages under 1F1B: a rank that throws at any place is named, and nobody hangs") {
  fail_everywhere<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>(false);
}

TEST_CASE("two stages times two replicas: a rank that throws at any place is named, and nobody hangs") {
  fail_everywhere<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>>(false);
}

TEST_CASE("the same holds for a rank that throws right after what it did") {
  fail_everywhere<Of<DataParallel<2>>>(true);
  fail_everywhere<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>>(true);
}

TEST_CASE("an evaluation that loses a rank names it, and the trainer goes on") {
  using Piped = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  const auto rows = rows_of<Piped>(64);
  Sound<Piped> trainer{settings<Adam>(), Seed{5}, patience};
  Thrower thrower;
  thrower.rank = 1;
  thrower.at = {Piped::evaluation.lists[1].begin, -1};
  trainer.observe(&thrower);
  CHECK_THROWS_AS((void)trainer.evaluate(rows.batch(0, 16)), RankLost);
  trainer.observe(nullptr);
  Sound<Piped> untouched{settings<Adam>(), Seed{5}};
  CHECK(equal_bits(trainer.evaluate(rows.batch(0, 16)).outputs, untouched.evaluate(rows.batch(0, 16)).outputs));
  trainer.step(rows.batch(0, 16));
  untouched.step(rows.batch(0, 16));
  CHECK(trainer.parameter_hash() == untouched.parameter_hash());
}
