// SPDX-License-Identifier: MIT
// The program behind ./heddle train convnet: a convolutional network on one device and in two stages, where the time goes, and how long stages wait.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/run/profile.hpp>

#include "models.hpp"
#include "training.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

using models::Convnet;
template <class Policy> using ConvnetPlan = Plan<Convnet, CrossEntropy, Adam, Batch<batch_rows, KeepLast>, Policy, Grain<16>>;
using OnOneDevice = ConvnetPlan<Single>;
using InTwoStages = ConvnetPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;

/// What each layer has of the operations of a step and of its time in two stages, and where a cut by time would lie.
std::string layers_in_words(const datasets::Dataset& images) {
  constexpr int warm_up = 5, steps = 30;
  Trainer<InTwoStages, CpuThreads> trainer{{}, Seed{1}};
  Profile profile{InTwoStages::training};
  for (const auto& batch : images.in_order().batches<batch_rows>()) {
    if (trainer.steps() == warm_up) trainer.observe(&profile);
    if (trainer.steps() == steps) break;
    trainer.step(batch);
  }
  const Graph& graph = *InTwoStages::training.graph;
  const auto seconds = profile.layers();
  double time = 0, flops = 0;
  for (int n = 0; n < graph.node_count; ++n) {
    time += seconds[static_cast<std::size_t>(n)].value;
    flops += static_cast<double>(graph.flops(n));
  }
  std::string out = fmt::format("{:<8} {:<42} {:>10} {:>8} {:>5}\n", "layer", "", "operations", "time", "stage");
  for (int n = 0; n < graph.node_count; ++n)
    out += fmt::format("{:<8} {:<42} {:>8.1f} % {:>6.1f} % {:>5}\n", graph.name(n).view(), graph.leaf(n).spelled.view(),
                       100 * static_cast<double>(graph.flops(n)) / flops, 100 * seconds[static_cast<std::size_t>(n)].value / time,
                       n < InTwoStages::training.first_node[1] ? 0 : 1);
  const MeasuredCut present = profile.present_cut(), best = profile.proposed_cut(2);
  return out + fmt::format("By these times stages wait {:.0f} % for each other; cut before layer {} they would wait {:.0f} %.\n",
                           100 * present.waiting(), best.first_node[1], 100 * best.waiting());
}

/// Two devices that were never idle would take half of the time of one.
std::string stages_in_words(const training::Row& alone, const training::Row& staged) {
  const double times = alone.seconds / staged.seconds;
  return fmt::format(
      "In two stages a step is {:.2f} times as fast: {:.0f} % of the time of both goes to waiting,\nhand-overs and smaller products. "
      "By operations alone stages would wait {} % of a step.\n\n",
      times, 100 * std::max(0.0, 1 - times / 2), bubble_percent(InTwoStages::training));
}

int train_both(const training::Settings& settings) {
  training::prepare_output(settings.output);
  const training::Sets sets = training::load_both(settings);
  training::print_heading(settings, sets);
  std::vector<training::Row> rows;
  rows.push_back(training::train<OnOneDevice, CpuThreads>("Single", settings, sets.training, sets.test, rows));
  rows.push_back(training::train<InTwoStages, CpuThreads>("Pipeline, 1F1B", settings, sets.training, sets.test, rows));
  training::print_table(settings, rows, stages_in_words(rows[0], rows[1]) + layers_in_words(sets.training));
  output::flush();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  training::Settings settings;
  settings.epochs = 6;
  CLI::App app{"Trains a network of three convolutions on one device and in two stages, and compares them."};
  app.name("heddle train convnet");
  const training::Options options{app, settings};
  output::end_with_a_sentence(app, "there is no table");
  return output::run(app, [&] {
    app.parse(argc, argv);
    options.check();
    return train_both(settings);
  });
}
