// SPDX-License-Identifier: MIT
// The clock against this machine: steps of the workloads under ten plans of at most two devices, predicted on a Machine that is measured first, and
// measured in interleaved rounds. The machine is measured by its kernels and messages alone; no step goes into it but those of nothing but calls.
// usage: predict [ROUNDS] [abcde]; prints markdown
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <tuple>

#include "this_machine.hpp"
#include "turns.hpp"

using namespace bench;

namespace {

using TwoStagesAllForwards = Pipeline<Balanced<2>, GPipe, Microbatches<4>>;
using TwoStagesOfEight = Pipeline<Balanced<2>, OneFOneB, Microbatches<8>>;

template <template <class> class Workload> Contenders contenders() {
  Contenders all;
  const auto add = [&]<class Policy>(std::type_identity<Policy>, const char* name) {
    all.push_back(std::make_unique<ContenderOf<Workload<Policy>>>(name));
  };
  add(std::type_identity<Single>{}, "Single");
  add(std::type_identity<DataParallel<2>>{}, "DataParallel<2>");
  add(std::type_identity<WeightedDataParallel<3, 1>>{}, "WeightedDataParallel<3, 1>");
  add(std::type_identity<TensorParallel<2>>{}, "TensorParallel<2>");
  add(std::type_identity<Sharded<2, OptimizerState>>{}, "Sharded<2, OptimizerState>");
  add(std::type_identity<Sharded<2>>{}, "Sharded<2>");
  add(std::type_identity<TwoStages>{}, "two stages, OneFOneB, Microbatches<2>");
  add(std::type_identity<TwoStagesOfFour>{}, "two stages, OneFOneB, Microbatches<4>");
  add(std::type_identity<TwoStagesOfEight>{}, "two stages, OneFOneB, Microbatches<8>");
  add(std::type_identity<TwoStagesAllForwards>{}, "two stages, GPipe, Microbatches<4>");
  return all;
}

/// Errors in percent, of medians and of the best rounds.
struct Errors {
  std::vector<double> of_medians, of_best;
};

template <template <class> class Workload> void compare(char workload, int rounds, const Machine& machine, Progress& progress, Errors& errors) {
  progress.stage(std::string{"workload "} + workload);
  Contenders all = contenders<Workload>();
  take_turns(all, rounds, turns_of(0.003, all), false, [&](int round, int of) { progress.round(round, of); });
  progress.clear();
  for (const auto& plan : all) {
    const double predicted = plan->predicted(machine).step.value, measured = median(plan->times);
    const double error = 100 * (predicted / measured - 1), error_of_best = 100 * (predicted / plan->best() - 1);
    errors.of_medians.push_back(std::abs(error));
    errors.of_best.push_back(std::abs(error_of_best));
    std::printf("| %c | `%s` | %.3f | %.3f | %.3f | %+.0f %% | %+.0f %% |\n", workload, plan->name.c_str(), 1e3 * predicted, 1e3 * measured,
                1e3 * plan->best(), error, error_of_best);
  }
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 60;
  const char* const workloads = count > 2 ? arguments[2] : "abcde";
  if (rounds < 1 || std::strspn(workloads, "abcde") != std::strlen(workloads)) {
    std::fprintf(stderr, "predict: takes a number of rounds from 1 and letters of abcde. Fix: bench_predict 60 abcde.\n");
    return 2;
  }
  Progress progress("predict");
  const Machine machine = this_machine::measured(8, [&](int part, int parts, const char* what) {
    progress.stage(std::string{"the machine, "} + std::to_string(part) + " of " + std::to_string(parts) + ", " + what);
  });
  progress.clear();
  std::printf(
      "| workload | plan | predicted [ms] | median [ms] | best [ms] | error of the median | error of the best |\n|---|---|---|---|---|---|---|\n");
  Errors errors;
  for (const char* workload = workloads; *workload != '\0'; ++workload) {
    if (*workload == 'a') compare<WorkA>('a', rounds, machine, progress, errors);
    if (*workload == 'b') compare<WorkB>('b', rounds, machine, progress, errors);
    if (*workload == 'c') compare<WorkC>('c', rounds, machine, progress, errors);
    if (*workload == 'd') compare<WorkD>('d', rounds, machine, progress, errors);
    if (*workload == 'e') compare<WorkE>('e', rounds, machine, progress, errors);
  }
  std::printf("\nMedian error of %zu rows: %.0f %% against medians, %.0f %% against the best rounds.\n", errors.of_best.size(),
              median(errors.of_medians), median(errors.of_best));
}
