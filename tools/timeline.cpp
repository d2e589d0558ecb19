// SPDX-License-Identifier: MIT
// The program behind ./heddle timeline: a step of each plan as it was predicted and as it went by on threads, as text, picture and trace.
#include <algorithm>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/cost/predict.hpp>
#include <heddle/io/machine_file.hpp>
#include <heddle/io/replacement.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/report/timeline_svg.hpp>
#include <heddle/report/timeline_text.hpp>
#include <heddle/report/trace_json.hpp>
#include <heddle/run/timeline_observer.hpp>
#include <string>
#include <thread>
#include <vector>

#include "output.hpp"
#include "timeline_plans.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Settings {
  std::vector<std::string> plans;
  std::string svg, trace, machine;
  int steps = 10;
  int step = 10;
  bool communication = false;
};

/// Seconds that all devices compute, without updates.
double computing(const Timeline& t) {
  double sum = 0;
  for (const Span& span : t.spans)
    if (span.lane == Lane::compute && span.kind <= SpanKind::backward_weight) sum += span.seconds();
  return sum;
}

/// Errors  M16, M17
template <class ThePlan> Timeline predicted(const std::string& title, const Machine& machine) {
  Prediction step = predict(ThePlan::training, machine, TimelineRows::ranks);
  if (!step.estimate.fault.ok()) throw HeddleError(step.estimate.fault);
  step.timeline.title = title;
  return step.timeline;
}
/// The step on the machine of a file; without one, if only work takes time and each operation takes as long as it did in the measured step on
/// average.
template <class ThePlan> Timeline predicted(const std::string& name, const Settings& settings, const Timeline& measured) {
  if (!settings.machine.empty()) return predicted<ThePlan>(name + ", on the machine of " + settings.machine, read_machine(settings.machine));
  Machine machine;
  machine.per_flop = 1e-12;
  machine.per_flop *= computing(measured) / computing(predicted<ThePlan>(name, machine));
  return predicted<ThePlan>(name + ", if only work takes time", machine);
}

template <class ThePlan> std::vector<Timeline> both(const std::string& name, const Settings& settings) {
  const auto data = datasets::synthetic(Seed{1}, 256, 16, 10);
  TimelineObserver observer{ThePlan::training, {.first = settings.step}};
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  trainer.observe(&observer);
  for (int i = 0; i < settings.steps; ++i)
    for (const auto& batch : data.in_order().template batches<ThePlan>()) trainer.step(batch);
  Timeline measured = observer.timeline(settings.step);
  refuse_other_plan(measured, ThePlan::training);
  measured.title = name + ", step " + std::to_string(settings.step) + " on threads";
  measured.memory = cost_room::memory_in_time(ThePlan::training, measured, true);
  return {predicted<ThePlan>(name, settings, measured), measured};
}

/// A plan by its name.
struct Named {
  const char* name;
  const char* words;
  std::vector<Timeline> (*run)(const std::string&, const Settings&);
};
constexpr Named all_plans[] = {
    {"single", "one device", both<timelines::OneDevice>},
    {"data", "DataParallel<4>", both<timelines::Replicas>},
    {"sharded", "Sharded<4>", both<timelines::Slices>},
    {"tensor", "TensorParallel<4>", both<timelines::Parts>},
    {"gpipe", "GPipe, 4 stages, 8 micro-batches", both<timelines::AllForwards>},
    {"1f1b", "1F1B, 4 stages, 8 micro-batches", both<timelines::InTurn>},
    {"interleaved", "interleaved 1F1B, 4 stages of 2 chunks, 8 micro-batches", both<timelines::TwoChunks>},
    {"zero_bubble", "ZB-H1, 4 stages, 8 micro-batches", both<timelines::SplitBackward>},
    {"hybrid", "2 replicas of 1F1B, 2 stages, 4 micro-batches", both<timelines::Both>},
};
std::vector<std::string> names_of_plans() {
  std::vector<std::string> names;
  for (const Named& plan : all_plans) names.emplace_back(plan.name);
  return names;
}
std::string words_of_plans() {
  std::string words = "Plans of a model of 8 blocks of 512 features, batches of 256 rows:\n";
  for (const Named& plan : all_plans) words += fmt::format("  {:<12} {}\n", plan.name, plan.words);
  return words + "A trace (--trace) opens in ui.perfetto.dev; a picture (--svg) has all plans that are named on one scale.";
}

int show(const Settings& settings) {
  for (const std::string& file : {settings.svg, settings.trace})
    if (!file.empty()) io_room::Replacement{file};  // refused before any work is done
  if (!settings.machine.empty()) (void)read_machine(settings.machine);
  std::vector<Timeline> drawn;
  std::size_t ranks = 0;
  for (const std::string& name : settings.plans) {
    const Named& plan = *std::find_if(std::begin(all_plans), std::end(all_plans), [&](const Named& of) { return name == of.name; });
    const std::vector<Timeline> pair = plan.run(plan.words, settings);
    ranks = std::max(ranks, pair[1].devices.size());
    output::print("{}\n", timeline_text(pair, {.communication = settings.communication}));
    output::flush();
    drawn.insert(drawn.end(), pair.begin(), pair.end());
  }
  if (const std::size_t cores = std::thread::hardware_concurrency(); cores > 0 && ranks > cores)
    output::print("{} ranks ran as threads on {} core{}: a rank also waits where another one has its core.\n", ranks, cores, cores == 1 ? "" : "s");
  if (!settings.svg.empty()) io_room::replace_file(settings.svg, timeline_svg(drawn));
  if (!settings.trace.empty()) io_room::replace_file(settings.trace, trace_json(drawn[1]));
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  CLI::App app{"Runs a few steps of plans on threads and shows one of them in time, below the same step as it is predicted."};
  app.name("heddle timeline");
  app.footer(words_of_plans());
  app.add_option("PLAN", settings.plans, "plans, by name")->required()->check(CLI::IsMember(names_of_plans()));
  app.add_option("--svg", settings.svg, "file for the picture");
  app.add_option("--trace", settings.trace, "file for the trace of the measured step, of one plan");
  app.add_option("--machine", settings.machine,
                 "predicts on the machine of this file, which ./heddle measure --json writes; else only work takes time");
  app.add_option("--steps", settings.steps, "steps of each plan")->check(CLI::Range(1, 100'000))->capture_default_str();
  const CLI::Option* const step = app.add_option("--step", settings.step, "the one that is shown, counted from 1; the last if none is named");
  app.add_flag("--communication", settings.communication, "a second row for each device, for what it moves");
  output::end_with_a_sentence(app, "the timeline is not complete");
  return output::run(app, [&] {
    app.parse(argc, argv);
    if (step->count() == 0) settings.step = settings.steps;
    if (settings.step < 1 || settings.step > settings.steps)
      throw CLI::ValidationError(
          "--step", fmt::format("{} is none of the steps 1 to {}. Fix: name one of them, or more --steps", settings.step, settings.steps));
    if (!settings.trace.empty() && settings.plans.size() > 1)
      throw CLI::ValidationError("--trace", fmt::format("a trace is of one plan, and {} are named. Fix: name one", settings.plans.size()));
    return show(settings);
  });
}
