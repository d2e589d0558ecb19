// SPDX-License-Identifier: MIT
#include "heddle/run/executor.hpp"

#include <doctest/doctest.h>

#include <span>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct First : Sequential<Linear<6, 9>, Tanh> {};
struct Second : Sequential<Linear<9, 7>, GELU> {};
struct Third : Sequential<Linear<7, 5>> {};
struct Model : Sequential<First, Second, Third> {};

template <class... Parts> using Of = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Bucket<1_B>, Parts...>;
using Data = Of<DataParallel<4>>;
using Rounds = Of<DataParallel<2>, Accumulate<4>>;
using Filled = Of<Pipeline<Balanced<3>, GPipe, Microbatches<4>>>;
using Alternating = Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>;
using Interleaving = Of<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>;
using Splitting = Of<Hybrid<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>>;
using Back = Of<Pipeline<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>, Microbatches<2>>>;
using Product = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>, Accumulate<2>>;

struct Step {
  int instruction;
  int entry;
  int micro_batch;
  friend bool operator==(const Step&, const Step&) = default;
};

/// What a rank has to do by the lists and bodies of a Program: written here again, from the meaning of the Program alone.
std::vector<Step> expected(const Program& p, Rank rank, bool reporting) {
  std::vector<Step> steps;
  const IndexRange list = p.lists[p.mesh.coordinate(rank, Axis::stage)];
  for (int i = list.begin; i < list.end; ++i) {
    const Instruction& line = p.instructions[i];
    if (line.when == When::reporting && !reporting) continue;
    steps.push_back({i, -1, line.micro_batch});
    if (!computes(line.op)) continue;
    const IndexRange* const bodies = line.op == ListOp::forward           ? p.forward_bodies
                                     : line.op == ListOp::backward_weight ? p.weight_bodies
                                                                          : p.backward_bodies;
    const IndexRange body = bodies[line.chunk];
    for (int e = body.begin; e < body.end; ++e) {
      if (p.entries[e].when == When::reporting && !reporting) continue;
      if (p.entries[e].when == When::last_micro_batch && line.micro_batch + 1 != p.batch.total_micro_batches()) continue;
      steps.push_back({i, e, line.micro_batch});
    }
  }
  return steps;
}

struct Trace : Observer {
  explicit Trace(int ranks) : by_rank(static_cast<std::size_t>(ranks)) {}
  void started(const Observation& seen) override {
    by_rank[static_cast<std::size_t>(seen.rank.value)].push_back({seen.instruction, seen.entry, seen.micro_batch});
  }
  std::vector<std::vector<Step>> by_rank;
};

template <class Plan> struct Data32 {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  Data32() {
    for (int i = 0; i < 32; ++i) {
      for (int j = 0; j < 6; ++j) inputs.push_back(static_cast<float>((37 * i + 101 * j + i * j) % 127) / 128.0F);
      labels.push_back((7 * i + 3) % 5);
    }
  }
  [[nodiscard]] auto batch(std::int64_t rows) const {
    return examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 6).slice(0, rows);
  }
};

template <class Plan> void check_trace(std::int64_t rows) {
  const Data32<Plan> data;
  Trainer<Plan, CpuThreads> trainer{{}, Seed{1}};
  trainer.on_step([](const StepResult&) {}, Every{2});
  for (int step = 1; step <= 2; ++step) {
    Trace trace{devices<Plan>};
    trainer.observe(&trace);
    trainer.step(data.batch(rows));
    for (int rank = 0; rank < devices<Plan>; ++rank) {
      CAPTURE(rank);
      CAPTURE(step);
      CHECK((trace.by_rank[static_cast<std::size_t>(rank)] == expected(Plan::training, Rank{rank}, step == 2)));
    }
  }
  Trace trace{devices<Plan>};
  trainer.observe(&trace);
  (void)trainer.evaluate(data.batch(rows));
  for (int rank = 0; rank < devices<Plan>; ++rank)
    CHECK((trace.by_rank[static_cast<std::size_t>(rank)] == expected(Plan::evaluation, Rank{rank}, true)));
}

/// An endpoint that only writes down what it is asked for.
struct Call {
  ListOp op;
  int to;  // peer or group
  std::int64_t elements;
  friend bool operator==(const Call&, const Call&) = default;
};
struct Notebook {
  std::vector<Call> calls;
  std::vector<const float*> addresses;

