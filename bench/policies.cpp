// SPDX-License-Identifier: MIT
// Which word is fastest: each workload under each policy of two devices, in interleaved rounds, as the table of docs/performance.md.
// A cell is the time of a step of Single / the time under the policy, the median over the rounds of both (and the best round against the best):
// above 1 the policy is faster than one device. Memory is that of the device that needs most; bytes are those of a step over all devices.
// usage: policies [ROUNDS] [abcm]; prints markdown
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "workloads.hpp"

using namespace bench;

namespace {

/// One plan under the clock, whatever its type.
struct Runner {
  std::string name;
  Bytes memory, traffic;
  std::vector<double> times = {};  // seconds a step, by round

  Runner(std::string words, Bytes of_memory, Bytes of_traffic) : name(std::move(words)), memory(of_memory), traffic(of_traffic) {}
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  virtual ~Runner() = default;
  virtual double seconds_per_step(int steps) = 0;
  [[nodiscard]] double best() const { return *std::min_element(times.begin(), times.end()); }
};

template <class ThePlan> struct RunnerOf final : Runner {
  explicit RunnerOf(const char* words) : Runner(words, peak_memory<ThePlan>(), heddle::traffic<ThePlan>().total()) {}
  double seconds_per_step(int steps) override { return plan.seconds_per_step(steps); }
  Stepping<ThePlan> plan;
};

using Runners = std::vector<std::unique_ptr<Runner>>;

template <template <class> class Workload> Runners runners() {
  Runners all;
  all.push_back(std::make_unique<RunnerOf<Workload<Single>>>("Single"));
  all.push_back(std::make_unique<RunnerOf<Workload<DataParallel<2>>>>("DataParallel<2>"));
  all.push_back(std::make_unique<RunnerOf<Workload<TensorParallel<2>>>>("TensorParallel<2>"));
  all.push_back(std::make_unique<RunnerOf<Workload<Sharded<2, OptimizerState>>>>("Sharded<2, OptimizerState>"));
  all.push_back(std::make_unique<RunnerOf<Workload<TwoStages>>>("Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>"));
  all.push_back(std::make_unique<RunnerOf<Workload<TwoStagesOfFour>>>("Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>"));
  if (std::thread::hardware_concurrency() >= 4)  // four devices on fewer cores tell nothing
    all.push_back(std::make_unique<RunnerOf<Workload<Hybrid<TensorParallel<2>, DataParallel<2>>>>>("Hybrid<TensorParallel<2>, DataParallel<2>>"));
  return all;
}

/// Steps of about 30 ms a turn; every turn of a round runs another plan, and each round begins with the next one.
void measure(Runners& all, int rounds, Progress& progress) {
  std::vector<int> steps;
  for (auto& runner : all) steps.push_back(std::max(2, static_cast<int>(0.03 / runner->seconds_per_step(3))));
  for (int round = 0; round < rounds; ++round) {
    progress.round(round + 1, rounds);
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % all.size();
      all[i]->times.push_back(all[i]->seconds_per_step(steps[i]));
    }
  }
}

std::string words(Bytes bytes) {
  char text[32];
  const double kib = static_cast<double>(bytes.value) / 1024;
  std::snprintf(text, sizeof text, bytes.value == 0 ? "0" : kib < 1024 ? "%.1f KiB" : "%.2f MiB", kib < 1024 ? kib : kib / 1024);
  return text;
}

void print(char workload, const Runners& all) {
  const Runner& alone = *all.front();
  std::size_t fastest = 0;
  for (std::size_t i = 1; i < all.size(); ++i)
    if (median(all[i]->times) < median(all[fastest]->times)) fastest = i;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Runner& runner = *all[i];
    const char* const mark = i == fastest ? "**" : "";
    std::printf("| %c | `%s` | %s%.2f%s (%.2f) | %s | %s |\n", workload, runner.name.c_str(), mark, median(alone.times) / median(runner.times), mark,
                alone.best() / runner.best(), words(runner.memory).c_str(), words(runner.traffic).c_str());
  }
  std::fflush(stdout);
}

template <template <class> class Workload> void compare(char workload, int rounds, Progress& progress) {
  progress.stage(std::string{"workload "} + workload);
  Runners all = runners<Workload>();
  measure(all, rounds, progress);
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
