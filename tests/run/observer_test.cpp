// SPDX-License-Identifier: MIT
#include "heddle/run/observer.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Linear<4, 6>, Tanh, Linear<6, 3>> {};
using Piped = Plan<Model, CrossEntropy, SGD, Batch<8>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;

struct Line {
  Observation seen;
  bool finished;
};
/// Keeps what each rank says apart.
struct Notes : Observer {
  std::vector<Line> lines[devices<Piped>];
  void started(const Observation& seen) override { lines[seen.rank.value].push_back({seen, false}); }
  void finished(const Observation& seen) override { lines[seen.rank.value].push_back({seen, true}); }
};

const std::vector<float> inputs(8 * 4, 0.25F);
const std::vector<std::int32_t> labels{0, 1, 2, 0, 1, 2, 0, 1};
const auto batch = examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 4);

}  // namespace

TEST_CASE("an observer that overrides nothing changes nothing") {
  Observer silent;
  Trainer<Piped, CpuThreads> observed{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Piped, CpuThreads> alone{{.learning_rate = 0.1}, Seed{1}};
  observed.observe(&silent);
  observed.step(batch);
  alone.step(batch);
  CHECK(observed.parameter_hash() == alone.parameter_hash());
}

TEST_CASE("what is started is finished, entries inside their instruction, with times that never go back") {
  Notes notes;
  Trainer<Piped, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  trainer.observe(&notes);
  trainer.step(batch);
  trainer.step(batch);
  for (int rank = 0; rank < devices<Piped>; ++rank) {
    std::vector<Observation> open;
    std::chrono::steady_clock::time_point last{};
    REQUIRE_FALSE(notes.lines[rank].empty());
    for (const auto& [seen, finished] : notes.lines[rank]) {
      CHECK(seen.rank == Rank{rank});
      CHECK(seen.program == &Piped::training);
      const auto now = finished ? seen.end : seen.start;
      CHECK(now >= last);
      last = now;
      if (!finished) {
        CHECK(open.size() == (seen.entry < 0 ? 0U : 1U));
        open.push_back(seen);
        continue;
      }
      REQUIRE_FALSE(open.empty());
      CHECK(open.back().instruction == seen.instruction);
      CHECK(open.back().entry == seen.entry);
      CHECK(open.back().start == seen.start);
      CHECK(open.back().step == seen.step);
      open.pop_back();
    }
    CHECK(open.empty());
    CHECK(notes.lines[rank].front().seen.step == 1);
    CHECK(notes.lines[rank].back().seen.step == 2);
  }
}

TEST_CASE("nobody is told anything once the observer is taken away") {
  Notes notes;
  Trainer<Piped, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  trainer.observe(&notes);
  trainer.step(batch);
  const std::size_t before = notes.lines[0].size();
  trainer.observe(nullptr);
  trainer.step(batch);
  CHECK(notes.lines[0].size() == before);
}
