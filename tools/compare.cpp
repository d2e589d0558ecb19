// SPDX-License-Identifier: MIT
// The program behind ./heddle compare: which word is fastest here? One model under several policies, predicted and measured.
#include <fmt/core.h>

#include <heddle/cost/machine_check.hpp>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "models.hpp"
#include "output.hpp"
#include "plans.hpp"
#include "this_machine.hpp"
#include "turns.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

template <class Policy> using OfMnist = Plan<Mnist, CrossEntropy, Adam, Batch<batch_rows>, Policy>;
template <class Policy> using OfConvnet = Plan<models::Convnet, CrossEntropy, Adam, Batch<batch_rows>, Policy>;
template <class Policy> using OfGpt = Plan<models::Gpt, CrossEntropy, AdamW, Batch<32>, Policy>;

using Staged = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
using AllForwards = Pipeline<Balanced<2>, GPipe, Microbatches<4>>;
using Mixture = Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>;

struct Word {
  const char* name;
  const char* type;
};
constexpr Word words[] = {{"single", "Single"},
                          {"data", "DataParallel<2>"},
                          {"tensor", "TensorParallel<2>"},
                          {"states", "Sharded<2, OptimizerState>"},
                          {"sharded", "Sharded<2>"},
                          {"gpipe", "Pipeline<Balanced<2>, GPipe, Microbatches<4>>"},
                          {"1f1b", "Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>"},
                          {"hybrid", "Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>"}};

std::vector<std::string> all_words() {
  std::vector<std::string> all;
  for (const Word& word : words) all.emplace_back(word.name);
  return all;
}

struct Settings {
  std::string model = "mnist";
  std::vector<std::string> policies = all_words();
  int steps = 200;
  bool predict_only = false;
};

/// A core as many machines have them, where nothing is measured: 50 billion operations a second, half of them in products of less than 100,000;
/// memory of 10 GB/s; 1 microsecond a message and 0.2 a call; what is summed moves while the ranks wait for it, as threads do it.
Machine assumed_machine() {
  Machine core;
  core.alpha = 1e-6;
  core.beta = core.gamma = core.per_memory_byte = each_of(10e9);
  core.per_flop = each_of(50e9);
  core.per_call = 0.2e-6;
  core.overlaps = false;
  core.efficiency = Efficiency{{{1e5, 0.5}, {1e7, 1}}};
  return core;
}

/// Single comes first, and always: the others are told relative to it.
template <template <class> class Of> bench::Contenders contenders(const Settings& settings) {
  bench::Contenders all;
  const auto add = [&]<class Policy>(const char* name, std::type_identity<Policy>) {
    const bool asked = std::find(settings.policies.begin(), settings.policies.end(), name) != settings.policies.end();
    if (asked || all.empty()) all.push_back(std::make_unique<bench::ContenderOf<Of<Policy>>>(name));
  };
  add("single", std::type_identity<Single>{});
  add("data", std::type_identity<DataParallel<2>>{});
  add("tensor", std::type_identity<TensorParallel<2>>{});
  add("states", std::type_identity<Sharded<2, OptimizerState>>{});
  add("sharded", std::type_identity<Sharded<2>>{});
  add("gpipe", std::type_identity<AllForwards>{});
  add("1f1b", std::type_identity<Staged>{});
  add("hybrid", std::type_identity<Mixture>{});
  return all;
}

bench::Contenders contenders_of(const Settings& settings) {
  if (settings.model == "convnet") return contenders<OfConvnet>(settings);
  if (settings.model == "gpt") return contenders<OfGpt>(settings);
  return contenders<OfMnist>(settings);
}

/// A line of the table: times are steps of one device in one of this plan, so above 1 the plan is faster.
struct Line {
  double measured = 0, predicted = 0, idle = 0, predicted_idle = 0;
};

std::vector<Line> lines_of(const bench::Contenders& all, const Machine& machine) {
  std::vector<Line> lines;
  double alone = 0;
  for (const auto& plan : all) {
    const Estimate estimate = plan->predicted(machine);
    if (!estimate.fault.ok()) throw seams_room::Error{estimate.fault};
    if (lines.empty()) alone = estimate.step.value;
    Line line{0, alone / estimate.step.value, 0, 100 * estimate.bubble()};
    if (!plan->times.empty()) {
      line.measured = bench::median(all.front()->times) / bench::median(plan->times);
      line.idle = 100 * bench::median(plan->idle);
    }
    lines.push_back(line);
  }
  return lines;
}

