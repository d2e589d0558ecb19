// SPDX-License-Identifier: MIT
#include "heddle/report/found_plans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "cost/search/models.hpp"

using namespace heddle;
using namespace heddle::extending;
using tests::small_model;

namespace {

FoundPlan found(const PlanChoice& choice, double step, double computing) {
  return {choice, Seconds{step}, Seconds{computing}, 3_GB, 1 - computing / step};
}

}  // namespace

TEST_CASE("seconds are told with three digits in the unit that suits them") {
  CHECK(report_room::seconds_words(Seconds{0.01234}) == "12.3 ms");
  CHECK(report_room::seconds_words(Seconds{1}) == "1.00 s");
  CHECK(report_room::seconds_words(Seconds{0.9999}) == "1.00 s");
  CHECK(report_room::seconds_words(Seconds{123.4}) == "123 s");
  CHECK(report_room::seconds_words(Seconds{4.5e-6}) == "4.50 us");
  CHECK(report_room::seconds_words(Seconds{2e-10}) == "0.20 ns");
  CHECK(report_room::seconds_words(Seconds{0}) == "0.00 s");
}

TEST_CASE("the reason is what differs more: what devices compute, or how long they wait") {
  const FoundPlan best = found({.data = 8}, 1, 0.9);
  CHECK(report_room::reason_words(best, found({.stages = 8, .micro_batches = 8}, 1.5, 0.9)) ==
        "Pipeline<Balanced<8>, OneFOneB, Microbatches<8>> takes 1.50 times as long: its devices wait for 600 ms of a step on average, those of the "
        "best for 100 ms.");
  CHECK(report_room::reason_words(best, found({.shard = 8}, 1.5, 1.4)) ==
        "Sharded<8> takes 1.50 times as long: its devices compute for 1.40 s on average, those of the best for 900 ms.");
}

TEST_CASE("what a search has found is a table of at most 100 columns, a reason, the type and what became of all candidates") {
  const Wishes wishes{.devices = 8, .batch = 64, .memory = 80_GB};
  SearchResult result;
  result.plans = {found({.tensor = 2,
                         .splits_sequences = true,
                         .stages = 4,
                         .order = SearchedOrder::interleaved_4,
                         .micro_batches = 16,
                         .again = true,
                         .rounds_values = true},
                        0.5, 0.4),
                  found({.stages = 2, .micro_batches = 4, .shard = 2, .slices_inside = true, .data = 2}, 0.75, 0.5),
                  found({.shard = 4, .slices = SearchedSlices::gradients, .data = 2, .rounds = 12, .again = true, .rounds_values = true}, 1, 0.5)};
  result.candidates = 12'345;
  result.simulated = 3;
  const std::string text = describe(small_model(), wishes, result);
  CHECK(text ==
        "  step   memory  waiting  tensor  stages or rounds     shard         data  beside\n"
        "500 ms  3.00 GB   20.0 %    2 SP  4 Interleaved<4> 16                      recompute, bf16\n"
        "750 ms  3.00 GB   33.3 %          2 OneFOneB 4         2 all inside     2\n"
        "1.00 s  3.00 GB   50.0 %          12 rounds            4 gradients      2  recompute, bf16\n"
        "\n"
        "Hybrid<Sharded<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>> takes 1.50 times as long: its devices wait for 250 ms "
        "of a step on average, those of the best for 100 ms.\n"
        "\n"
        "Plan<Searched, CrossEntropy, Adam, Batch<64>, Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<4>, Interleaved<4>, "
        "Microbatches<16>>>, Recompute<EveryBlock>, Mixed<BFloat16>, Memory<80_GB>>\n"
        "\n"
        "12,345 candidates: 3 simulated, 0 slower by a bound, 0 too large, 0 refused by a rule.\n");
}

TEST_CASE("what cannot be found is one sentence") {
  const Wishes wishes{.devices = 0, .batch = 64};
  CHECK(describe(small_model(), wishes, search(small_model(), wishes, Machine{})) ==
        "[heddle.M19] a plan is searched for 0 devices. Fix: name at least 1.\n");
}

TEST_CASE("two cuts of one plan are told with their steps, and which takes how many times as long") {
  const Wishes wishes{.devices = 2, .batch = 64};
  SearchResult result;
  const FoundPlan by_times = found({.stages = 2, .micro_batches = 4, .cuts = 1, .before = {11}}, 0.5, 0.4);
  result.plans = {by_times};
  result.cut = ComparedCut{by_times, found({.stages = 2, .micro_batches = 4}, 0.75, 0.3)};
  const std::string text = describe(small_model(), wishes, result);
  CHECK(text.find("          2 OneFOneB 4 by times") != std::string::npos);
  CHECK(text.find("\nCut by measured times,     CutBefore<11>: a step of 500 ms, 20.0 % waiting, 3.00 GB\n"
                  "cut by counted operations, Balanced<2>: a step of 750 ms, 60.0 % waiting, 3.00 GB\n"
                  "under those times the second takes 1.50 times as long.\n") != std::string::npos);
  CHECK(text.find("\nPlan<Searched, CrossEntropy, Adam, Batch<64>, Pipeline<extending::CutBefore<11>, OneFOneB, Microbatches<4>>>\n") !=
        std::string::npos);
  result.cut->by_operations.step = Seconds{0.501};
  CHECK(describe(small_model(), wishes, result).find("under those times both take as long.\n") != std::string::npos);
}

TEST_CASE("of a cut that does not fit, or that a rule refuses, the row says so and nothing is compared") {
  const Wishes wishes{.devices = 2, .batch = 64, .memory = 3_GB};
  SearchResult result;
  const FoundPlan by_times = found({.stages = 2, .micro_batches = 4, .cuts = 1, .before = {11}}, 0.5, 0.4);
  result.plans = {by_times};
  result.cut = ComparedCut{by_times, found({.stages = 2, .micro_batches = 4}, 0.75, 0.3)};
  result.cut->by_operations.memory = Bytes{3'270'000'000};
  result.cut->operations_refused = Diagnosis{Code{'C', 1}, "too much. Fix: less."};
  const std::string text = describe(small_model(), wishes, result);
  CHECK(text.find(
            "\ncut by counted operations, Balanced<2>: a step of 750 ms, 60.0 % waiting, 3.27 GB, which does not fit in 3_GB a device\n\nPlan<") !=
        std::string::npos);
  result.cut->by_operations = FoundPlan{{.stages = 2, .micro_batches = 4}, {}, {}, {}};
  result.cut->operations_refused = Diagnosis{Code{'M', 3}, "no. Fix: yes."};
  CHECK(describe(small_model(), wishes, result).find("\ncut by counted operations, Balanced<2>: refused: [heddle.M03] no. Fix: yes.\n\nPlan<") !=
        std::string::npos);
}

TEST_CASE("memory of small models is told in their unit") {
  SearchResult result;
  result.plans = {found({.data = 2}, 0.5, 0.4)};
  result.plans[0].memory = Bytes{203'640};
  CHECK(describe(small_model(), {.devices = 2, .batch = 64}, result).find("500 ms  203.64 KB ") != std::string::npos);
}

TEST_CASE("where layers were measured and no plan has stages, that is told") {
  SearchResult result;
  result.plans = {found({.data = 2}, 0.5, 0.4)};
  SearchedModel model = small_model();
  CHECK(describe(model, {.devices = 2, .batch = 64}, result).find("measured") == std::string::npos);
  model.times.layers.push_back({});
  CHECK(describe(model, {.devices = 2, .batch = 64}, result).find("\nNone of these plans has stages that could be cut by the measured times.\n") !=
        std::string::npos);
}
