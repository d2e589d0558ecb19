// SPDX-License-Identifier: MIT
#include "heddle/plan/check/slices.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/one_unit.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Kept = Trained<Skips, Sharded<2, Gradients>>;
using Sliced = Trained<Skips, Sharded<2>>;
using Held = Trained<Skips, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Keep::Step>>>;
using Halved = Trained<Skips, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>>>;
using Halves = Trained<Skips, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2, Gradients>>>;
using Staged = Trained<Skips, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>;
/// Frozen units are gathered beside trained ones: in front, in a block with one, behind.
struct Adapted : Sequential<Frozen<Linear<8, 6>>, Tanh, Linear<6, 6>, OneUnit<Frozen<Linear<6, 12>>, GELU, Linear<12, 6>>, Frozen<Linear<6, 4>>> {};
using Thawed = Trained<Adapted, Sharded<2>>;
using ThawedHalves = Trained<Adapted, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>>>;

bool moves(const Entry& entry) { return entry.bucket >= 0; }

/// Every entry that gathers or reduces, left out alone, is found.
template <class P> int found_without_an_entry(const Program& original) {
  REQUIRE(check_slices(original).ok());
  int missed = 0;
  Copy copy{original};
  for (Entry& entry : copy.entries) {
    if (!moves(entry)) continue;
    if (entry.what == BodyOp::reduce_start && !original.storage.gradients) continue;
    const Entry kept = entry;
    entry = Entry{};
    entry.what = BodyOp::copy;
    missed += check_slices(copy.view()).code == Code{'S', 11} ? 0 : 1;
    entry = kept;
  }
  return missed;
}

}  // namespace

TEST_CASE("a plan whose units pass through rings gathers and waits as it must") {
  CHECK(check_slices(training_of<Kept>()).ok());
  CHECK(check_slices(training_of<Sliced>()).ok());
  CHECK(check_slices(evaluation_of<Sliced>()).ok());
  CHECK(check_slices(training_of<Staged>()).ok());
  CHECK(check_slices(evaluation_of<Staged>()).ok());
  CHECK(check_slices(training_of<Held>()).ok());
  CHECK(check_slices(evaluation_of<Held>()).ok());
}

TEST_CASE("any one gather, reduction or wait that is missing is found") {
  CHECK(found_without_an_entry<Kept>(training_of<Kept>()) == 0);
  CHECK(found_without_an_entry<Sliced>(training_of<Sliced>()) == 0);
  CHECK(found_without_an_entry<Thawed>(training_of<Thawed>()) == 0);
  CHECK(found_without_an_entry<Thawed>(evaluation_of<Thawed>()) == 0);
  CHECK(found_without_an_entry<ThawedHalves>(training_of<ThawedHalves>()) == 0);
  CHECK(found_without_an_entry<Sliced>(evaluation_of<Sliced>()) == 0);
  CHECK(found_without_an_entry<Staged>(training_of<Staged>()) == 0);
  CHECK(found_without_an_entry<Held>(training_of<Held>()) == 0);
  CHECK(found_without_an_entry<Halved>(training_of<Halved>()) == 0);
  CHECK(found_without_an_entry<Halves>(training_of<Halves>()) == 0);
  CHECK(found_without_an_entry<Held>(evaluation_of<Held>()) == 0);
  using OneUnit = Trained<Linear<8, 6>, Sharded<2, Gradients>>;  // nothing comes after it that could find it open
  CHECK(found_without_an_entry<OneUnit>(training_of<OneUnit>()) == 0);
}

TEST_CASE("a place that waits for a unit, the first as well, is not gathered into once more") {
  Copy copy{training_of<Sliced>()};
  int changed = 0;
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::gather_wait) continue;
    entry.what = BodyOp::gather_start;
    const std::string waits = " is gathered while the same place waits for unit " + std::to_string(entry.bucket) + ".";
    CHECK(check_slices(copy.view()).sentence().view().find(waits) != std::string_view::npos);
    entry.what = BodyOp::gather_wait;
    ++changed;
  }
  CHECK(changed > 0);
}

