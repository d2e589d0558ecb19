// SPDX-License-Identifier: MIT
// What lies where, what passes between devices and in which order: deadlocks, lost layers, edges that cross cuts.
#include <algorithm>

#include "anchors/anchors.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/read/program_hash.hpp"

using namespace anchors;

namespace {

constexpr auto no_entry = [](const Entry&) { return false; };
constexpr auto receives = [](const Instruction& line) { return line.op == ListOp::receive_start || line.op == ListOp::receive_wait; };

/// Values and gradients that pass from one device straight to another.
template <class ThePlan> int transfers(int from, int to) {
  int n = 0;
  for (int t = 0; t < ThePlan::training.transfer_count; ++t)
    n += ThePlan::training.transfers[t].from_role == from && ThePlan::training.transfers[t].to_role == to ? 1 : 0;
  return n;
}

struct Ten : Repeat<10, Linear<16, 16>> {};
struct Thirty : Repeat<30, Linear<16, 16>> {};
template <class TheModel, class... Stages> using Cut = Plan<TheModel, CrossEntropy, Adam, Batch<64>, Pipeline<Stages...>>;

using Join = Sequential<Residual<Outer>, Last>;
using Back = Pipeline<Stage<First, On<0>>, Stage<Residual<Inner, Outer>, On<1>>, Stage<Last, On<0>>, OneFOneB, Microbatches<4>>;
using ZeroBubble = Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>;
using Forward = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;

}  // namespace

TEST_CASE("pytorch #172668, PR #178815, #109401: a send that blocks until its receive is there: the lists are refused with the ranks that wait") {
  HandWrittenLists lists{2};  // rank 0 [0SEND_F1, 2RECV_F0], rank 1 [1SEND_F0, 1RECV_F1]
  for (const int rank : {0, 1}) {
    lists.send(rank, 1 - rank, 8);
    lists.receive(rank, 1 - rank, 8);
  }
  CHECK(code_of(check(lists)) == "S03");
  CHECK(says(check(lists), "rank 0 [line 1 send to 1] -> rank 1 [line 1 send to 0] -> rank 0."));
  CHECK(check(lower<Of<Forward>>(), Lanes::one_per_device).ok());
  trains_as_one_device<Of<Forward>>();
}

TEST_CASE("nccl #479, #783, #784: rings in which everyone sends first, and starts that cross on the stream of a pair, are refused") {
  HandWrittenLists ring{4};
  for (int rank = 0; rank < 4; ++rank) {
    ring.send(rank, (rank + 1) % 4, 8);
    ring.receive(rank, (rank + 3) % 4, 8);
  }
  CHECK(code_of(check(ring)) == "S03");
  HandWrittenLists crossing{2};
  for (const int rank : {0, 1}) {
    const int sent = crossing.send_start(rank, 1 - rank, 8);
    const int received = crossing.receive_start(rank, 1 - rank, 8);
    crossing.wait(rank, sent);
    crossing.wait(rank, received);
  }
  CHECK(check(crossing, Lanes::free).ok());
  CHECK(code_of(check(crossing, Lanes::per_communicator)) == "S03");
}

TEST_CASE("Megatron-LM PR #5240: a send that is waited for after the next one, with no receive between, is refused") {
  HandWrittenLists lists{2};
  for (const int rank : {0, 1}) {
    const int first = lists.send_start(rank, 1 - rank, 8);
    const int second = lists.send_start(rank, 1 - rank, 8);
    lists.wait(rank, first);
    lists.receive(rank, 1 - rank, 8);
    lists.wait(rank, second);
    lists.receive(rank, 1 - rank, 8);
  }
  CHECK(code_of(check(lists)) == "S03");
}

TEST_CASE("pytorch #118369, #68803, #64629, DeepSpeed PR #7525: ranks cannot call other collectives: they run one program, with rows or without") {
  // One list a role, however many ranks; steps of a single row leave seven of eight ranks without one, and all of them come to their end.
  using Spread = Of<Hybrid<Sharded<4>, DataParallel<2>>>;
  static_assert(Spread::training.roles == 1 && devices<Spread> == 8);
  trains_as_one_device<Spread>();
  CHECK(program_hash(lower<Spread>()) != program_hash(lower<Of<Hybrid<DataParallel<2>, Sharded<4>>>>()));  // what processes compare at start: R03
}

TEST_CASE("pytorch PR #126732, #136363, DeepSpeed #5696, ColossalAI #5940, torchtitan #1492: stages that do not fit are refused where they meet") {
  struct Apart : Sequential<Linear<784, 50>, ReLU, Linear<40, 10>> {};
  using Broken = Cut<Apart, Stage<Sequential<Linear<784, 50>, ReLU>>, Stage<Linear<40, 10>>>;
  CHECK(refused<Broken>() == "G01");
  CHECK(says(check<Broken>(), "takes 40 features but the value before it has 50"));
}

TEST_CASE("pytorch #127964, PR #179279, DeepSpeed #2435, DeepSpeedExamples #932: a skip connection past a stage goes straight to its reader") {
  using Skipping = Of<Pipeline<Stage<First>, Stage<Inner>, Stage<Join>, OneFOneB, Microbatches<4>>>;
  CHECK(refused<Skipping>().empty());
  CHECK(transfers<Skipping>(0, 2) == 1);
  CHECK(transfers<Skipping>(2, 0) == 1);  // its gradient
  CHECK(Skipping::training.transfer_count == 6);
  CHECK(refused_without(lower<Skipping>(), receives, no_entry) == 2 * 6 * 4);
  trains_as_one_device<Skipping>();
}

