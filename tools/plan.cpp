// SPDX-License-Identifier: MIT
// The program behind ./heddle plan: which policies train a model of a published size in the least time on so many devices. Nothing is run.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <heddle/cost/presets.hpp>
#include <heddle/io/machine_file.hpp>
#include <heddle/io/profile_file.hpp>
#include <heddle/report/found_plans.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "known_models.hpp"
#include "output.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Settings {
  std::string model;
  std::string machine = "h100";
  std::string memory;
  std::string values = "either";
  std::string profile;
  std::int64_t devices = 8;
  std::optional<std::int64_t> batch;
  std::int64_t most_tensor = 8;
  std::optional<std::int64_t> stages;
  double efficiency = 0;  // as the machine says
  bool again = true;
};

/// 80GB, 80 GiB, 512MB: bytes.
Bytes bytes_in(const std::string& text) {
  /// A unit and its bytes: {"GB", 1,000,000,000}.
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array units{Unit{"GiB", 1073741824.0}, Unit{"GB", 1e9},     Unit{"MiB", 1048576.0},
                             Unit{"MB", 1e6},           Unit{"KiB", 1024.0}, Unit{"KB", 1e3}};
  for (const Unit& unit : units) {
    if (text.size() <= unit.name.size() || text.substr(text.size() - unit.name.size()) != unit.name) continue;
    std::size_t read = 0;
    double number = 0;
    try {
      number = std::stod(text, &read);
    } catch (const std::logic_error&) {
      break;
    }
    while (read < text.size() && text[read] == ' ') ++read;
    if (read + unit.name.size() == text.size() && number > 0 && number * unit.bytes < 9e18) {
      if (number * unit.bytes < 1)
        throw CLI::ValidationError("--memory: '" + text + "' is less than a byte. Write what a device has, as in 80GB or 40GiB");
      return Bytes{static_cast<std::int64_t>(number * unit.bytes)};
    }
  }
  throw CLI::ValidationError("--memory: '" + text + "' is no memory. Write a number above 0 and a unit, as in 80GB or 40GiB");
}

/// Of a name or a file of ./heddle measure --json. Where a machine does not say what share of the peak products reach, it is a half.
Machine machine_of(const Settings& s) {
  Machine machine = s.machine == "h100"   ? h100_nodes()
                    : s.machine == "h200" ? h200_nodes()
                    : s.machine == "b200" ? b200_nodes()
                                          : read_machine(s.machine);
  if (s.efficiency > 0 || machine.efficiency.count() == 0) {
    machine.efficiency = Efficiency{};
    machine.efficiency.points[0] = {0, s.efficiency > 0 ? s.efficiency : 0.5};
  }
  if (!s.memory.empty()) machine.memory = bytes_in(s.memory);
  return machine;
}

int number_of(const char* name, std::int64_t value) {
  if (value < 1 || value > 1'000'000) throw CLI::ValidationError(fmt::format("{}: {} is out of range. Name a number from 1 to 1000000", name, value));
  return static_cast<int>(value);
}

/// One line that counts while the search runs for more than a moment, on a terminal.
void show_progress(std::int64_t done, std::int64_t of) {
  static const bool terminal = isatty(STDERR_FILENO) != 0;
  if (!terminal || done % 64 != 0) return;
  output::line_is_open = 1;
  std::fprintf(stderr, "\r%lld of %lld plans", static_cast<long long>(done), static_cast<long long>(of));
}

int find_plan(const Settings& s) {
  const std::vector<known_models::Known> all = known_models::all();
  const auto known = std::find_if(all.begin(), all.end(), [&](const known_models::Known& k) { return k.name == s.model; });
  const int devices = number_of("--devices", s.devices);
  Wishes wishes;
  wishes.devices = devices;
  wishes.batch = s.batch ? number_of("--batch", *s.batch) : 8 * devices;
  wishes.most_tensor = number_of("--tensor", s.most_tensor);
  wishes.stages = s.stages ? number_of("--stages", *s.stages) : 0;
  wishes.may_round = s.values == "either";
  wishes.has_to_round = s.values == "bfloat16";
  wishes.may_run_again = s.again;
  const Machine machine = machine_of(s);
  wishes.memory = machine.memory;
  const std::string memory = machine.memory.value > 0 ? memory_text(machine.memory) + " a device" : std::string{"any memory"};
  const std::string reach =
      machine.efficiency.count() == 1 ? fmt::format("products at {:.0f} % of the peak", 100 * machine.efficiency.share(1)) : "products as measured";
  output::print("{}, {} parameters, batches of {} rows on {} {} ({}, {}, {})\n\n", s.model,
                core_room::grouped_digits(known->model.graph->parameter_elements()), wishes.batch, devices, devices == 1 ? "device" : "devices",
                s.machine, memory, reach);
  output::flush();
  SearchedModel model = known->model;
  if (!s.profile.empty()) model.times = read_profile(s.profile);
  const SearchResult found = PlanSearch{model, wishes, machine}.run(show_progress);
  if (output::line_is_open != 0) std::fprintf(stderr, "\r%*s\r", 40, "");
  output::line_is_open = 0;
  if (!found.fault.ok()) throw HeddleError(found.fault);
  output::print("{}{} is defined in tools/known_models.hpp.\n", describe(model, wishes, found), model.model);
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings s;
  std::vector<std::string> names;
  for (const known_models::Known& known : known_models::all()) names.push_back(known.name);
  CLI::App app{
      "Finds the plan that trains a model in the least time on so many devices, by simulation of every plan that fits: prints the type to paste."};
  app.name("heddle plan");
  app.add_option("model", s.model, "a model of a published size")->required()->check(CLI::IsMember(names));
  app.add_option("--devices", s.devices, "how many there are")->capture_default_str();
  app.add_option("--batch", s.batch, "rows of a step over all devices; 8 a device if none is named");
  app.add_option("--machine", s.machine, "h100, h200, b200 (nodes of 8 devices), or a file of ./heddle measure --json")->capture_default_str();
  app.add_option("--memory", s.memory, "of a device, as 80GB or 40GiB; that of the machine if none is named");
  app.add_option("--values", s.values, "what values are kept in")->check(CLI::IsMember({"float32", "bfloat16", "either"}))->capture_default_str();
  app.add_option("--efficiency", s.efficiency, "share of the peak that products reach; as the machine says if none is named, or 0.5")
      ->check(output::number_from(0.01, 1.0));
  app.add_option("--tensor", s.most_tensor, "most ranks of axis tensor")->capture_default_str();
  app.add_option("--stages", s.stages, "of a pipeline; any number, also none, if none is named");
  app.add_option("--profile", s.profile,
                 "what the layers were measured to take, a file of ./heddle measure --profile: pipelines are cut by that as well");
  app.add_flag("!--no-recompute", s.again, "no plan runs layers again");
  return output::run(app, [&] {
    app.parse(argc, argv);
    return find_plan(s);
  });
}