  std::int64_t start(ListOp op, int to, const float* data, std::int64_t elements) {
    calls.push_back({op, to, elements});
    addresses.push_back(data);
    return 100 + static_cast<std::int64_t>(calls.size());
  }
  std::int64_t send_start(int peer, const float* source, std::int64_t n) { return start(ListOp::send_start, peer, source, n); }
  std::int64_t receive_start(int peer, float* target, std::int64_t n) { return start(ListOp::receive_start, peer, target, n); }
  std::int64_t all_reduce_start(int group, float* target, std::int64_t n, SumOrder = SumOrder::tree) {
    return start(ListOp::reduce_start, group, target, n);
  }
  void wait(ListOp op, int to, std::int64_t k) {
    const auto at = static_cast<std::size_t>(k - 101);
    REQUIRE(at < calls.size());
    CHECK((calls[at].op == op));  // the number is that of a start of this kind to this peer
    CHECK(calls[at].to == to);
    calls.push_back({op == ListOp::send_start      ? ListOp::send_wait
                     : op == ListOp::receive_start ? ListOp::receive_wait
                                                   : ListOp::reduce_wait,
                     to, calls[at].elements});
    addresses.push_back(addresses[at]);
  }
  void send_wait(int peer, std::int64_t k) { wait(ListOp::send_start, peer, k); }
  void receive_wait(int peer, std::int64_t k) { wait(ListOp::receive_start, peer, k); }
  void all_reduce_wait(int group, std::int64_t k) { wait(ListOp::reduce_start, group, k); }
  std::int64_t reduce_scatter_start(int group, const float*, float*, std::int64_t, SumOrder = SumOrder::tree) { return refuse(group); }
  void reduce_scatter_wait(int group, std::int64_t) { refuse(group); }
  std::int64_t all_gather_start(int group, const float*, float*, std::int64_t) { return refuse(group); }
  void all_gather_wait(int group, std::int64_t) { refuse(group); }
  [[nodiscard]] static bool passable(const Ticket&) { return true; }
  static std::int64_t refuse(int group) {
    FAIL("no list asks for slices in group ", group);
    return -1;
  }
};

/// The calls that the Program asks of one rank.
std::vector<Call> expected_calls(const Program& p, Rank rank, bool reporting) {
  std::vector<Call> calls;
  const RankGroups groups{p, p, rank};
  const auto reduction = [&](ListOp op, int bucket, Axis axis) {
    calls.push_back({op, groups[axis], bucket < 0 ? 1 : p.buckets[bucket].elements});  // the loss
  };
  for (const Step& step : expected(p, rank, reporting)) {
    if (step.entry >= 0) {
      const Entry& entry = p.entries[step.entry];
      if (entry.what == BodyOp::reduce_start) reduction(ListOp::reduce_start, entry.bucket, entry.axis);
      continue;
    }
    const Instruction& line = p.instructions[step.instruction];
    if (line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait) reduction(line.op, line.bucket, line.axis);
    if (line.transfer >= 0) calls.push_back({line.op, p.mesh.moved(rank, Axis::stage, line.peer).value, p.transfers[line.transfer].elements});
  }
  return calls;
}

template <class Plan> void check_calls() {
  using Request = typename Plan::Request;
  const KernelTable kernels = kernel_table<typename Request::Model, typename Request::Loss, typename Request::Optimizer, EigenCompute>();
  const Data32<Plan> data;
  const auto batch = data.batch(32);
  const auto constants = Request::Optimizer::constants({}, 1);
  for (int rank = 0; rank < devices<Plan>; ++rank) {
    CAPTURE(rank);
    Notebook notebook;
    Executor<Notebook> executor{Plan::training, Plan::evaluation, kernels, Rank{rank}, notebook};
    executor.run(StepInput{&Plan::training, batch.inputs, batch.targets, nullptr, 32, 32, 1, true, &constants, nullptr, nullptr});
    CHECK((notebook.calls == expected_calls(Plan::training, Rank{rank}, true)));
    const auto* const begin = reinterpret_cast<const float*>(executor.arena().bytes(0));
    for (std::size_t i = 0; i < notebook.calls.size(); ++i) {
      CHECK(notebook.addresses[i] >= begin);
      CHECK(notebook.addresses[i] + notebook.calls[i].elements <= begin + executor.arena().size().value / 4);
    }
    CHECK(executor.stepped());
  }
}

}  // namespace

TEST_CASE("what runs is the Program, entry by entry, on every rank, with and without a report, and in evaluation") {
  check_trace<Of<Single>>(32);
  check_trace<Data>(32);
  check_trace<Rounds>(32);
  check_trace<Filled>(32);
  check_trace<Alternating>(32);
  check_trace<Back>(32);
  check_trace<Interleaving>(32);
  check_trace<Splitting>(32);
  check_trace<Product>(32);
}

TEST_CASE("ranks without rows run every instruction all the same") {
  check_trace<Data>(1);
  check_trace<Product>(3);
  check_trace<Splitting>(3);
}

TEST_CASE("an endpoint is asked for exactly the transfers and reductions of the Program, inside the arena") {
  check_calls<Data>();
  check_calls<Rounds>();
  check_calls<Filled>();
  check_calls<Alternating>();
  check_calls<Back>();
  check_calls<Interleaving>();
  check_calls<Splitting>();
  check_calls<Product>();
}

TEST_CASE("rows are divided in one order: replica, micro-batch, grain") {
  const BatchDivision& batch = Product::training.batch;  // 32 rows, 2 replicas, 8 micro-batches, 1 grain of 2 rows
  CHECK(first_row(batch, 0, 0, 0) == 0);
  CHECK(first_row(batch, 0, 1, 0) == 2);
  CHECK(first_row(batch, 1, 0, 0) == 16);
  CHECK(first_row(batch, 1, 7, 0) == 30);
  CHECK(batch_position(Product::training, Rank{0}) == 0);
  CHECK(batch_position(Product::training, Rank{1}) == 0);  // the other stage of the same replica
  CHECK(batch_position(Product::training, Rank{2}) == 1);
}
