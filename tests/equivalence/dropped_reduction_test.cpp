// SPDX-License-Identifier: MIT
#include <chrono>
#include <memory>

#include "equivalence/equal.hpp"
#include "heddle/plan/check/check.hpp"

using namespace equivalence;

// What the equality of bits is worth: a Program without one of its reductions, run by the same executor, must come out different.
namespace {

/// A Program whose lists and bodies can be changed.
class Mutant {
 public:
  explicit Mutant(const Program& original) : program(original) {}

  /// The copy without one reduction: its starts and waits, in lists and in bodies. Of bucket -1 is that of the loss.
  static Mutant without(const Program& original, int bucket, Axis axis) {
    Mutant m{original};
    for (int role = 0; role < original.roles; ++role) {
      const int begin = static_cast<int>(m.instructions_.size());
      for (int i = original.lists[role].begin; i < original.lists[role].end; ++i) {
        const Instruction& line = original.instructions[i];
        const bool reduces = line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait;
        const bool wanted = bucket >= 0 ? line.bucket == bucket : original.moves(line, Purpose::loss);
        if (reduces && wanted && line.axis == axis)
          ++m.dropped;
        else
          m.instructions_.push_back(line);
      }
      m.lists_.push_back({begin, static_cast<int>(m.instructions_.size())});
    }
    for (int c = 0; c < original.chunks; ++c) {
      m.forward_.push_back(m.copy(original.forward_bodies[c], bucket, axis));
      m.backward_.push_back(m.copy(original.backward_bodies[c], bucket, axis));
    }
    return m;
  }
  [[nodiscard]] Program view() const {
    if (lists_.empty()) return program;
    Program p = program;
    p.instructions = instructions_.data();
    p.lists = lists_.data();
    p.entries = entries_.data();
    p.forward_bodies = forward_.data();
    p.backward_bodies = backward_.data();
    return p;
  }

  Program program;
  int dropped = 0;

 private:
  IndexRange copy(const IndexRange& body, int bucket, Axis axis) {
    const int begin = static_cast<int>(entries_.size());
    for (int e = body.begin; e < body.end; ++e) {
      const Entry& entry = program.entries[e];
      if ((entry.what == BodyOp::reduce_start || entry.what == BodyOp::reduce_wait) && entry.bucket == bucket && entry.axis == axis)
        ++dropped;
      else
        entries_.push_back(entry);
    }
    return {begin, static_cast<int>(entries_.size())};
  }

