// SPDX-License-Identifier: MIT
// Configurations of Alpa's benchmarks: those that are plans here, with what they need of a device, and those that are refused and why.
// Source: sources.md#alpa.
#include "oracle/alpa.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include "heddle/cost/search/search.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::tests::alpa;

namespace {

constexpr std::int64_t vocabulary = 51'200, positions = 1024;

template <std::int64_t Width, int Head>
struct AttentionPart : Residual<LayerNorm<Width>, Linear<Width, 3 * Width>, SelfAttention<Heads<Head>, Causal>, Linear<Width, Width>> {};
template <std::int64_t Width> struct FeedPart : Residual<LayerNorm<Width>, Linear<Width, 4 * Width>, GELUTanh, Linear<4 * Width, Width>> {};
template <int Layers, std::int64_t Width, int Head>
struct Gpt : Sequential<Input<positions>, Named<"wte", Embedding<vocabulary, Width>>, LearnedPositions<positions, Width>,
                        Repeat<Layers, Sequential<AttentionPart<Width, Head>, FeedPart<Width>>>, LayerNorm<Width>,
                        Tied<"head", Linear<Width, vocabulary, NoBias>, To<"wte">>> {};
template <int Layers, std::int64_t Width, int Head> const SearchedModel& gpt() {
  static const SearchedModel model = searched_model<Gpt<Layers, Width, Head>, CrossEntropy, AdamW>();
  return model;
}
const SearchedModel& model_of(Size size) {
  switch (size) {
    case Size::m125: return gpt<12, 768, 12>();
    case Size::m350: return gpt<24, 1024, 16>();
    case Size::m760: return gpt<24, 1536, 16>();
    case Size::b1_3: return gpt<24, 2048, 32>();
    case Size::b2_6: return gpt<32, 2560, 32>();
    case Size::b6_7: return gpt<32, 4096, 32>();
    case Size::b15: return gpt<48, 5120, 40>();
    case Size::b39: return gpt<48, 8192, 64>();
  }
  return gpt<12, 768, 12>();
}

/// All of Alpa's rows run layers again and reduce-scatter gradients, so that replicas have slices of optimizer states.
PlanChoice choice_of(const Configuration& row) {
  PlanChoice choice;
  choice.tensor = row.tensor;
  choice.stages = row.stages;
  choice.shard = row.data;
  choice.slices = SearchedSlices::states;
  (row.stages > 1 ? choice.micro_batches : choice.rounds) = row.micro_batches;
  choice.again = choice.rounds_values = true;
  return choice;
}
LoweredPlan lowered(const Configuration& row) { return lower(request_for(model_of(row.size), choice_of(row), row.rows, Bytes{0})); }
Bytes most_of(const Program& p) {
  Bytes most;
  for (int r = 0; r < p.roles; ++r) most = std::max(most, Bytes{p.arenas[r].total});
  return most;
}
/// Parameters, gradients and a slice of two states of an even part of the model: no device of the row has less.
double least_bytes(const Configuration& row) {
  const auto elements = static_cast<double>(model_of(row.size).graph->parameter_elements()) / row.tensor / row.stages;
  return elements * (8 + 8.0 / row.data);
}

}  // namespace

TEST_CASE("97 configurations of 1,024 sequences are plans of as many devices, and say what they need of one") {
  int plans = 0, fit = 0;
  for (const Configuration& row : of_1024) {
    CAPTURE(row.devices);
    CAPTURE(policy_text(choice_of(row)));
    REQUIRE(row.devices == row.data * row.tensor * row.stages);
    const LoweredPlan plan = lowered(row);
    REQUIRE(plan.fault().sentence().view() == "");
    CHECK(check(plan).sentence().view() == "");
    CHECK(plan.training().mesh.ranks() == row.devices);
    CHECK(plan.training().batch.micro_rows * row.data * row.micro_batches == 1024);
    const Bytes most = most_of(plan.training());
    CHECK(static_cast<double>(most.value) > least_bytes(row));
    ++plans;
    fit += most <= 16_GB ? 1 : 0;
  }
  MESSAGE(plans << " plans, of which " << fit << " fit in 16 GB");
  CHECK(plans == 97);
  CHECK(fit == 91);
}

TEST_CASE("no configuration is counted twice") {
  const auto same = [](const Configuration& a, const Configuration& b) {
    return a.devices == b.devices && a.size == b.size && a.data == b.data && a.tensor == b.tensor && a.stages == b.stages && a.rows == b.rows &&
           a.micro_batches == b.micro_batches;
  };
  for (const auto* rows : {&of_1024, &too_few_micro_batches})
    for (const Configuration& row : *rows)
      CHECK(std::count_if(rows->begin(), rows->end(), [&](const Configuration& r) { return same(r, row); }) == 1);
}

