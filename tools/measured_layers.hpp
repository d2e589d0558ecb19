// SPDX-License-Identifier: MIT
// What the layers of a model take on one device of this machine: LayerTimes for ./heddle plan --profile.
#pragma once

#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/cost/search/layer_times.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run/profile.hpp>
#include <string>
#include <vector>

#include "known_models.hpp"
#include "this_machine.hpp"

namespace measured_layers {

using namespace heddle;
using namespace heddle::extending;

/// Of each layer the middle one of several steps, the first of which is not looked at.
template <class Model, int Rows, class Input> LayerTimes of(double budget) {
  using Alone = Plan<Model, CrossEntropy, SGD, Batch<Rows>, Single>;
  const Graph& graph = *Alone::training.graph;
  const std::int64_t features = graph.input.elements(), positions = CrossEntropy::target_features(graph.output());
  Trainer<Alone, CpuThreads> trainer{{.learning_rate = 0}, Seed{1}};
  trainer.on_step({}, Every::never());
  const std::vector<Input> inputs(static_cast<std::size_t>(Rows * features), Input{1});
  const std::vector<std::int32_t> targets(static_cast<std::size_t>(Rows * positions), 1);
  const auto batch = examples(inputs, targets, features, positions);
  trainer.step(batch);
  std::vector<std::vector<double>> steps(static_cast<std::size_t>(graph.node_count));  // by layer
  const double end = this_machine::now() + budget;
  do {
    Profile profile{Alone::training};
    trainer.observe(&profile);
    trainer.step(batch);
    const auto took = profile.layers();
    for (std::size_t n = 0; n < steps.size(); ++n) steps[n].push_back(took[n].value);
  } while (this_machine::now() < end);
  trainer.observe(nullptr);
  std::vector<core_room::Seconds> middle;
  for (const std::vector<double>& of_layer : steps) middle.emplace_back(this_machine::median(of_layer));
  return layer_times(graph, Rows, middle);
}

/// The models of ./heddle plan that a machine of any size can train.
inline const std::vector<std::string> names{"mnist", "gpt2"};
inline LayerTimes of_model(const std::string& name, double budget) {
  return name == "mnist" ? of<known_models::Mnist, 64, float>(budget) : of<known_models::Gpt2, 1, std::int32_t>(budget);
}

}  // namespace measured_layers
