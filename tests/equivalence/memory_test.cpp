// SPDX-License-Identifier: MIT
// What ranks that are threads of one process take: every operator new is counted.
#include "equivalence/counted_memory.hpp"
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

}  // namespace

TEST_CASE("threads take at most what is declared for their ranks") {
  takes_what_is_declared<Any<Single>>();
  takes_what_is_declared<Any<DataParallel<8>, Bucket<64_B>, Clip<GlobalNorm>>>();
  takes_what_is_declared<Any<Hybrid<TensorParallel<2>, Sharded<4>>, Clip<GlobalNorm>>>();
  takes_what_is_declared<Any<Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<16>>, DataParallel<2>>>>();
}