TEST_CASE("28 configurations of fewer micro-batches than stages are refused for that") {
  int refused = 0;
  for (const Configuration& row : too_few_micro_batches) {
    CAPTURE(policy_text(choice_of(row)));
    REQUIRE(row.devices == row.data * row.tensor * row.stages);
    const LoweringRequest request = request_for(model_of(row.size), choice_of(row), row.rows, Bytes{0});
    CHECK(request.layout.fault.code == "S02");
    refused += request.layout.fault.code == "S02" ? 1 : 0;
    Configuration filled = row;  // as many micro-batches as stages
    filled.micro_batches = row.stages;
    filled.rows = row.data * row.stages;
    CHECK(request_for(model_of(row.size), choice_of(filled), filled.rows, Bytes{0}).layout.fault.ok());
  }
  CHECK(refused == 28);
}

TEST_CASE("of the seven plans that Alpa's search found six are plans; that of 8 devices has stages of 2, 2 and 4 devices, which no mesh has") {
  for (const Configuration& row : found) {
    CAPTURE(policy_text(choice_of(row)));
    const LoweredPlan plan = lowered(row);
    REQUIRE(plan.fault().sentence().view() == "");
    CHECK(check(plan).sentence().view() == "");
    CHECK(plan.training().mesh.ranks() == row.devices);
  }
  CHECK(check_wishes({.devices = 8, .batch = 1024, .stages = 3}).sentence().view() ==
        "[heddle.M19] a plan is searched for 3 stages, which do not divide 8 devices. Fix: name a number that does.");
}

TEST_CASE(
    "what Alpa calls impossible for stages of as many layers each, 15B of 48 layers in 32 stages, is a plan: a layer is cut between its parts") {
  const LoweredPlan plan = lowered({32, Size::b15, 1, 1, 32, 1024, 256});
  CHECK(check(plan).sentence().view() == "");
  CHECK(plan.training().chunks == 32);
}

TEST_CASE(
    "Alpa measured 8.745 GB for 2.6B as 2 x 2 x 2, 4 micro-batches of 8; the plan, whose parameters and gradients are float32, has a fifth more") {
  const LoweredPlan plan = lowered({8, Size::b2_6, 2, 2, 2, 32, 4});
  REQUIRE(plan.fault().ok());
  const double gigabytes = static_cast<double>(most_of(plan.training()).value) / 1e9;
  CHECK(gigabytes > 8.745);
  CHECK(gigabytes < 1.2 * 8.745);
}

TEST_CASE("the parameters that Alpa prints for 2.6B, 2.649 billion, are those of its layers and table without positions") {
  const Graph& graph = *model_of(Size::b2_6).graph;
  const double billions = static_cast<double>(graph.parameter_elements() - positions * 2560) / 1e9;
  CHECK(billions == doctest::Approx(2.649).epsilon(2e-4));
}

namespace {

/// Nodes of 8 V100 that NVLink joins, with 25 Gbit/s between nodes: the devices of Alpa's rows.
/// Source  sources.md#v100
Machine v100_nodes() {
  Machine machine;
  machine.alpha = 20e-6;
  machine.beta = each_of(25e9 / 8 / 8);
  machine.per_flop = each_of(15.7e12);
  machine.per_bfloat16_flop = each_of(125e12);
  machine.efficiency.points[0] = {0, 0.5};
  machine.per_memory_byte = each_of(900e9);
  machine.collectives = CollectiveAlgorithm::fastest;
  machine.levels[0] = {8, 3.4e-6, each_of(150e9)};
  return machine;
}
/// What is searched: 16 devices for 2.6B.
struct Asked {
  Size size;
  int devices;
};
/// The fastest of all rows of a size on so many devices that fits.
double fastest_row(Size size, int devices, const Machine& machine) {
  double best = std::numeric_limits<double>::infinity();
  for (const Configuration& row : of_1024) {
    if (row.size != size || row.devices != devices) continue;
    const LoweredPlan plan = lowered(row);
    if (most_of(plan.training()) <= 16_GB) best = std::min(best, simulate(plan.training(), machine).step.value);
  }
  return best;
}

}  // namespace

TEST_CASE("what the search finds is at most 5 % slower than the fastest of all rows of that size and number of devices, in at least 90 % of them") {
  const Machine machine = v100_nodes();
  int sizes = 0, held = 0;
  for (const Asked& asked : {Asked{Size::m760, 2}, Asked{Size::m760, 4}, Asked{Size::b1_3, 4}, Asked{Size::b1_3, 8}, Asked{Size::b2_6, 8},
                             Asked{Size::b2_6, 16}, Asked{Size::b6_7, 16}, Asked{Size::b6_7, 32}, Asked{Size::b15, 32}}) {
    const Wishes wishes{.devices = asked.devices, .batch = 1024, .memory = 16_GB, .may_round = true, .has_to_round = true};
    const SearchResult best = search(model_of(asked.size), wishes, machine);
    REQUIRE(best.fault.sentence().view() == "");
    const double reference = fastest_row(asked.size, asked.devices, machine);
    CAPTURE(policy_text(best.plans[0].choice));
    CAPTURE(asked.devices);
    CHECK(reference < 1e9);
    ++sizes;
    held += best.plans[0].step.value <= 1.05 * reference ? 1 : 0;
  }
  MESSAGE(sizes << " sizes of Alpa checked, " << held << " held");
  CHECK(10 * held >= 9 * sizes);
}
