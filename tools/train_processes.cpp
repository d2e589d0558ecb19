// SPDX-License-Identifier: MIT
// The program behind ./heddle train --processes N: the plans of N devices with one process for each, started by mpirun.
#include <heddle/backend/cpu_mpi.hpp>
#include <heddle/plan/plan_set.hpp>

#include "training.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

using Numbers = PlanSet<Alone, Replicated, Both>;  // one plan for each number of devices

int train_all(const training::Settings& settings, int processes, bool only_check) {
  if (Numbers::index_of(processes) < 0)
    throw HeddleError(Code{'R', 3}, "there are to be " + std::to_string(processes) + " processes, but the plans have " +
                                        std::string{Numbers::list().view()} + " devices, one process for each. Fix: start one of these numbers.");
  training::prepare_output(settings.output);
  const training::Sets sets = training::load_both(settings);
  if (only_check) return 0;
  int process = 0;
  MPI_Comm_rank(MpiProcess::instance().world(), &process);
  if (process == 0) training::print_heading(settings, sets);
  std::vector<training::Row> rows;
  const auto add = [&]<class ThePlan>(ThePlan, const char* name) {
    if (devices<ThePlan> == processes) rows.push_back(training::train<ThePlan, CpuMpi>(name, settings, sets.training, sets.test, rows));
  };
  add(Alone{}, "Single");
  add(Replicated{}, "DataParallel<2>");
  add(Staged{}, "Pipeline, 1F1B");
  add(Fourfold{}, "DataParallel<4>");
  add(Both{}, "Hybrid: 2 pipelines");
  if (process == 0) training::print_table(settings, rows, training::shows_equality);
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  training::Settings settings;
  int processes = 0;
  bool only_check = false;
  CLI::App app{"Trains the 784-50-10 network under the plans of as many devices as there are processes."};
  app.name("heddle train");
  const training::Options options{app, settings};
  app.add_option("--processes", processes, "of mpirun: 1, 2 or 4")->required();
  app.add_flag("--check", only_check, "looks for what is wrong with the options and the data, without mpirun, and trains nothing");
  return output::run(app, [&] {
    app.parse(argc, argv);
    options.check();
    return train_all(settings, processes, only_check);
  });
}
