// SPDX-License-Identifier: MIT
// The program behind ./heddle measure: what this machine costs, as a Machine for simulate().
#include <heddle/cost/machine_check.hpp>
#include <heddle/io/machine_file.hpp>
#include <string>

#include "machine_text.hpp"
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

}  // namespace

int main(int argc, char** argv) {
  double seconds = 8;
  std::string file, known;
  CLI::App app{"Measures what this machine costs (products, memory, messages between threads, calls) and prints it as a Machine for simulate()."};
  app.name("heddle measure");
  app.add_option("--seconds", seconds, "about how long to measure; best on a machine that does nothing else")
      ->check(CLI::Range(0.5, 50.0))
      ->capture_default_str();
  app.add_option("--json", file, "writes the figures to this file as well");
  app.add_option("--read", known, "measures nothing: reads such a file and prints it");
  return output::run(app, [&] {
    app.parse(argc, argv);
    const Machine machine = known.empty() ? this_machine::measured(seconds, tell) : read_machine(known);
    if (const Diagnosis fault = check(machine); !fault.ok()) throw seams_room::Error{fault};
    output::print("{}", machine_text::as_code(machine));
    if (!file.empty()) write_machine(file, machine);
    output::flush();
    return 0;
  });
}
