// SPDX-License-Identifier: MIT
// The program behind ./heddle measure: what this machine costs, as a Machine for simulate(); or what the layers of a model take on it.
#include <algorithm>
#include <heddle/cost/machine_check.hpp>
#include <heddle/io/machine_file.hpp>
#include <heddle/io/profile_file.hpp>
#include <string>
#include <vector>

#include "machine_text.hpp"
#include "measured_layers.hpp"
#include "output.hpp"
#include "this_machine.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

/// What is measured next stands on standard error, and how far that is.
void tell(int part, int parts, const char* what) {
  fmt::print(stderr, "heddle measure: {} of {}, {}\n", part, parts, what);
  std::fflush(stderr);
}

/// Each layer with its share of all, then the same as a file.
int profile_layers(const std::string& model, const std::string& file, double seconds) {
  if (std::find(measured_layers::names.begin(), measured_layers::names.end(), model) == measured_layers::names.end())
    throw CLI::ValidationError("--profile: " + model + " not in {" + CLI::detail::join(measured_layers::names, ",") + "}");
  fmt::print(stderr, "heddle measure: layers of {}\n", model);
  std::fflush(stderr);
  const LayerTimes times = measured_layers::of_model(model, seconds);
  double all = 0;
  for (const LayerTime& time : times.layers) all += time.seconds.value;
  output::print("{:<6} {:<44} {:>12} {:>7}\n", "layer", fmt::format("of {}", times.model), fmt::format("{} rows, ms", times.rows), "share");
  for (const LayerTime& time : times.layers)
    output::print("{:<6} {:<44} {:>12.3f} {:>5.1f} %\n", time.layer, time.name, 1e3 * time.seconds.value, 100 * time.seconds.value / all);
  write_profile(file, times);
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 8;
  std::string file, known;
  std::vector<std::string> profile;
  CLI::App app{"Measures what this machine costs (products, memory, messages between threads, calls) and prints it as a Machine for simulate()."};
  app.name("heddle measure");
  app.add_option("--seconds", seconds, "about how long to measure; best on a machine that does nothing else")
      ->check(output::number_from(0.5, 50.0))
      ->capture_default_str();
  app.add_option("--json", file, "writes the figures to this file as well");
  app.add_option("--read", known, "measures nothing: reads such a file and prints it");
  app.add_option("--profile", profile, "measures what the layers of a model take instead (mnist, gpt2), for ./heddle plan --profile")
      ->expected(2)
      ->type_name("MODEL FILE");
  return output::run(app, [&] {
    app.parse(argc, argv);
    for (const std::string& target : {file, profile.empty() ? std::string{} : profile[1]})
      if (!target.empty()) io_room::Replacement{target};  // refused before anything is measured
    if (!profile.empty()) return profile_layers(profile[0], profile[1], seconds);
    const Machine machine = known.empty() ? this_machine::measured(seconds, tell) : read_machine(known);
    if (const Diagnosis fault = check(machine); !fault.ok()) throw seams_room::Error{fault};
    output::print("{}", machine_text::as_code(machine));
    if (!file.empty()) write_machine(file, machine);
    output::flush();
    return 0;
  });
}
