// SPDX-License-Identifier: MIT
#include "heddle/backend/cpu_mpi.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "transport/mpi_ranks.hpp"

using namespace equivalence;
using heddle::tests::FirstRanks;
using heddle::tests::sum_over_all;

// Runs with four processes; a plan of fewer ranks takes the first.
namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<4>, Bucket<1_KiB>, Parts...>;
using Alone = Of<Single>;

/// What every process has when the trainer has done everything that a trainer does.
template <class ThePlan, class Backend> [[nodiscard]] Run everything() {
  const auto rows = rows_of<ThePlan>(2 * 32 + 7);
  Trainer<ThePlan, Backend> trainer{settings<Adam>(), Seed{5}};
  Run out;
  trainer.on_step([&](const StepResult& result) { out.losses.push_back(result.loss.value()); }, Every{3});
  const std::vector<float> ones(170, 0.5F);
  trainer.set_parameter("linear2.weight", ones);
  for (int step = 0; step < equivalence::steps; ++step) out.rows.push_back(trainer.step(rows.batch(3 * step % 39, step == 7 ? 5 : 32)).rows);
  for (int replica = 0; replica < trainer.replicas(); ++replica) {
    out.parameters.emplace_back();
    for (const std::string& name : trainer.parameter_names()) out.parameters.back().push_back(trainer.parameter(name, replica));
    CHECK(trainer.parameter_hash(replica) == trainer.parameter_hash());
  }
  for (const std::string& name : trainer.parameter_names()) out.gradients.push_back(trainer.gradient(name));
  out.evaluation = trainer.evaluate(rows.batch(0, 2 * 32 + 7));
  CHECK(same_bits(trainer.predict(rows.inputs), out.evaluation.outputs));
  return out;
}

template <class ThePlan> void check_processes() {
  CAPTURE(devices<ThePlan>);
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  static const Run wanted = everything<Alone, CpuThreads>();
  const Run got = everything<ThePlan, CpuMpi>();
  CHECK(same_bits(got.losses, wanted.losses));
  CHECK(got.rows == wanted.rows);
  REQUIRE(static_cast<int>(got.parameters.size()) == ThePlan::training.batch.ranks);
  for (std::size_t p = 0; p < wanted.gradients.size(); ++p) {
    CAPTURE(p);
    CHECK(same_bits(got.gradients[p], wanted.gradients[p]));
    for (const auto& replica : got.parameters) CHECK(same_bits(replica[p], wanted.parameters[0][p]));
  }
  CHECK(std::memcmp(&got.evaluation.loss, &wanted.evaluation.loss, sizeof(double)) == 0);
  CHECK(same_bits(got.evaluation.outputs, wanted.evaluation.outputs));
}

/// Bytes that a rank sends so that its step can report the loss.
template <class ThePlan> [[nodiscard]] Bytes loss_bytes(Rank rank) {
  const Program& p = ThePlan::training;
  Bytes bytes;
  for (const Axis a : batch_axes)
    if (p.mesh.size(a) > 1 && p.mesh.coordinate(rank, Axis::stage) == p.loss_role())
      bytes += ring_bytes_sent(1, p.mesh.size(a), p.mesh.coordinate(rank, a));
  return bytes;
}

template <class ThePlan> void check_sent() {
  CAPTURE(devices<ThePlan>);
  const FirstRanks ranks{devices<ThePlan>};
  std::int64_t messages = 0;
  if (ranks.taking_part()) {
    constexpr Traffic promised = traffic<ThePlan>();
    const auto rows = rows_of<ThePlan>(32);
    Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}};
    trainer.on_step([](const StepResult&) {}, Every{2});
    for (const bool reported : {false, true}) {
      CAPTURE(reported);
      Mpi& transport = trainer.session().transport();
      transport.clear_traffic();
      trainer.step(rows.batch(0, reported ? 32 : 5));  // ranks without rows send as much as the others
      const Rank rank = transport.rank();
      CHECK(transport.sent(rank, Movement::point_to_point).bytes == promised.sent_to_peers(rank));
      CHECK(transport.sent(rank, Movement::all_reduce).bytes == promised.sent_in_reductions(rank) + (reported ? loss_bytes<ThePlan>(rank) : Bytes{}));
      CHECK(transport.sent(rank, Movement::reduce_scatter).bytes == promised.sent_in_reduce_scatters(rank));
      CHECK(transport.sent(rank, Movement::all_gather).bytes == promised.sent_in_gathers(rank));
      messages = 0;
      for (const Movement kind : {Movement::point_to_point, Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather})
        messages += transport.sent(rank, kind).messages;
    }
  }
  constexpr Traffic promised = traffic<ThePlan>();
  std::int64_t stated = promised.activations().messages + promised.loss().messages;
  for (const Axis a : batch_axes) stated += promised.gradients().on(a).messages + promised.parameters().on(a).messages;
  CHECK(sum_over_all(messages) == stated);
}

