// SPDX-License-Identifier: MIT
// What ranks that are threads of one process take: every operator new is counted.
#include <chrono>
#include <string>

#include "equivalence/counted_memory.hpp"
#include "equivalence/counted_steps.hpp"
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Any = Plan<Blocks, CrossEntropy, Adam, Batch<64>, Parts...>;

template <class ThePlan> void takes_what_is_declared() {
  CAPTURE(std::string{type_name<typename ThePlan::Request::ThePolicy>().view()});
  const auto rows = rows_of<ThePlan>(64);
  const auto batch = rows.batch(0, 64);
  const long before = counted::live.load();
  counted::most = before;
  Trainer<ThePlan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  trainer.step(batch);
  Bytes declared = devices<ThePlan> * external_memory<ThePlan, CpuThreads>();
  for (int r = 0; r < devices<ThePlan>; ++r) declared += trainer.executor(Rank{r}).arena().size();
  CHECK(Bytes{counted::most - before} <= declared);
  CHECK(Bytes{counted::most - before} >= declared - devices<ThePlan> * 192_KiB);  // pieces of parameters are made one after another
}

/// All ranks are threads of this process.
struct AllRanks {
  explicit AllRanks(int) {}
  [[nodiscard]] static bool taking_part() { return true; }
};

}  // namespace

TEST_CASE("no rank that is a thread takes memory in a step, from the first on, under any policy") {
  check_steps_under_every_policy<CpuThreads, AllRanks>();
}

TEST_CASE("what a thread takes is said of its rank") {
  TransportNeeds needs;
  needs.ranks = 3;
  ThreadSession session{needs, std::chrono::seconds{60}};
  CountedRanks counted{session, 3};
  CHECK(counted.taken() == "");
  session.run([](int rank) {
    if (rank != 2) return;
    void* volatile const seen = ::operator new(1000);  // volatile, or the compiler leaves the pair out
    ::operator delete(seen);
  });
  CHECK(counted.taken().starts_with("rank 2 took 10"));
}

TEST_CASE("threads take at most what is declared for their ranks") {
  takes_what_is_declared<Any<Single>>();
  takes_what_is_declared<Any<DataParallel<8>, Bucket<64_B>, Clip<GlobalNorm>>>();
  takes_what_is_declared<Any<Hybrid<TensorParallel<2>, Sharded<4>>, Clip<GlobalNorm>>>();
  takes_what_is_declared<Any<Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<16>>, DataParallel<2>>>>();
}
