// SPDX-License-Identifier: MIT
// What a process takes beside MPI, which allocates as it pleases: every operator new is counted. Runs with eight processes; a plan of fewer ranks
// takes the first.
#include <chrono>
#include <string>

#include "equivalence/counted_memory.hpp"
#include "equivalence/counted_steps.hpp"
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Narrow : Sequential<Linear<24, 32>, ReLU, Linear<32, 32>, ReLU, Linear<32, 10>> {};
struct Positions : Sequential<Input<4, 32>, Linear<32, 32>, Residual<Linear<32, 64>, ReLU, Linear<64, 32>>> {};
/// Values of many rows beside few parameters: the largest sums are those in bodies.
template <class Model, class... Parts> using Many = Plan<Model, MeanSquaredError, Adam, Batch<512>, Parts...>;

template <class ThePlan> void takes_what_is_declared() {
  CAPTURE(std::string{type_name<typename ThePlan::Request::ThePolicy>().view()});
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const auto rows = rows_of<ThePlan>(512);
  const auto batch = rows.batch(0, 512);
  const long before = counted::live.load();
  counted::most = before;
  Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  trainer.step(batch);
  const Rank rank{ranks.rank()};
  const Bytes declared = trainer.executor(rank).arena().size() + external_memory<ThePlan, CpuMpi>();
  CHECK(Bytes{counted::most - before} <= declared);
  CHECK(Bytes{counted::most - before} >= declared - 64_KiB);  // what is allowed for lists is nearly all that is not taken
}

}  // namespace

TEST_CASE("the first step allocates nothing: the transport knows the largest sum, in a list or in a body") {
  check_steps<CpuMpi, float, FirstRanks>(
      counted_model<Narrow, MeanSquaredError, CpuMpi>(512, default_bucket),
      {under<DataParallel<4>>({.clips = true}), under<TensorParallel<2>>(), under<Hybrid<TensorParallel<2>, Sharded<2>>>({.clips = true}),
       under<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>()});
  check_steps<CpuMpi, float, FirstRanks>(counted_model<Positions, MeanSquaredError, CpuMpi>(512, default_bucket),
                                         {under<TensorParallel<4, SequenceParallel>>()});
}

TEST_CASE("no process of two, of four or of eight takes memory in a step, from the first on, under any policy") {
  check_steps_under_every_policy<CpuMpi, FirstRanks>();
}

TEST_CASE("what a process takes is said of its rank") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  const PlanAsData plan = under<DataParallel<3>>().of(counted_model<Narrow, MeanSquaredError, CpuMpi>(512));
  MpiSession session{transport_needs(plan.training(), plan.evaluation()), std::chrono::seconds{60}};
  CountedRanks counted{session, 3};
  CHECK(counted.taken() == "");
  void* volatile const seen = ::operator new(1000);  // volatile, or the compiler leaves the pair out
  ::operator delete(seen);
  CHECK(counted.taken().starts_with("rank " + std::to_string(ranks.rank()) + " took 10"));
}

TEST_CASE("a process takes what is declared") {
  takes_what_is_declared<Many<Narrow, Single>>();
  takes_what_is_declared<Many<Narrow, DataParallel<4>, Clip<GlobalNorm>, Bucket<64_B>>>();
  takes_what_is_declared<Many<Narrow, Hybrid<TensorParallel<2>, Sharded<2>>, Clip<GlobalNorm>>>();
  takes_what_is_declared<Many<Narrow, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<64>>>>>();
}
