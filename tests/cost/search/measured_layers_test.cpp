// SPDX-License-Identifier: MIT
#include "heddle/cost/search/measured_layers.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "cost/search/models.hpp"
#include "heddle/cost/presets.hpp"
#include "heddle/cost/simulate.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::tests;
using cost_room::MeasuredLayers;

namespace {

constexpr int rows = 32;

/// As if every layer took `times` what the machine says, but for one of them.
SearchedModel measured(const Machine& machine, double times, int slow = -1, ElementType values = ElementType::float32) {
  SearchedModel model = small_model();
  const PlanChoice alone{.rounds_values = values == ElementType::bfloat16};
  const LoweredPlan plan = lower(request_for(model, alone, rows, Bytes{0}));
  std::vector<Seconds> seconds;
  for (const double said : cost_room::said_by_layer(machine, plan.training())) seconds.push_back(Seconds{said * times});
  if (slow >= 0) seconds[static_cast<std::size_t>(slow)].value *= 10;
  model.times = layer_times(*model.graph, rows, seconds);
  model.times.values = values;
  return model;
}
double alone_seconds(const SearchedModel& model, const Machine& machine, const LayerFactors& factors, bool rounds = false) {
  const LoweredPlan plan = lower(request_for(model, PlanChoice{.rounds_values = rounds}, rows, Bytes{0}));
  return simulate(plan.training(), machine, factors).step.value;
}

}  // namespace

TEST_CASE("measured layers share the time that the machine says for all of them, whatever they were measured on") {
  const Machine machine = h100_nodes();
  const MeasuredLayers same{measured(machine, 1), machine};
  REQUIRE(same.fault.ok());
  for (const double factor : same.factors) CHECK(factor == doctest::Approx(1));
  for (const double times : {1.0, 1000.0}) {  // of cores that take a thousand times as long
    const SearchedModel model = measured(machine, times, 4);
    const MeasuredLayers slower{model, machine};
    CHECK(slower.factors[4] == doctest::Approx(10 * slower.factors[0]));
    CHECK(slower.factors[0] < 1);
    CHECK(alone_seconds(model, machine, slower.view()) == doctest::Approx(alone_seconds(model, machine, {})));
  }
}

TEST_CASE("seconds of values in bfloat16 are set beside what the machine says of such") {
  const Machine machine = h100_nodes();
  const MeasuredLayers same{measured(machine, 1, -1, ElementType::bfloat16), machine};
  for (const double factor : same.factors) CHECK(factor == doctest::Approx(1));
}

TEST_CASE("nothing measured leaves the machine's word; times that are not the model's are refused") {
  CHECK(MeasuredLayers(small_model(), h100_nodes()).factors.empty());
  SearchedModel model = measured(h100_nodes(), 1);
  model.times.layers.pop_back();
  CHECK(MeasuredLayers(model, h100_nodes()).fault.code == "M22");
}

TEST_CASE("a machine that has no time for a layer is refused with the layer") {
  const MeasuredLayers found{measured(h100_nodes(), 1), Machine{.per_flop = 0}};
  CHECK(found.fault.sentence().view() ==
        "[heddle.M22] a profile has seconds of layer 0 '0' Linear<16, 16>, for which the Machine says none. Fix: name a Machine that has per_flop "
        "and per_memory_byte.");
}
