// SPDX-License-Identifier: MIT
// Which word is fastest: each workload under each policy of two devices, in interleaved rounds, as the table of docs/performance.md.
// A cell is the time of a step of Single / the time under the policy, the median over the rounds of both (and the best round against the best):
// above 1 the policy is faster than one device. Memory is that of the device that needs most; bytes are those of a step over all devices.
// usage: policies [ROUNDS] [abcm]; prints markdown
#include <cstdlib>
#include <cstring>
#include <thread>

#include "turns.hpp"

using namespace bench;

namespace {

template <template <class> class Workload> Contenders contenders() {
  Contenders all;
  all.push_back(std::make_unique<ContenderOf<Workload<Single>>>("Single"));
  all.push_back(std::make_unique<ContenderOf<Workload<DataParallel<2>>>>("DataParallel<2>"));
  all.push_back(std::make_unique<ContenderOf<Workload<TensorParallel<2>>>>("TensorParallel<2>"));
  all.push_back(std::make_unique<ContenderOf<Workload<Sharded<2, OptimizerState>>>>("Sharded<2, OptimizerState>"));
  all.push_back(std::make_unique<ContenderOf<Workload<TwoStages>>>("Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>"));
  all.push_back(std::make_unique<ContenderOf<Workload<TwoStagesOfFour>>>("Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>"));
  if (std::thread::hardware_concurrency() >= 4)  // four devices on fewer cores tell nothing
    all.push_back(std::make_unique<ContenderOf<Workload<Hybrid<TensorParallel<2>, DataParallel<2>>>>>("Hybrid<TensorParallel<2>, DataParallel<2>>"));
  return all;
}

void print(char workload, const Contenders& all) {
  const Contender& alone = *all.front();
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (median(all[i]->times) < median(all[fastest]->times)) fastest = i;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Contender& plan = *all[i];
    const char* const mark = i == fastest ? "**" : "";
    std::printf("| %c | `%s` | %s%.2f%s (%.2f) | %s | %s |\n", workload, plan.name.c_str(), mark, median(alone.times) / median(plan.times), mark,
                alone.best() / plan.best(), words(plan.memory).c_str(), words(plan.traffic).c_str());
  }
  std::fflush(stdout);
}

template <template <class> class Workload> void compare(char workload, int rounds, Progress& progress) {
  progress.stage(std::string{"workload "} + workload);
  Contenders all = contenders<Workload>();
  take_turns(all, rounds, turns_of(0.03, all), false, [&](int round, int of) { progress.round(round, of); });
  progress.clear();
  print(workload, all);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 31;
  const char* const workloads = count > 2 ? arguments[2] : "abcm";
  if (rounds < 1 || std::strspn(workloads, "abcm") != std::strlen(workloads)) {
    std::fprintf(stderr, "policies: takes a number of rounds from 1 and letters of abcm. Fix: bench_policies 31 abcm.\n");
    return 2;
  }
  Progress progress("policies");
  std::printf("| workload | plan | times as fast as one device: median (best) | memory of a device | bytes a step |\n|---|---|---|---|---|\n");
  for (const char* workload = workloads; *workload != '\0'; ++workload) {
    if (*workload == 'a') compare<WorkA>('a', rounds, progress);
    if (*workload == 'b') compare<WorkB>('b', rounds, progress);
    if (*workload == 'c') compare<WorkC>('c', rounds, progress);
    if (*workload == 'm') compare<WorkM>('m', rounds, progress);
  }
}