TEST_CASE("a gather of another unit into the slot that is in use is found") {
  Copy copy{training_of<Sliced>()};
  int changed = 0;
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::gather_start || entry.bucket < 2) continue;
    const Entry kept = entry;
    entry.bucket = static_cast<std::int16_t>(kept.bucket - 2);  // the other unit of that slot
    CHECK(check_slices(copy.view()).code == Code{'S', 11});
    entry = kept;
    ++changed;
  }
  CHECK(changed > 0);
}

TEST_CASE("a gather for another micro-batch than the plan says is found, and so is one of a unit that is kept in a backward") {
  for (const Program* p : {&training_of<Staged>(), &training_of<Held>(), &evaluation_of<Held>()}) {
    Copy copy{*p};
    for (Entry& entry : copy.entries) {
      if (entry.what != BodyOp::gather_start && entry.what != BodyOp::gather_wait) continue;
      const When kept = entry.when;
      entry.when = kept == When::always ? When::first_micro_batch : When::always;
      CHECK(check_slices(copy.view()).code == Code{'S', 11});
      entry.when = kept;
    }
  }
  Copy copy{training_of<Held>()};
  const auto starts = [](const Entry& entry) { return entry.what == BodyOp::gather_start; };
  copy.entries[static_cast<std::size_t>(training_of<Held>().backward_bodies[0].begin)] =
      *std::find_if(copy.entries.begin(), copy.entries.end(), starts);
  CHECK(check_slices(copy.view()).code == Code{'S', 11});
}

TEST_CASE("a gradient of parameters that is made where another is still reduced is found") {
  for (const Program* p : {&training_of<Halved>(), &training_of<Staged>()}) {
    Copy copy{*p};
    int changed = 0;
    for (std::size_t e = 0; e + 2 < copy.entries.size(); ++e) {
      Entry& wait = copy.entries[e];
      Entry& next = copy.entries[e + (copy.entries[e + 1].what == BodyOp::add_slice ? 2 : 1)];
      if (wait.what != BodyOp::reduce_wait || (next.what != BodyOp::leaf_backward && next.what != BodyOp::leaf_backward_weight)) continue;
      std::swap(wait, next);
      CHECK(check_slices(copy.view()).code == Code{'S', 11});
      std::swap(wait, next);
      ++changed;
    }
    CHECK(changed > 0);
  }
}

TEST_CASE("a gradient of parameters that is made of parameters which nobody gathered is found") {
  const Program& p = training_of<Trained<Blended, Hybrid<Pipeline<Balanced<1>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>>>>();
  Copy copy{p};
  int left_out = 0;
  for (int e = p.weight_bodies[0].begin; e < p.weight_bodies[0].end; ++e) {
    Entry& entry = copy.entries[static_cast<std::size_t>(e)];
    if (entry.what != BodyOp::gather_start && entry.what != BodyOp::gather_wait) continue;
    entry = Entry{};
    ++left_out;
  }
  CHECK(left_out == 4);
  CHECK(check_slices(copy.view()).words.view().find("Squared runs without the gathered parameters of unit 1") != std::string_view::npos);
}