std::string table_of(const bench::Contenders& all, const std::vector<Line>& lines, bool measured) {
  const auto cell = [&](double value, int places) { return measured ? fmt::format("{:.{}f}", value, places) : std::string{"-"}; };
  std::string out = fmt::format("{:<8} {:>7} {:>20} {:>20} {:>13}\n", "", "", "times as fast as one", "idle, %", "peak memory");
  out += fmt::format("{:<8} {:>7} {:>10} {:>9} {:>10} {:>9} {:>13} {:>15}\n", "policy", "devices", "measured", "predicted", "measured", "predicted",
                     "of a device", "bytes a step");
  for (std::size_t i = 0; i < all.size(); ++i)
    out +=
        fmt::format("{:<8} {:>7} {:>10} {:>9.2f} {:>10} {:>9.0f} {:>13} {:>15}\n", all[i]->name, all[i]->devices, cell(lines[i].measured, 2),
                    lines[i].predicted, cell(lines[i].idle, 0), lines[i].predicted_idle, bench::words(all[i]->memory), bench::words(all[i]->traffic));
  return out;
}

/// The line with the largest number.
template <class Number> std::size_t fastest(const std::vector<Line>& lines, Number number) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (number(lines[i]) > number(lines[best])) best = i;
  return best;
}

std::string type_of(const std::string& name) {
  for (const Word& word : words)
    if (name == word.name) return word.type;
  return name;
}

std::string verdict(const bench::Contenders& all, const std::vector<Line>& lines, bool measured) {
  const std::size_t predicted = fastest(lines, [](const Line& line) { return line.predicted; });
  std::string out;
  if (measured) {
    const std::size_t found = fastest(lines, [](const Line& line) { return line.measured; });
    out = fmt::format("\nFastest here: {}, {:.2f} times as fast as one device.\n", all[found]->name, lines[found].measured);
  }
  out += fmt::format("{}Fastest by the clock: {}, {:.2f} times.\n", measured ? "" : "\n", all[predicted]->name, lines[predicted].predicted);
  const unsigned cores = std::thread::hardware_concurrency();
  for (const auto& plan : all)
    if (measured && cores > 0 && plan->devices > static_cast<int>(cores))
      out += fmt::format("{} has {} devices, this machine {} cores, which they take in turns: the clock does not know that.\n", plan->name,
                         plan->devices, cores);
  return out;
}

/// One line on standard error for each part of the work.
void tell(const std::string& what) {
  fmt::print(stderr, "heddle compare: {}\n", what);
  std::fflush(stderr);
}

Machine machine_of(const Settings& settings) {
  if (settings.predict_only) return assumed_machine();
  tell("measures this machine");
  return this_machine::measured(4, [](int, int, const char*) {});
}

int compare(const Settings& settings) {
  constexpr int rounds = 10;
  const Machine machine = machine_of(settings);
  if (const Diagnosis fault = check(machine); !fault.ok()) throw seams_room::Error{fault};
  bench::Contenders all = contenders_of(settings);
  if (!settings.predict_only) {
    const std::vector<int> steps(all.size(), std::max(1, settings.steps / rounds));
    take_turns(all, rounds, steps, true, [&](int round, int of) { tell(fmt::format("{}, round {} of {}", settings.model, round, of)); });
  }
  const std::vector<Line> lines = lines_of(all, machine);
  output::print("{}, {}\n\n{}\n", settings.model,
                settings.predict_only ? "nothing is run: predicted on an assumed machine of 50 GFLOP/s a device"
                                      : fmt::format("{} steps of each plan in turns, medians of {} rounds", settings.steps, rounds),
                table_of(all, lines, !settings.predict_only));
  for (const auto& plan : all) output::print("{:<8} {}\n", plan->name, type_of(plan->name));
  output::print("{}", verdict(all, lines, !settings.predict_only));
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Which word is fastest here? One model under several policies: times, idle shares and memory, predicted and measured."};
  app.name("heddle compare");
  app.add_option("MODEL", settings.model, "mnist, convnet or gpt, the models of heddle train")
      ->check(CLI::IsMember({"mnist", "convnet", "gpt"}))
      ->capture_default_str();
  app.add_option("--policies", settings.policies, "which ones beside single, with commas between them")
      ->delimiter(',')
      ->check(CLI::IsMember(all_words()))
      ->capture_default_str();
  app.add_option("--steps", settings.steps, "steps of each plan, in ten turns")->check(CLI::Range(10, 1'000'000))->capture_default_str();
  app.add_flag("--no-measure", settings.predict_only, "runs nothing and predicts on an assumed machine");
  return output::run(app, [&] {
    app.parse(argc, argv);
    return compare(settings);
  });
}
