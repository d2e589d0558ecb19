// SPDX-License-Identifier: MIT
// Training steps of workloads a to e, measured as the peers of bench/peers.py measure theirs: medians of nine groups over about 1.5 s.
// One thread is Single, two are DataParallel<2> and, in rows of their own, split layers, slices of the states, and a pipeline of two stages.
// usage: steps THREADS [a] [b] [c] [d] [e]; prints `heddle THREADS WORKLOAD MICROSECONDS_PER_STEP`
#include <cstdlib>
#include <string_view>

#include "workloads.hpp"

using namespace bench;

namespace {

double microseconds_per_step(auto& plan) {
  for (int i = 0; i < 3; ++i) plan.step();
  double start = seconds();
  plan.step();
  const int steps = std::max(1, static_cast<int>(1.5 / 9 / (seconds() - start)));
  std::vector<double> groups;
  for (int g = 0; g < 9; ++g) {
    start = seconds();
    for (int i = 0; i < steps; ++i) plan.step();
    groups.push_back((seconds() - start) / steps);
  }
  return median(groups) * 1e6;
}

template <class ThePlan> void measure(Progress& progress, const char* name, int threads, char workload) {
  progress.stage(std::string{"workload "} + workload + ", " + name);
  Stepping<ThePlan> plan;
  const double microseconds = microseconds_per_step(plan);
  progress.clear();
  std::printf("%s %d %c %.1f\n", name, threads, workload, microseconds);
  std::fflush(stdout);
}

template <template <class> class Workload> void measure_all(Progress& progress, int threads, char workload) {
  if (threads == 1) return measure<Workload<Single>>(progress, "heddle", 1, workload);
  measure<Workload<DataParallel<2>>>(progress, "heddle", 2, workload);
  measure<Workload<TensorParallel<2>>>(progress, "heddle-tensor", 2, workload);
  measure<Workload<Sharded<2, OptimizerState>>>(progress, "heddle-sharded", 2, workload);
  measure<Workload<TwoStages>>(progress, "heddle-pipeline", 2, workload);
}

}  // namespace

int main(int count, char** arguments) {
  const int threads = count > 1 ? std::atoi(arguments[1]) : 0;
  if (threads < 1 || threads > 2) {
    std::fprintf(stderr, "steps: the number of threads is 1 or 2. Fix: bench_steps 1 a b c d e.\n");
    return 2;
  }
  Progress progress("steps");
  for (int i = 2; i < std::max(count, 3); ++i)
    for (const char workload : std::string_view{count > 2 ? arguments[i] : "abcde"}) {
      if (workload == 'a')
        measure_all<WorkA>(progress, threads, workload);
      else if (workload == 'b')
        measure_all<WorkB>(progress, threads, workload);
      else if (workload == 'c')
        measure_all<WorkC>(progress, threads, workload);
      else if (workload == 'd')
        measure_all<WorkD>(progress, threads, workload);
      else if (workload == 'e')
        measure_all<WorkE>(progress, threads, workload);
      else {
        std::fprintf(stderr, "steps: no workload '%c'. Fix: name one of a to e.\n", workload);
        return 2;
      }
    }
}
