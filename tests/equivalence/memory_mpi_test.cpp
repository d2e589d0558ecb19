// SPDX-License-Identifier: MIT
// What a process takes beside MPI, which allocates as it pleases: every operator new is counted.
#include "equivalence/counted_memory.hpp"
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Narrow : Sequential<Linear<24, 32>, ReLU, Linear<32, 32>, ReLU, Linear<32, 10>> {};
struct Positions : Sequential<Input<4, 32>, Linear<32, 32>, Residual<Linear<32, 64>, ReLU, Linear<64, 32>>> {};
/// Values of many rows beside few parameters: the largest sums are those in bodies.
template <class Model, class... Parts> using Many = Plan<Model, MeanSquaredError, Adam, Batch<512>, Parts...>;

template <class ThePlan> void first_step_allocates_nothing() {
  CAPTURE(std::string{type_name<typename ThePlan::Request::ThePolicy>().view()});
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const auto rows = rows_of<ThePlan>(512);
  Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const auto batch = rows.batch(0, 512);
  const long before = counted::allocations.load();
  trainer.step(batch);
  CHECK(counted::allocations.load() - before == 0);
}

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
  first_step_allocates_nothing<Many<Narrow, DataParallel<4>, Clip<GlobalNorm>>>();
  first_step_allocates_nothing<Many<Narrow, TensorParallel<2>>>();
  first_step_allocates_nothing<Many<Narrow, Hybrid<TensorParallel<2>, Sharded<2>>, Clip<GlobalNorm>>>();
  first_step_allocates_nothing<Many<Positions, TensorParallel<4, SequenceParallel>>>();
  first_step_allocates_nothing<Many<Narrow, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>>();
}

TEST_CASE("a process takes what is declared") {
  takes_what_is_declared<Many<Narrow, Single>>();
  takes_what_is_declared<Many<Narrow, DataParallel<4>, Clip<GlobalNorm>, Bucket<64_B>>>();
  takes_what_is_declared<Many<Narrow, Hybrid<TensorParallel<2>, Sharded<2>>, Clip<GlobalNorm>>>();
  takes_what_is_declared<Many<Narrow, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<64>>>>>();
}
