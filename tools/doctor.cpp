// SPDX-License-Identifier: MIT
// The program behind ./heddle doctor: the plans of ./heddle train held against this machine and its launcher. Nothing is run.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <heddle/heddle.hpp>
#include <heddle/report/checkup.hpp>
#include <string>

#include "output.hpp"
#include "plans.hpp"

using namespace heddle;

int main(int argc, char** argv) {
  std::string plan = "hybrid";
  DoctorOptions options;
  CLI::App app{"Says what of this machine a plan would use: cores, memory, GPUs, launcher, placement; ends with 1 if the plan cannot run."};
  app.name("heddle doctor");
  app.add_option("--plan", plan, "one of the plans of heddle train")
      ->check(CLI::IsMember({"single", "data", "pipeline", "hybrid"}))
      ->capture_default_str();
  app.add_flag("--gpus", options.on_gpus, "devices are GPUs, not cores");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return output::end_of_options(app, problem);
  }
  const Checkup found = plan == "single"     ? doctor<Alone>({}, options)
                        : plan == "data"     ? doctor<Replicated>({}, options)
                        : plan == "pipeline" ? doctor<Staged>({}, options)
                                             : doctor<Both>({}, options);
  try {
    output::print("{}", describe(found));
    output::flush();
  } catch (const Error& problem) {
    output::say("heddle doctor", problem.what());
    return 1;
  }
  return found.can_work() ? 0 : 1;
}