TEST_CASE("gaps that are not zeroed in every micro-batch, or for another unit, and slices that are added too often or too rarely are found") {
  const auto spoiled = [](const Program& p, BodyOp what, auto spoil) {
    Copy copy{p};
    for (Entry& entry : copy.entries)
      if (entry.what == what) {
        spoil(entry);
        break;
      }
    return std::string{check_slices(copy.view()).words.view()};
  };
  const auto contains = [](const std::string& words, std::string_view wanted) { return words.find(wanted) != std::string::npos; };
  for (const Program* p : {&training_of<Halves>(), &training_of<Staged>()}) {
    REQUIRE(p->storage.adds_slices);
    CHECK(contains(spoiled(*p, BodyOp::zero_gaps, [](Entry& e) { e.when = When::first_micro_batch; }), " has gaps zeroed for some micro-batches"));
    CHECK(contains(spoiled(*p, BodyOp::zero_gaps, [](Entry& e) { e = Entry{}; }), " is reduced with what other units left between its tensors"));
    CHECK(contains(spoiled(*p, BodyOp::zero_gaps, [](Entry& e) { e.bucket = static_cast<std::int16_t>(e.bucket == 0 ? 1 : 0); }),
                   " is reduced with what other units left between its tensors"));
    CHECK(contains(spoiled(*p, BodyOp::add_slice, [](Entry& e) { e.when = When::always; }), " adds a slice that did not arrive, or not for each"));
    CHECK(contains(spoiled(*p, BodyOp::add_slice, [](Entry& e) { e = Entry{}; }), "add"));
    CHECK(contains(spoiled(*p, BodyOp::reduce_wait, [](Entry& e) { e.what = BodyOp::add_slice; }), " adds a slice that did not arrive"));
  }
  REQUIRE_FALSE(training_of<Kept>().storage.adds_slices);  // one micro-batch
  CHECK(contains(spoiled(training_of<Kept>(), BodyOp::zero_gaps, [](Entry& e) { e.what = BodyOp::add_slice; }), " adds a slice that did not arrive"));
}

TEST_CASE("a chunk whose kept units are gathered by another forward than its first is found") {
  Copy copy{training_of<Held>()};
  for (auto& list : copy.lists)
    for (Instruction& line : list)
      if (line.op == ListOp::forward) line.micro_batch = static_cast<std::int16_t>(1 - line.micro_batch);
  const Diagnosis found = check_slices(copy.view());
  CHECK(found.code == Code{'S', 11});
  CHECK(found.words.view().find("chunk 0 runs micro-batch 1 before micro-batch 0, which gathers") != std::string_view::npos);
}

TEST_CASE("the sentence says which gather was not started, and which waits for its place") {
  const auto with = [](BodyOp from, BodyOp to) {
    Copy copy{training_of<Sliced>()};
    for (Entry& entry : copy.entries) {
      if (entry.what != from) continue;
      entry.what = to;
      break;
    }
    return check_slices(copy.view());
  };
  CHECK(with(BodyOp::gather_start, BodyOp::copy).words.view().find("waits for a gather that was not started") != std::string_view::npos);
  CHECK(with(BodyOp::gather_wait, BodyOp::gather_start).words.view().find("is gathered while the same place waits for unit") !=
        std::string_view::npos);
}

TEST_CASE("the sentence names the layer and the unit") {
  Copy copy{training_of<Sliced>()};
  for (Entry& entry : copy.entries)
    if (entry.what == BodyOp::gather_wait) {
      entry.what = BodyOp::copy;
      break;
    }
  const Diagnosis found = check_slices(copy.view());
  CHECK(found.words.view().find("layer 0 '0' Linear<8, 6> runs without the gathered parameters of unit ") != std::string_view::npos);
  CHECK(found.words.view().find("Fix: ") != std::string_view::npos);
}

TEST_CASE("a gather of another frozen unit, of a trained one in its place, or a frozen unit that is reduced is found") {
  const Program& p = training_of<Thawed>();
  Copy copy{p};
  int tried = 0;
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::gather_start && entry.what != BodyOp::gather_wait) continue;
    const Entry kept = entry;
    for (std::int16_t b = 0; b < p.bucket_count + p.frozen_count; ++b) {
      if (b == kept.bucket) continue;
      entry.bucket = b;
      ++tried;
      CHECK(check_slices(copy.view()).code == Code{'S', 11});
    }
    entry = kept;
  }
  CHECK(tried > 40);
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::reduce_start) continue;
    const Entry kept = entry;
    entry.bucket = static_cast<std::int16_t>(p.bucket_count);
    CHECK(check_slices(copy.view()).code == Code{'S', 11});
    entry = kept;
  }
}
