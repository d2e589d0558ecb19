// SPDX-License-Identifier: MIT
// The program behind ./heddle train: one model under four plans, and a table that shows that they are one computation.
#include <heddle/backend/cpu_threads.hpp>

#include "training.hpp"

using namespace heddle;

namespace {

int train_all(const training::Settings& settings) {
  training::prepare_output(settings.output);
  const training::Sets sets = training::load_both(settings);
  training::print_heading(settings, sets);
  std::vector<training::Row> rows;
  const auto add = [&]<class ThePlan>(ThePlan, const char* name) {
    rows.push_back(training::train<ThePlan, CpuThreads>(name, settings, sets.training, sets.test, rows));
  };
  add(Alone{}, "Single");
  add(Replicated{}, "DataParallel<2>");
  add(Staged{}, "Pipeline, 1F1B");
  add(Both{}, "Hybrid: 2 pipelines");
  training::print_table(settings, rows, training::shows_equality);
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  training::Settings settings;
  int processes = 0;
  CLI::App app{"Trains the 784-50-10 network under four plans and compares them."};
  app.name("heddle train");
  const training::Options options{app, settings};
  const CLI::Option* const processes_option =
      app.add_option("--processes", processes, "runs the plans of as many devices with one process for each, started by mpirun: 1, 2 or 4");
  output::end_with_a_sentence(app, "there is no table");
  return output::run(app, [&] {
    app.parse(argc, argv);
    options.check();
    if (processes_option->count() > 0)
      throw CLI::ValidationError("--processes",
                                 "this program runs every rank as a thread. Fix: start ./heddle train --processes, which starts mpirun");
    return train_all(settings);
  });
}
