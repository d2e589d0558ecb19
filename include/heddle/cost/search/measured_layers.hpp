// SPDX-License-Identifier: MIT
// Room: cost. How many times as long the layers of a model take as a Machine says, from seconds that were measured.
// Sees: plan, cost/search, cost/work_time.  Does not see: files, processes, threads.
// In: a SearchedModel with LayerTimes, a Machine.  Out: MeasuredLayers; M22 where the machine has no time for a layer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "heddle/cost/layer_factors.hpp"
#include "heddle/cost/machine.hpp"
#include "heddle/cost/search/searched_model.hpp"
#include "heddle/cost/work_time.hpp"
#include "heddle/plan/lowered.hpp"

namespace heddle::cost_room {

/// Seconds that a machine says for the layers of a Program of one device and one micro-batch: forwards and backwards.
[[nodiscard]] inline std::vector<double> said_by_layer(const Machine& machine, const Program& p) {
  const Machine here = with_working_set(machine, Bytes{p.arenas[0].total});
  std::vector<double> seconds(static_cast<std::size_t>(p.graph->node_count));
  for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies})
    for (int e = bodies[0].begin; e < bodies[0].end; ++e)
      if (const Entry& entry = p.entries[e]; LayerFactors::runs_a_layer(entry, p.graph->node_count))
        seconds[static_cast<std::size_t>(entry.node)] += entry_seconds(here, p, entry, p.batch.micro_rows);
  return seconds;
}

/// Factors by layer: how the time of a model is spread over its layers is measured, how long all of them take together is what the Machine says,
/// since measured may have been another machine, or other values. Of layers that were measured to take 6 and 2 ms, for which the Machine says 2 ms
/// each, the first has a factor of 1.5 in every plan, however it is split, and the second one of 0.5.
///
/// Tested  cost/search/measured_layers_test
struct MeasuredLayers {
  std::vector<double> factors;  ///< by layer; none: nothing was measured
  Diagnosis fault;

  MeasuredLayers() = default;
  MeasuredLayers(const SearchedModel& model, const Machine& machine) {
    if (model.times.layers.empty()) return;
    if (fault = check_times(*model.graph, model.times); !fault.ok()) return;
    const PlanChoice alone{.rounds_values = model.times.values == ElementType::bfloat16};
    const LoweredPlan plan = lower(request_for(model, alone, static_cast<int>(model.times.rows), Bytes{0}));
    if (fault = plan.fault(); !fault.ok()) return;
    factors = said_by_layer(machine, plan.training());
    const std::vector<Seconds> measured = by_layer(*model.graph, model.times);
    double said = 0, took = 0;
    for (const double seconds : factors) said += seconds;
    for (const Seconds& seconds : measured) took += seconds.value;
    for (int n = 0; n < model.graph->node_count && fault.ok(); ++n) take(*model.graph, n, measured[static_cast<std::size_t>(n)], said / took);
  }
  [[nodiscard]] LayerFactors view() const { return {factors.data(), static_cast<int>(factors.size())}; }

 private:
  void take(const Graph& graph, int n, Seconds measured, double machine_a_measured) {
    double& factor = factors[static_cast<std::size_t>(n)];
    if (factor > 0)
      factor = measured.value * machine_a_measured / factor;
    else if (measured.value > 0)
      fault = Diagnosis{Code{'M', 22}, "a profile has seconds of "}
              << graph.describe(n).view() << ", for which the Machine says none. Fix: name a Machine that has per_flop and per_memory_byte.";
  }
};

}  // namespace heddle::cost_room