  std::vector<Instruction> instructions_;
  std::vector<IndexRange> lists_;
  std::vector<Entry> entries_;
  std::vector<IndexRange> forward_;
  std::vector<IndexRange> backward_;
};

/// Parameters and losses of some steps of a Program, run by executors without a trainer.
struct Outcome {
  std::vector<std::vector<float>> flat;  // by rank
  std::vector<float> losses;
};

template <class Plan> Outcome execute(const Program& training) {
  using Request = typename Plan::Request;
  using RankExecutor = Executor<ThreadSession::Endpoint>;
  const Program& evaluation = Plan::evaluation;
  const KernelTable kernels = kernel_table<typename Request::Model, typename Request::Loss, typename Request::Optimizer, EigenCompute>();
  ThreadSession session{transport_needs(training, evaluation), std::chrono::seconds{60}};
  std::vector<std::unique_ptr<RankExecutor>> executors(static_cast<std::size_t>(devices<Plan>));
  session.run([&](int rank) {
    executors[static_cast<std::size_t>(rank)] =
        std::make_unique<RankExecutor>(training, evaluation, kernels, Rank{rank}, session.endpoint(Rank{rank}));
  });
  for (auto& executor : executors)
    for (int p = 0; p < Request::graph.parameter_count; ++p)
      if (const ParameterPlace& place = training.parameters[p]; place.role == executor->role())
        initialize(Request::graph.leaf(place.node).parameters[place.index], Seed{5}, p, executor->held_parameter(p).values);

  const auto rows = rows_of<Plan>(2 * training.batch.batch);
  const auto options = settings<typename Request::Optimizer>();
  Outcome out;
  for (int step = 1; step <= 3; ++step) {
    const auto batch = rows.batch(step, training.batch.batch);
    const auto constants = Request::Optimizer::constants(options, step);
    StepInput input{&training, batch.inputs, batch.targets, nullptr, batch.rows, batch.rows, step, true, &constants, nullptr, nullptr};
    session.run([&](int rank) { executors[static_cast<std::size_t>(rank)]->run(input); });
    session.rethrow_first();
    out.losses.push_back(executors[static_cast<std::size_t>(training.mesh.moved(Rank{0}, Axis::stage, training.loss_role()).value)]->loss_sum());
  }
  for (auto& executor : executors) {
    const float* const begin = executor->arena().floats(training.arenas[executor->role()][RegionKind::parameters].begin, 0);
    out.flat.emplace_back(begin, begin + training.arenas[executor->role()].flat_elements());
  }
  return out;
}

/// A parameter as a rank of its role holds it; the trainer of one device says what it should be.
template <class Plan, class Alone> bool equals_one_device(const Outcome& outcome) {
  const Outcome wanted = execute<Alone>(Alone::training);
  bool same = true;
  for (int rank = 0; rank < devices<Plan>; ++rank)
    for (int p = 0; p < Plan::Request::graph.parameter_count; ++p) {
      const ParameterPlace& here = Plan::training.parameters[p];
      if (here.role != Plan::training.mesh.coordinate(Rank{rank}, Axis::stage)) continue;
      same = same && std::memcmp(outcome.flat[static_cast<std::size_t>(rank)].data() + here.begin,
                                 wanted.flat[0].data() + Alone::training.parameters[p].begin, static_cast<std::size_t>(here.elements) * 4) == 0;
    }
  return same;
}

template <class Policy> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<32>, Grain<4>, Bucket<1_KiB>, Policy>;
using Alone = Of<Single>;

template <class Plan> void drop_each(Axis axis = Axis::data) {
  CHECK(equals_one_device<Plan, Alone>(execute<Plan>(Plan::training)));  // the driver is right: what follows differs for one reason only
  static_assert(Plan::training.bucket_count == 2);
  for (int bucket = 0; bucket < Plan::training.bucket_count; ++bucket) {
    CAPTURE(bucket);
    const Mutant mutant = Mutant::without(Plan::training, bucket, axis);
    const Program program = mutant.view();
    REQUIRE(mutant.dropped == 2);
    CHECK_FALSE(equals_one_device<Plan, Alone>(execute<Plan>(program)));
    const Diagnosis refused = check(program);  // and no such Program passes the checks
    CHECK((refused.code == Code{'S', 6}));
  }
}

template <class Plan> void drop_the_loss() {
  const Mutant mutant = Mutant::without(Plan::training, -1, Axis::data);
  REQUIRE(mutant.dropped == 2);
  const Outcome outcome = execute<Plan>(mutant.view());
  CHECK(equals_one_device<Plan, Alone>(outcome));
  CHECK_FALSE(equal_bits(outcome.losses, execute<Alone>(Alone::training).losses));
  CHECK(equal_bits(execute<Plan>(Plan::training).losses, execute<Alone>(Alone::training).losses));
}

}  // namespace

TEST_CASE("replicas without the reduction of any one bucket do not have the bits of one device") {
  drop_each<Of<DataParallel<2>>>();
  drop_each<Of<DataParallel<4>>>();
}

TEST_CASE("stages times replicas without the reduction of any one bucket do not have the bits of one device") {
  drop_each<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>>();
  drop_each<Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, GPipe, Microbatches<4>>>>>();
}

TEST_CASE("slices without the reduction of any one bucket, along either axis, do not have the bits of one device") {
  drop_each<Of<Sharded<2, OptimizerState>>>(Axis::shard);
  drop_each<Of<Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>>(Axis::data);
  using Rings = Of<Hybrid<Sharded<4, Gradients>, DataParallel<2>>>;
  static_assert(Rings::training.storage.gradients);
  drop_each<Rings>(Axis::shard);
  drop_each<Rings>(Axis::data);
}

TEST_CASE("without the reduction of the loss the loss is not that of one device, while the parameters are") {
  drop_the_loss<Of<DataParallel<2>>>();
  drop_the_loss<Of<Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>>();
}
