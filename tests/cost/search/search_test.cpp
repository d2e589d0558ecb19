// SPDX-License-Identifier: MIT
#include "heddle/cost/search/search.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "cost/search/models.hpp"
#include "heddle/cost/presets.hpp"

using namespace heddle;
using namespace heddle::extending;
using cost_room::MeasuredLayers;
using tests::small_model;

namespace {

Machine machine_of(double beta) {
  Machine machine;
  machine.alpha = 1e-6;
  machine.beta = beta;
  machine.per_flop = 1e-9;
  return machine;
}
/// The fastest of all candidates, each lowered, checked and simulated.
double fastest(const Wishes& wishes, const Machine& machine) {
  double least = std::numeric_limits<double>::infinity();
  cost_room::each_candidate(small_model(), wishes, [&](const PlanChoice& c) {
    const LoweredPlan plan = lower(request_for(small_model(), c, wishes.batch, wishes.memory));
    if (plan.fault().ok() && check(plan).ok()) least = std::min(least, simulate(plan.training(), machine).step.value);
  });
  return least;
}

/// As if each layer took what a machine says, but one of them so many times as long.
SearchedModel measured(const Machine& machine, int slow, double times) {
  SearchedModel model = small_model();
  const LoweredPlan plan = lower(request_for(model, {}, 32, Bytes{0}));
  std::vector<Seconds> seconds;
  for (const double said : cost_room::said_by_layer(machine, plan.training())) seconds.push_back(Seconds{said});
  seconds[static_cast<std::size_t>(slow)].value *= times;
  model.times = layer_times(*model.graph, 32, seconds);
  return model;
}
const Wishes four_stages{.devices = 4, .batch = 32, .most_tensor = 1, .stages = 4, .may_run_again = false};

}  // namespace

TEST_CASE("what is found first is the best of all candidates, whatever is dear on a machine") {
  Machine memory = machine_of(2e-10);  // updates take as long as passes
  memory.per_flop = 1e-12;
  memory.per_memory_byte = 5e-13;
  for (const Machine& machine : {machine_of(0), machine_of(1e-10), machine_of(1e-8), memory, h100_nodes(), with_speed(memory, 0, 0, 0.5)})
    for (const std::int64_t kilobytes : {0, 130, 300}) {
      const Wishes wishes{.devices = 4, .batch = 16, .memory = Bytes{kilobytes * 1000}, .may_round = true};
      const SearchResult found = search(small_model(), wishes, machine);
      CAPTURE(kilobytes);
      REQUIRE(found.fault.sentence().view() == "");
      CHECK(found.plans.front().step.value == fastest(wishes, machine));
      CHECK(found.candidates == found.simulated + found.refused + found.too_large + found.slower);
    }
}