template <class Make> [[nodiscard]] std::string refusal(Code code, Make make) {
  try {
    make();
  } catch (const Error& error) {
    CHECK((error.code() == code));
    return error.what();
  }
  return "nothing was refused";
}

using Two = Of<DataParallel<2>>;
using Four = Of<DataParallel<4>>;
using Filled = Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>;
using Alternating = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using Both = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
using Slices = Of<Sharded<4>>;
using States = Of<Sharded<4, OptimizerState>>;
using Copies = Of<Hybrid<Sharded<2, heddle::Gradients>, DataParallel<2>>>;
using SlicedStages = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>;
using Outside = Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>>;

}  // namespace

TEST_CASE("one process is one device") { check_processes<Alone>(); }
TEST_CASE("replicas that are processes have the bits of one device") {
  check_processes<Two>();
  check_processes<Four>();
}
TEST_CASE("stages that are processes have the bits of one device, in both orders") {
  check_processes<Filled>();
  check_processes<Alternating>();
}
TEST_CASE("stages times replicas that are processes have the bits of one device, in both nestings") {
  check_processes<Both>();
  check_processes<Outside>();
}

TEST_CASE("slices that lie in processes have the bits of one device, alone, beside replicas and inside stages") {
  check_processes<Slices>();
  check_processes<States>();
  check_processes<Copies>();
  check_processes<SlicedStages>();
}

TEST_CASE("the bytes and messages that every process counts are those that the plan states") {
  check_sent<Alone>();
  check_sent<Two>();
  check_sent<Four>();
  check_sent<Filled>();
  check_sent<Both>();
  check_sent<Slices>();
  check_sent<States>();
  check_sent<Copies>();
  check_sent<SlicedStages>();
}

TEST_CASE("a process has an executor for its own rank only, and one of them prints") {
  const FirstRanks ranks{4};
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  for (int rank = 0; rank < 4; ++rank) CHECK(trainer.local(Rank{rank}) == (rank == ranks.rank()));
  CHECK(sum_over_all(trainer.first_process() ? 1 : 0) == 1);
  CHECK(trainer.executor(Rank{ranks.rank()}).arena().size() <= peak_memory<Four>());
}

TEST_CASE("a loss that is not finite is told by the process that finds it, and by the others as the end of its rank") {
  const FirstRanks ranks{4};
  auto rows = rows_of<Four>(32);
  rows.inputs[static_cast<std::size_t>(9 * rows.features)] = std::numeric_limits<float>::quiet_NaN();  // a row of rank 1
  Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const auto step = [&] { trainer.step(rows.batch(0, 32)); };
  const std::string found = "the loss of step 1 is NaN in rows 8 to 11";
  if (ranks.rank() == 1)
    CHECK(refusal({'R', 2}, step) == "[heddle.R02] " + found + ". Fix: lower the learning rate or repair the data.");
  else
    CHECK(refusal({'R', 1}, step).find(found) != std::string::npos);
  CHECK(refusal({'R', 4}, step).find("step 1 was interrupted") != std::string::npos);
}

TEST_CASE("another number of processes is refused in each of them with both numbers") {
  {
    const FirstRanks three{3};
    if (three.taking_part())
      CHECK(refusal({'R', 3}, [] {
              const Trainer<Two, CpuMpi> trainer{{}, Seed{1}};
            }) == "[heddle.R03] the plan has 2 devices, but MPI has started 3 processes, and each is one rank. Fix: start it with mpirun -np 2.");
  }
  const FirstRanks four{4};
  setenv("WORLD_SIZE", "2", 1);
  CHECK(refusal({'R', 3}, [] {
          const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
        }).find("WORLD_SIZE says 2 processes, but MPI has started 4") != std::string::npos);
  setenv("WORLD_SIZE", "4", 1);
  CHECK_NOTHROW((Trainer<Four, CpuMpi>{{}, Seed{1}}));
  unsetenv("WORLD_SIZE");
}

TEST_CASE("ranks that run different programs are told who is odd, all of them") {
  const FirstRanks four{4};
  const auto make = [&] {
    if (four.rank() == 2)
      const Trainer<Both, CpuMpi> trainer{{}, Seed{1}};
    else
      const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
  };
  CHECK(refusal({'R', 8}, make) ==
        "[heddle.R08] rank 2 runs another program than ranks 0, 1 and 3. Fix: start the same binary with the same plan in every process.");
  const auto other_world = [&] {
    if (four.rank() == 0)
      const Trainer<Two, CpuMpi> trainer{{}, Seed{1}};
    else
      const Trainer<Four, CpuMpi> trainer{{}, Seed{1}};
  };
  CHECK(refusal({'R', 8}, other_world).find("rank 0 runs another program than ranks 1, 2 and 3") != std::string::npos);
}
