// SPDX-License-Identifier: MIT
// The program behind ./heddle doctor: the plans of ./heddle train held against this machine, its launcher and a backend. Nothing is run.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/report/checkup.hpp>
#include <string>

#include "output.hpp"
#include "plans.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

namespace without_mpi {
/// What doctor asks of heddle::CpuMpi, the pairing with processes, here also where no MPI is.
struct CpuMpi {
  using Compute = EigenCompute;
  using Ranks = run_room::RanksAsProcesses;
};
}  // namespace without_mpi

template <class Backend> Checkup examine_plan(const std::string& plan, const run_room::DoctorOptions& options) {
  if (plan == "single") return doctor<Alone, Backend>({}, options);
  if (plan == "data") return doctor<Replicated, Backend>({}, options);
  if (plan == "pipeline") return doctor<Staged, Backend>({}, options);
  return doctor<Both, Backend>({}, options);
}

}  // namespace

int main(int argc, char** argv) {
  std::string plan = "hybrid";
  bool processes = false;
  run_room::DoctorOptions options;
  CLI::App app{"Says what of this machine a plan would use: cores, memory, GPUs, launcher, placement; ends with 1 if the plan cannot run."};
  app.name("heddle doctor");
  app.add_option("--plan", plan, "one of the plans of heddle train")
      ->check(CLI::IsMember({"single", "data", "pipeline", "hybrid"}))
      ->capture_default_str();
  app.add_flag("--processes", processes, "ranks are processes that MPI starts (CpuMpi), not threads of one (CpuThreads)");
  app.add_flag("--gpus", options.on_gpus, "devices are GPUs, not cores");
  return output::run(app, [&] {
    app.parse(argc, argv);
    const Checkup found = processes ? examine_plan<without_mpi::CpuMpi>(plan, options) : examine_plan<CpuThreads>(plan, options);
    output::print("{}", describe(found));
    output::flush();
    return found.can_work() ? 0 : 1;
  });
}
