// SPDX-License-Identifier: MIT
// Plans beside what the clock says of them: one row for each, and the errors of all.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "turns.hpp"

namespace bench {

using TwoStagesAllForwards = Pipeline<Balanced<2>, GPipe, Microbatches<4>>;
using TwoStagesOfEight = Pipeline<Balanced<2>, OneFOneB, Microbatches<8>>;

/// Ten plans of at most two devices; with as many processes as devices those of two.
template <template <class> class Workload, class Backend> Contenders contenders() {
  Contenders all;
  const auto add = [&]<class Policy>(std::type_identity<Policy>, const char* name) {
    if constexpr (std::is_same_v<Backend, CpuThreads> || devices<Workload<Policy>> == 2)
      all.push_back(std::make_unique<ContenderOf<Workload<Policy>, Backend>>(name));
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

/// What the command line asks for: 60 rounds of all workloads, unless it says otherwise.
struct Asked {
  int rounds = 60;
  const char* workloads = "abcde";

  /// Ends the program with 2 if it asks for something else.
  static Asked of(int count, char** arguments, const char* program) {
    Asked asked;
    if (count > 1) asked.rounds = std::atoi(arguments[1]);
    if (count > 2) asked.workloads = arguments[2];
    if (asked.rounds < 1 || std::strspn(asked.workloads, "abcde") != std::strlen(asked.workloads)) {
      std::fprintf(stderr, "%s: takes a number of rounds from 1 and letters of abcde. Fix: bench_%s 60 abcde.\n", program, program);
      std::exit(2);
    }
    return asked;
  }
};

/// Measures and predicts plan by plan. `Group` says which process prints, and gives all of them the same numbers of steps.
template <class Backend, class Group> class Comparison {
 public:
  Comparison(const Asked& asked, const Machine& machine, Progress& progress, Group& group)
      : asked_(asked), machine_(machine), progress_(progress), group_(group) {}

  void run() {
    print(
        "| workload | plan | predicted [ms] | median [ms] | best [ms] | error of the median | error of the best |\n|---|---|---|---|---|---|---|\n");
    for (const char* workload = asked_.workloads; *workload != '\0'; ++workload) {
      if (*workload == 'a') compare<WorkA>('a');
      if (*workload == 'b') compare<WorkB>('b');
      if (*workload == 'c') compare<WorkC>('c');
      if (*workload == 'd') compare<WorkD>('d');
      if (*workload == 'e') compare<WorkE>('e');
    }
    if (of_best_.empty()) return;
    print("\nMedian error of %zu rows: %.0f %% against medians, %.0f %% against the best rounds.\n", of_best_.size(), median(of_medians_),
          median(of_best_));
  }

 private:
  template <class... Parts> void print(const char* words, Parts... parts) const {
    if (!group_.speaks()) return;
    if constexpr (sizeof...(Parts) == 0)
      std::fputs(words, stdout);
    else
      std::printf(words, parts...);
    std::fflush(stdout);
  }
  template <template <class> class Workload> void compare(char workload) {
    if (group_.speaks()) progress_.stage(std::string{"workload "} + workload);
    Contenders all = contenders<Workload, Backend>();
    std::vector<int> steps = turns_of(0.003, all);
    group_.agree(steps);
    take_turns(all, asked_.rounds, steps, false, [&](int round, int of) {
      if (group_.speaks()) progress_.round(round, of);
    });
    progress_.clear();
    for (const auto& plan : all) {
      const double predicted = plan->predicted(machine_).step.value, measured = median(plan->times);
      const double error = 100 * (predicted / measured - 1), error_of_best = 100 * (predicted / plan->best() - 1);
      of_medians_.push_back(std::abs(error));
      of_best_.push_back(std::abs(error_of_best));
      print("| %c | `%s` | %.3f | %.3f | %.3f | %+.0f %% | %+.0f %% |\n", workload, plan->name.c_str(), 1e3 * predicted, 1e3 * measured,
            1e3 * plan->best(), error, error_of_best);
    }
  }

  const Asked& asked_;
  const Machine& machine_;
  Progress& progress_;
  Group& group_;
  std::vector<double> of_medians_, of_best_;  // errors in percent
};

}  // namespace bench
