// SPDX-License-Identifier: MIT
#include "heddle/run/step_input.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<4, 4>, ReLU, Linear<4, 2>> {};
template <class P, class... Options> using Of = Plan<Small, CrossEntropy, SGD, Batch<48>, P, Options...>;
using Mixed = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<3>>, Grain<4>>;

}  // namespace

TEST_CASE("ranks, micro-batches and grains cover every row of the batch once, in order") {
  const Program& p = lower<Mixed>();
  std::vector<int> seen(48);
  std::int64_t next = 0;
  for (int replica = 0; replica < 3; ++replica)
    for (int m = 0; m < p.batch.total_micro_batches(); ++m)
      for (int g = 0; g < p.batch.grains(); ++g) {
        const std::int64_t first = first_row(p.batch, replica, m, g);
        CHECK(first == next);
        next = first + p.batch.grain_rows;
        for (std::int64_t r = first; r < next; ++r) ++seen[static_cast<std::size_t>(r)];
      }
  CHECK(std::vector<int>(48, 1) == seen);
}

TEST_CASE("a smaller batch is told apart from a loop whose batches are all smaller than the plan's") {
  struct Line : Sequential<Linear<2, 2>> {};
  const auto refusal = [](const Program& p, std::int64_t rows, std::int64_t steps) -> std::string {
    try {
      refuse_other_rows(p, rows, steps);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Program strict = Plan<Line, CrossEntropy, SGD, Batch<64>, Single>::training;
  const Program drops = Plan<Line, CrossEntropy, SGD, Batch<64, DropLast>, Single>::training;
  const std::string given = "[heddle.B05] a batch of 32 rows was given to a plan with Batch<64";
  const std::string all = "Fix: write data.batches<MyPlan>(), or Batch<32";
  CHECK(refusal(strict, 32, 0) == given + "> that names no remedy. " + all + "> in the plan.");
  CHECK(refusal(strict, 32, 7) == refusal(strict, 32, 0));
  CHECK(refusal(strict, 40, 7) ==
        "[heddle.B05] a batch of 40 rows was given to a plan with Batch<64> that names no remedy. Fix: name KeepLast, PadLast or DropLast in the "
        "Batch.");
  CHECK(refusal(drops, 32, 0) ==
        given + ", DropLast>, which leaves smaller batches out, and no step was made before. " + all + ", DropLast> in the plan.");
  CHECK(refusal(drops, 32, 1) == "");
  CHECK(refusal(strict, 64, 0) == "");
}

TEST_CASE("the stages of one replica share its rows: Hybrid<MP, DP> has model-parallel groups of consecutive ranks") {
  const Program& p = lower<Mixed>();
  for (int rank = 0; rank < 6; ++rank) CHECK(batch_position(p, Rank{rank}) == rank / 2);
  using Outside = Of<Hybrid<DataParallel<3>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>, Grain<4>>;
  for (int rank = 0; rank < 6; ++rank) CHECK(batch_position(lower<Outside>(), Rank{rank}) == rank % 3);
}

TEST_CASE("ranks of one stage share a group of the transport, ranks of different stages do not") {
  const Program& p = lower<Mixed>();
  for (int rank = 0; rank < 6; ++rank) CHECK(transport_group(p, Rank{rank}, axis::data) == rank % 2);
}

TEST_CASE("targets that count nothing are counted in the rows that take part, in their order, repeated where rows are") {
  const std::int32_t targets[] = {1, -100, -100, -100, 0, 1};  // of 3 rows
  const TargetCount counts = &CrossEntropyWith<Ignored<-100>>::counts;
  StepInput in;
  in.program = &lower<Mixed>();
  in.targets = targets;
  in.source_rows = in.rows = 3;
  count_left_out(in, 2, counts);
  CHECK(in.left_out == 3);
  CHECK(in.rows_of_loss(2) == 1.5);
  in.rows = 5;  // rows 0 and 1 again
  count_left_out(in, 2, counts);
  CHECK(in.left_out == 6);
  CHECK(in.rows_of_loss(2) == 2);
  const std::uint32_t order[] = {1, 1};
  in.order = order;
  in.source_rows = in.rows = 2;
  CHECK_THROWS_WITH_AS(
      count_left_out(in, 2, counts),
      "[heddle.D10] a batch of 2 rows has no target that the loss counts, so there is no mean of losses. Fix: leave such batches out.", Error);
  count_left_out(in, 2, nullptr);
  in.targets = nullptr;  // a prediction
  count_left_out(in, 2, counts);
  CHECK(in.source(1) == 1);
}

TEST_CASE("a rank whose batch leaves other targets out makes another call") {
  StepInput in;
  in.program = &lower<Mixed>();
  in.source_rows = in.rows = 3;
  const CallPledge all = pledge_of(in);
  in.left_out = 1;
  CHECK_FALSE(pledge_of(in) == all);
}