TEST_CASE("pytorch #128665: a stage that goes back to an earlier device receives from where its input is made") {
  static_assert(devices<Of<Back>> == 2 && Of<Back>::training.chunks == 3);
  CHECK(transfers<Of<Back>>(1, 0) == 2);  // the input of the third stage, the gradient of the first one's output
  CHECK(transfers<Of<Back>>(0, 1) == 2);
  trains_as_one_device<Of<Back>>();
}

TEST_CASE("Megatron-LM #1304, mlx-lm #1688: every layer is in one stage: 30 over four, 10 over three") {
  using Seven = Repeat<7, Linear<16, 16>>;
  using Three = Repeat<3, Linear<16, 16>>;
  CHECK(refused<Cut<Thirty, Stage<Seven>, Stage<Seven>, Stage<Seven>, Stage<Seven>>>() == "S01");
  CHECK(refused<Cut<Ten, Stage<Three>, Stage<Three>, Stage<Three>>>() == "S01");
  CHECK(says(check<Cut<Ten, Stage<Three>, Stage<Three>, Stage<Three>>>(), "the 3 stages hold 9 of 10 layers"));
  using Whole = Plan<Thirty, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>>;
  CHECK(Whole::training.first_node[4] == 30);
  const auto forwards = [](const Entry& entry) { return entry.what == BodyOp::leaf_forward; };
  CHECK(entries_where(Whole::training, forwards) == 30);
}

TEST_CASE("pytorch #51931, PiPPy #32, Megatron-LM #844, piper #13, torchtitan PR #4486: owners of tied weights reduce, then add up, then step") {
  struct Tying : Sequential<Named<"table", Outer>, GELU, Tied<"head", Outer, To<"table">>> {};
  using Ends = Pipeline<Stage<Sequential<Named<"table", Outer>, GELU>>, Stage<Tied<"head", Outer, To<"table">>>, OneFOneB, Microbatches<4>>;
  using Mix = Plan<Tying, CrossEntropy, Adam, Batch<rows, KeepLast>, Grain<grain>, Hybrid<Ends, Sharded<2, OptimizerState>, DataParallel<2>>>;
  const Program& p = lower<Mix>();
  const auto ties = [&](const Instruction& line) { return line.op == ListOp::tie || (line.transfer >= 0 && p.transfers[line.transfer].use >= 0); };
  CHECK(refused_without(p, ties, no_entry) == 2 * (2 * 2 + 1));  // a slice each way, start and wait at both ends; each owner adds up
  tests::Copy copy{p};
  auto& list = copy.lists[0];
  const auto step = std::find_if(list.begin(), list.end(), [](const Instruction& line) { return line.op == ListOp::step; });
  std::rotate(std::find_if(list.begin(), step, [](const Instruction& line) { return line.op == ListOp::tie; }), step, step + 1);
  CHECK(code_of(check(copy.view())) == "S09");  // the failure: a step before the owners have added up
}

TEST_CASE(
    "pytorch #43259, #68862, #72434, KERMT #23: there is no parameter that a step leaves out: each is in the value's path, one bucket and one step") {
  using Spread = Of<Hybrid<Forward, DataParallel<2>>>;
  std::int64_t held = 0;
  for (int b = 0; b < Spread::training.bucket_count; ++b) held += Spread::training.buckets[b].payload;
  CHECK(held == parameters<Model>);
  int with_parameters = 0;
  for (int n = 0; n < graph_of<Model>.node_count; ++n) with_parameters += graph_of<Model>.nodes[n].parameter_count > 0 ? 1 : 0;
  CHECK(entries_where(Spread::training, [](const Entry& entry) {
          return entry.what == BodyOp::leaf_backward && graph_of<Model>.nodes[entry.node].parameter_count > 0;
        }) == with_parameters);
  const auto steps = [](const Instruction& line) { return line.op == ListOp::step; };
  CHECK(refused_without(lower<Spread>(), steps, no_entry) == Spread::training.bucket_count);
  static const equivalence::Work work = equivalence::work_of<Model, CrossEntropy, Adam>(3 * rows, 1);
  equivalence::AnyTrainer trainer{any_plan<Spread>(), work};
  const auto before = trainer.parameters(0);
  trainer.step(0, rows);
  for (std::size_t p = 0; p < before.size(); ++p) CHECK_FALSE(equivalence::equal_bits(trainer.parameters(0)[p], before[p]));
}

TEST_CASE("EasyEdit #516, PC-DARTS #57, xtuner #399: a value is used where it is: without any one of its transfers a program is refused") {
  const auto moves = [](const Instruction& line) { return line.op >= ListOp::send_start && line.op <= ListOp::receive_wait; };
  CHECK(refused_without(lower<Of<Back>>(), moves, no_entry) == 4 * 4 * 4);  // transfers x micro-batches x starts and waits of both sides
}

TEST_CASE("DeepSpeed #1629, #823, #568, #4164: ZeRO-2 and ZeRO-3 work inside a pipeline; what has no meaning is refused with its reason") {
  trains_as_one_device<Of<Hybrid<Forward, Sharded<2, Gradients>>>>();
  trains_as_one_device<Of<Hybrid<Forward, Sharded<2, Parameters>>>>();
  trains_as_one_device<Of<Hybrid<ZeroBubble, Sharded<2, OptimizerState>>>>();
  trains_as_one_device<Of<Hybrid<ZeroBubble, Sharded<2, Parameters>>>>();
  using Twice = Of<Hybrid<Forward, Sharded<2>, Sharded<2, OptimizerState>>>;
  CHECK(refused<Twice>() == "M01");
  CHECK(says(check<Twice>(), "axis shard is claimed twice"));
}
