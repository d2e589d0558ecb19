// SPDX-License-Identifier: MIT
#include "heddle/run/program_walk.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Net : Sequential<Linear<4, 3>, ReLU, Linear<3, 2>> {};
using Piped = Plan<Net, CrossEntropy, SGD, Batch<8>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;

struct At {
  int line, entry;
  friend bool operator==(const At&, const At&) = default;
};

/// All lines and entries of a role, from the Program alone.
std::vector<At> all_of(const Program& p, int role, bool reporting) {
  std::vector<At> all;
  for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
    const Instruction& line = p.instructions[i];
    if (line.when == When::reporting && !reporting) continue;
    all.push_back({i, -1});
    if (!computes(line.op)) continue;
    for (int e = p.body(line).begin; e < p.body(line).end; ++e) {
      const When when = p.entries[e].when;
      if (when == When::reporting && !reporting) continue;
      if (when == When::last_micro_batch && line.micro_batch != 1) continue;
      if (when == When::first_micro_batch && line.micro_batch != 0) continue;
      if (when == When::later_micro_batches && line.micro_batch == 0) continue;
      all.push_back({i, e});
    }
  }
  return all;
}

struct Seen : Observer {
  std::vector<At> begun, ended;
  void started(const Observation& at) override { begun.push_back({at.instruction, at.entry}); }
  void finished(const Observation& at) override {
    CHECK(at.end >= at.start);
    ended.push_back({at.instruction, at.entry});
  }
};

StepInput input_of(const Program& p, bool reporting, Observer* observer = nullptr) {
  StepInput input;
  input.program = &p;
  input.reporting = reporting;
  input.observer = observer;
  return input;
}

}  // namespace

TEST_CASE("a walk does each line and entry of its role once, in the order of the Program, however often others keep it") {
  for (const int role : {0, 1})
    for (const bool reporting : {false, true})
      for (const int kept_each : {0, 1, 3}) {
        Seen seen;
        const StepInput input = input_of(Piped::training, reporting, &seen);
        ProgramWalk walk{Rank{role}, role};
        CHECK(walk.program() == nullptr);
        CHECK(walk.over());
        walk.begin(input);
        std::vector<At> done;
        int kept = 0, times_kept = 0;
        const auto work = [&] {
          if (kept++ < kept_each) return false;
          kept = 0;
          if (!computes(Piped::training.instructions[walk.line()].op) || walk.entry() >= 0) done.push_back({walk.line(), walk.entry()});
          return true;
        };
        for (bool over = false; !over;) {
          if (computes(Piped::training.instructions[walk.line()].op) && walk.entry() < 0) done.push_back({walk.line(), -1});
          const Progress made = walk.advance([&](const Instruction&) { return work(); }, [&](const Entry&) { return work(); });
          times_kept += made == Progress::kept ? 1 : 0;
          CHECK((made == Progress::done) == walk.over());
          over = walk.over();
        }
        CHECK((done == all_of(Piped::training, role, reporting)));
        CHECK((seen.begun == done));
        CHECK(seen.ended.size() == done.size());
        CHECK((times_kept > 0) == (kept_each > 0));
        CHECK(walk.line() == done.back().line);  // there is a line to name when all is done
        CHECK(walk.advance([](const Instruction&) { return true; }, [](const Entry&) { return true; }) == Progress::done);
      }
}

TEST_CASE("an entry that has started what it waits for has moved, once, and is kept after that") {
  const StepInput input = input_of(Piped::training, false);
  ProgramWalk walk{Rank{0}, 0};
  walk.begin(input);
  const auto pass = [](const Instruction&) { return true; };
  while (walk.entry() < 0) (void)walk.advance(pass, [](const Entry&) { return true; });
  const int entry = walk.entry();
  int starts = 0;
  const auto waits = [&](const Entry&) {
    starts += walk.starts() ? 1 : 0;
    return false;
  };
  CHECK(walk.advance(pass, waits) == Progress::moved);
  CHECK(walk.advance(pass, waits) == Progress::kept);
  CHECK(walk.advance(pass, waits) == Progress::kept);
  CHECK(starts == 1);
  CHECK(walk.entry() == entry);
  CHECK(walk.advance(pass, [](const Entry&) { return true; }) == Progress::moved);
  CHECK(walk.entry() != entry);
}

TEST_CASE("what an observer throws was thrown by the observer, and a new step begins at the first line") {
  struct Throws : Observer {
    void started(const Observation&) override { throw 7; }
  } throws;
  const StepInput input = input_of(Piped::training, false, &throws);
  ProgramWalk walk{Rank{1}, 1};
  walk.begin(input);
  const auto pass = [](const auto&) { return true; };
  CHECK_THROWS_AS((void)walk.advance(pass, pass), int);
  CHECK(walk.in_observer());
  const StepInput again = input_of(Piped::training, false);
  walk.begin(again);
  CHECK_FALSE(walk.in_observer());
  CHECK(walk.line() == Piped::training.lists[1].begin);
  CHECK(walk.advance(pass, pass) == Progress::moved);
}

TEST_CASE("an entry that has run with the one before it is passed") {
  const StepInput input = input_of(Piped::training, false);
  ProgramWalk walk{Rank{0}, 0};
  walk.begin(input);
  std::vector<At> done;
  while (!walk.over())
    walk.advance([](const Instruction&) { return true; },
                 [&](const Entry& entry) {
                   done.push_back({walk.line(), walk.entry()});
                   if (entry.fused) walk.pass_entry();
                   return true;
                 });
  std::vector<At> wanted;
  for (const At at : all_of(Piped::training, 0, false))
    if (at.entry >= 0 && !(at.entry > 0 && Piped::training.entries[at.entry - 1].fused)) wanted.push_back(at);
  CHECK((done == wanted));
  CHECK(wanted.size() < all_of(Piped::training, 0, false).size());
}