TEST_CASE("plans of a search fit, are sound, have other axes each, and the faster one stands first") {
  const Wishes wishes{.devices = 8, .batch = 32, .memory = Bytes{200'000}};
  const SearchResult found = search(small_model(), wishes, machine_of(1e-9));
  REQUIRE(found.plans.size() > 3);
  for (std::size_t i = 0; i < found.plans.size(); ++i) {
    const FoundPlan& plan = found.plans[i];
    CHECK(plan.memory <= wishes.memory);
    const LoweredPlan lowered = lower(request_for(small_model(), plan.choice, wishes.batch, wishes.memory));
    CHECK(check(lowered).ok());
    CHECK(simulate(lowered.training(), machine_of(1e-9)).step == plan.step);
    if (i > 0) CHECK(found.plans[i - 1].step <= plan.step);
    for (std::size_t k = 0; k < i; ++k) CHECK_FALSE(found.plans[k].has_axes_of(plan.choice));
  }
  CHECK(found.too_large > 0);
}

TEST_CASE("bounds leave out what cannot win") {
  const SearchResult found = search(small_model(), {.devices = 8, .batch = 32}, machine_of(1e-9));
  CHECK(found.slower > found.candidates / 10);
}

TEST_CASE("where nothing fits the sentence says what the smallest needs") {
  const SearchResult found = search(small_model(), {.devices = 2, .batch = 16, .memory = 10_KB}, machine_of(1e-9));
  CHECK(found.plans.empty());
  const std::string text{found.fault.sentence().view()};
  CHECK(text.find("[heddle.M20] no plan of 2 devices trains Searched with Batch<16> in 10_KB a device: ") == 0);
  CHECK(text.find("Fix: take more devices, more memory or a smaller batch.") != std::string::npos);
  CHECK(found.least_memory > 10_KB);
}

TEST_CASE("devices that do not divide the batch are told") {
  const SearchResult found = search(small_model(), {.devices = 13, .batch = 16}, machine_of(1e-9));
  CHECK(std::string{found.fault.sentence().view()}.find("[heddle.M20] no plan of 13 devices trains Searched with Batch<16>") == 0);
  CHECK(search(small_model(), {.devices = 0, .batch = 16}, machine_of(1e-9)).fault.code == Code{'M', 19});
}

TEST_CASE("where no product of axes can be tried the sentence says what is missing") {
  const auto says = [](const Wishes& wishes) { return std::string{search(small_model(), wishes, machine_of(1e-9)).fault.sentence().view()}; };
  const int layers = small_model().graph->node_count;
  CHECK(says({.devices = 64, .batch = 64, .stages = 64}) == "[heddle.M20] no plan of 64 devices trains Searched with Batch<64>: it has " +
                                                                std::to_string(layers) + " layers to cut into 64 stages. Fix: ask for at most " +
                                                                std::to_string(layers) + ".");
  const std::string rows =
      ": no product of axes gives each replica a whole number of rows, at least one for each of its stages. Fix: take a batch "
      "that the number of devices divides.";
  CHECK(says({.devices = 4, .batch = 2, .stages = 4}) == "[heddle.M20] no plan of 4 devices trains Searched with Batch<2>" + rows);
  CHECK(search(small_model(), {.devices = 4, .batch = 4, .stages = 4}, machine_of(1e-9)).plans.size() > 0);
}

TEST_CASE("where a rule refuses each candidate the sentence is that of the first") {
  const SearchResult found = search(small_model(), {.devices = 13, .batch = 12, .most_tensor = 13}, machine_of(1e-9));
  CHECK(found.refused == found.candidates);
  const std::string text{found.fault.sentence().view()};
  CHECK(text.find(": a rule refuses each of " + std::to_string(found.candidates) + " candidates, the first with P01, TensorParallel<13> ") !=
        std::string::npos);
  CHECK(found.first_refused.code == "P01");
}

TEST_CASE("of two cuts that are compared the one that needs more memory than there is has the rule that refuses it") {
  const Machine machine = machine_of(1e-12);
  int too_large = 0;
  for (const int slow : {2, 20, 38}) {
    const SearchedModel model = measured(machine, slow, 12);
    Wishes wishes = four_stages;
    const SearchResult roomy = search(model, wishes, machine);
    REQUIRE(roomy.cut);
    CHECK(roomy.cut->times_refused.ok());
    CHECK(roomy.cut->operations_refused.ok());
    wishes.memory = std::min(roomy.cut->by_times.memory, roomy.cut->by_operations.memory);
    const SearchResult tight = search(model, wishes, machine);
    REQUIRE(tight.cut);
    for (const auto& [plan, refused] :
         {std::pair{tight.cut->by_times, tight.cut->times_refused}, std::pair{tight.cut->by_operations, tight.cut->operations_refused}}) {
      CHECK((plan.memory > wishes.memory) == (refused.code == "C01"));
      too_large += plan.memory > wishes.memory ? 1 : 0;
    }
  }
  CHECK(too_large > 0);
}

TEST_CASE("the memory of a machine is the limit if none is wished") {
  Machine machine = machine_of(1e-9);
  const Bytes without = search(small_model(), {.devices = 4, .batch = 16}, machine).plans.front().memory;
  machine.memory = Bytes{without.value - 1};
  const SearchResult found = search(small_model(), {.devices = 4, .batch = 16}, machine);
  REQUIRE(found.plans.size() > 0);
  CHECK(found.plans.front().memory <= machine.memory);
  CHECK(found.too_large > 0);
}

TEST_CASE("a machine that cannot be, or has fewer devices, is told") {
  Machine machine = machine_of(1e-9);
  machine.devices = 2;
  CHECK(search(small_model(), {.devices = 4, .batch = 16}, machine).fault.sentence().view() ==
        "[heddle.M17] a plan is searched for 4 devices, the Machine has 2. Fix: ask for at most as many, or name a larger Machine.");
  CHECK(search(small_model(), {.devices = 4, .batch = 16}, machine_of(-1)).fault.code == Code{'M', 16});
}

TEST_CASE("a fast level draws the axis that talks most to its inside") {
  Machine machine = machine_of(1e-7);
  machine.levels[0] = {4, 1e-7, 1e-10};
  const SearchResult found = search(small_model(), {.devices = 16, .batch = 64, .most_tensor = 16}, machine);
  REQUIRE(found.plans.size() > 0);
  for (const FoundPlan& plan : found.plans) CHECK(plan.choice.tensor <= 4);
}

TEST_CASE("a layer that was measured to be slow moves the cut, and the step is shorter than under the cut by operations") {
  const Machine machine = machine_of(1e-12);
  const SearchResult found = search(measured(machine, 2, 12), four_stages, machine);  // a product of the first block
  REQUIRE(found.fault.sentence().view() == "");
  REQUIRE(found.cut);
  const FoundPlan& by_times = found.cut->by_times;
  CHECK(by_times.choice == found.plans[0].choice);
  CHECK(by_times.choice.cuts > 0);
  CHECK(found.cut->by_operations.choice.cuts == 0);
  CHECK(by_times.step.value < 0.9 * found.cut->by_operations.step.value);
  const LoweredPlan balanced = lower(request_for(small_model(), found.cut->by_operations.choice, 32, Bytes{0}));
  CHECK(by_times.choice.before[0] < balanced.training().first_node[1]);  // the stage of the slow layer has fewer others
  CHECK(policy_text(by_times.choice).find("Pipeline<extending::CutBefore<") == 0);
}

TEST_CASE("what a search finds under measured times is the best of all candidates under them, of both cuts") {
  const Machine machine = machine_of(1e-10);
  const SearchedModel model = measured(machine, 2, 8);
  const MeasuredLayers layers{model, machine};
  const Wishes wishes{.devices = 4, .batch = 16, .may_round = true};
  double least = std::numeric_limits<double>::infinity();
  int cut = 0;
  cost_room::each_candidate(model, wishes, [&](const PlanChoice& c) {
    cut += c.cuts > 0 ? 1 : 0;
    const LoweredPlan plan = lower(request_for(model, c, wishes.batch, wishes.memory));
    if (plan.fault().ok() && check(plan).ok()) least = std::min(least, simulate(plan.training(), machine, layers.view()).step.value);
  });
  CHECK(cut > 0);
  CHECK(search(model, wishes, machine).plans.front().step.value == least);
}

TEST_CASE("times as the machine says find the plans that it finds, and without times no cut is compared") {
  const Machine machine = machine_of(1e-10);
  const SearchResult measured_ones = search(measured(machine, 0, 1), four_stages, machine), plain = search(small_model(), four_stages, machine);
  CHECK(measured_ones.plans[0].step.value <= plain.plans[0].step.value * (1 + 1e-9));
  CHECK_FALSE(plain.cut);
}

TEST_CASE("times of other layers refuse a search, and so do stages that cannot be") {
  SearchedModel model = measured(h100_nodes(), 0, 1);
  model.times.layers.pop_back();
  CHECK(search(model, four_stages, h100_nodes()).fault.code == "M22");
  CHECK(check_wishes({.devices = 4, .stages = -1}).code == "M19");
  CHECK(search(small_model(), {.devices = 4, .batch = 32, .stages = 3}, h100_nodes()).fault.sentence().view() ==
        "[heddle.M19] a plan is searched for 3 stages, which do not divide 4 devices. Fix: name a number that does.");
  for (const FoundPlan& plan : search(small_model(), four_stages, h100_nodes()).plans) CHECK(plan.choice.stages == 4);
}
