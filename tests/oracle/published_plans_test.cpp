// SPDX-License-Identifier: MIT
// The ten configurations of Megatron-LM 2021, Table 1: sizes of axes tensor and stage, devices, rows of a step. Each is a plan of Heddle that fits an
// A100 of 80 GB, but for the last, whose operations are more than can be counted. What the search finds is at most 5 % slower than the published
// axes.
// Source  sources.md#megatron-2021
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "heddle/cost/search/search.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

template <std::int64_t Width, int Head>
struct AttentionPart : Residual<LayerNorm<Width>, Linear<Width, 3 * Width>, SelfAttention<Heads<Head>, Causal>, Linear<Width, Width>> {};
template <std::int64_t Width> struct FeedPart : Residual<LayerNorm<Width>, Linear<Width, 4 * Width>, GELUTanh, Linear<4 * Width, Width>> {};
template <int Layers, std::int64_t Width, int Head>
struct Gpt : Sequential<Input<2048>, Named<"wte", Embedding<51'200, Width>>, LearnedPositions<2048, Width>,
                        Repeat<Layers, Sequential<AttentionPart<Width, Head>, FeedPart<Width>>>, LayerNorm<Width>,
                        Tied<"head", Linear<Width, 51'200, NoBias>, To<"wte">>> {};

constexpr Bytes card = 80_GB;

/// A row of the table: tensor x stage ranks of so many devices, and rows of a step.
struct Published {
  int tensor, stages, devices, rows;
};

/// 312 TFLOP/s in bfloat16, of which products reach a half; 2 TB/s; 300 GB/s of NVLink each way inside a node, 25 GB/s a device between nodes.
/// Source  sources.md#a100
Machine a100_nodes() {
  Machine machine;
  machine.alpha = 9.6e-6;
  machine.beta = each_of(25e9);
  machine.per_flop = each_of(19.5e12);
  machine.per_bfloat16_flop = each_of(312e12);
  machine.efficiency.points[0] = {0, 0.5};
  machine.per_memory_byte = each_of(2e12);
  machine.collectives = CollectiveAlgorithm::fastest;
  machine.levels[0] = {8, 3.4e-6, each_of(300e9)};
  return machine;
}

/// The published axes with `rows_at_once` rows in a micro-batch; Table 1 does not say how many.
PlanChoice published(const Published& row, int rows_at_once, bool again) {
  PlanChoice choice;
  choice.tensor = row.tensor;
  choice.stages = row.stages;
  choice.data = row.devices / row.tensor / row.stages;
  (row.stages > 1 ? choice.micro_batches : choice.rounds) = row.rows / choice.data / rows_at_once;
  choice.again = again;
  choice.rounds_values = true;
  return choice;
}
Bytes most_of(const Program& p) {
  Bytes most;
  for (int r = 0; r < p.roles; ++r) most = std::max(most, Bytes{p.arenas[r].total});
  return most;
}
/// The fastest of the published axes that fits, with 1, 2 or 4 rows at once, and with layers that run again or without.
double seconds_of_published(const SearchedModel& model, const Published& row, const Machine& machine) {
  double best = std::numeric_limits<double>::infinity();
  for (const int at_once : {1, 2, 4})
    for (const bool again : {false, true}) {
      if (row.rows % (row.devices / row.tensor / row.stages * at_once) != 0) continue;
      const LoweredPlan plan = lower(request_for(model, published(row, at_once, again), row.rows, card));
      if (plan.fault().ok() && most_of(plan.training()) <= card) best = std::min(best, simulate(plan.training(), machine).step.value);
    }
  return best;
}

template <int Layers, std::int64_t Width, int Head> const SearchedModel& gpt() {
  static const SearchedModel model = searched_model<Gpt<Layers, Width, Head>, CrossEntropy, AdamW>();
  return model;
}

/// The sentence that refuses the published plan with recomputation; empty if every rule accepts it and it fits.
std::string refused(const SearchedModel& model, const Published& row, int rows_at_once = 1) {
  const LoweredPlan plan = lower(request_for(model, published(row, rows_at_once, true), row.rows, card));
  return std::string{check(plan).sentence().view()};
}

}  // namespace

TEST_CASE("nine of the ten published plans pass every rule and fit; the operations of the tenth are more than can be counted") {
  CHECK(refused(gpt<24, 2304, 24>(), {1, 1, 32, 512}) == "");
  CHECK(refused(gpt<30, 3072, 32>(), {2, 1, 64, 512}) == "");
  CHECK(refused(gpt<36, 4096, 32>(), {4, 1, 128, 512}) == "");
  CHECK(refused(gpt<40, 6144, 48>(), {8, 1, 256, 1024}) == "");
  CHECK(refused(gpt<48, 8192, 64>(), {8, 2, 512, 1536}) == "");
  CHECK(refused(gpt<60, 10240, 80>(), {8, 4, 1024, 1792}) == "");
  CHECK(refused(gpt<80, 12288, 96>(), {8, 8, 1536, 2304}) == "");
  CHECK(refused(gpt<96, 16384, 128>(), {8, 16, 1920, 2160}) == "");
  CHECK(refused(gpt<105, 20480, 128>(), {8, 35, 2520, 2520}, 2) == "");
  CHECK(refused(gpt<128, 25600, 160>(), {8, 64, 3072, 3072}).find("[heddle.G21]") == 0);
}

TEST_CASE("what the search finds is at most 5 % slower than the published axes, in at least 90 % of the rows") {
  int rows = 0, held = 0;
  const auto hold = [&](const SearchedModel& model, const Published& row) {
    const Machine machine = a100_nodes();
    const SearchResult found = search(model, {.devices = row.devices, .batch = row.rows, .memory = card, .has_to_round = true}, machine);
    REQUIRE(found.fault.sentence().view() == "");
    const double reference = seconds_of_published(model, row, machine);
    CAPTURE(policy_text(found.plans[0].choice));
    CHECK(reference < 1e9);
    ++rows;
    held += found.plans[0].step.value <= 1.05 * reference ? 1 : 0;
  };
  hold(gpt<24, 2304, 24>(), {1, 1, 32, 512});
  hold(gpt<30, 3072, 32>(), {2, 1, 64, 512});
  hold(gpt<36, 4096, 32>(), {4, 1, 128, 512});
  hold(gpt<40, 6144, 48>(), {8, 1, 256, 1024});
  MESSAGE(rows << " rows of Megatron-LM checked, " << held << " held");
  CHECK(10 * held >= 9 * rows);
}
