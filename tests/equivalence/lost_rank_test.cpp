// SPDX-License-Identifier: MIT
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "equivalence/equal.hpp"

using namespace equivalence;

// A rank throws at one place of one step, at every place in turn. Nobody may hang, everybody is told who it was, and afterwards the trainer goes
// on with the right bits or says that it cannot.
namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Grain<2>, Bucket<1_KiB>, Parts...>;

struct Place {
  int rank;
  int instruction;
  int entry;
};

/// Notes every place of a step.
struct Places : Observer {
  explicit Places(int ranks) : by_rank(static_cast<std::size_t>(ranks)) {}
  void started(const Observation& seen) override {
    by_rank[static_cast<std::size_t>(seen.rank.value)].push_back({seen.rank.value, seen.instruction, seen.entry});
  }
  std::vector<std::vector<Place>> by_rank;
};

/// Throws at one place, before it is executed or after.
struct Thrower : Observer {
  Place at{};
  bool after = false;
  void meet(const Observation& seen) const {
    if (seen.rank.value == at.rank && seen.instruction == at.instruction && seen.entry == at.entry) throw std::runtime_error("the disk is on fire");
  }
  void started(const Observation& seen) override {
    if (!after) meet(seen);
  }
  void finished(const Observation& seen) override {
    if (after) meet(seen);
  }
};

// Long beside any step, short beside the patience of who waits for a test. No test measures it: what does not hang never reaches it.
constexpr RunOptions patience{std::chrono::seconds{20}};

template <class Plan> using Sound = Trainer<Plan, CpuThreads>;

template <class Plan> class Failures {
 public:
  Failures() : rows_(rows_of<Plan>(64)), untouched_(make()) {
    Places places{devices<Plan>};
    untouched_->observe(&places);
    untouched_->step(batch(1));
    untouched_->observe(nullptr);
    untouched_->step(batch(2));
    places_ = places.by_rank;
  }

  void every_place(bool after) {
    thrower_.after = after;
    for (const auto& of_rank : places_)
      for (const Place& place : of_rank) fail_at(place);
    CHECK(went_on_ > 0);
    CHECK(refused_ > 0);
  }

 private:
  std::unique_ptr<Sound<Plan>> make() {
    auto trainer = std::make_unique<Sound<Plan>>(settings<Adam>(), Seed{5}, patience);
    trainer->step(batch(0));
    return trainer;
  }
  [[nodiscard]] auto batch(int step) const { return rows_.batch(16 * step, 16); }

  void fail_at(const Place& place) {
    CAPTURE(place.rank);
    CAPTURE(place.instruction);
    CAPTURE(place.entry);
    if (trainer_ == nullptr) trainer_ = make();
    thrower_.at = place;
    trainer_->observe(&thrower_);
    check_step_is_lost(place);
    trainer_->observe(nullptr);
    bool stepped = false;
    for (int rank = 0; rank < devices<Plan>; ++rank) stepped = stepped || trainer_->executor(Rank{rank}).stepped();
    if (stepped)
      check_refused();
    else
      check_goes_on();
    trainer_.reset();
  }

  void check_step_is_lost(const Place& place) {
    bool lost = false;
    try {
      trainer_->step(batch(1));
    } catch (const RankLost& error) {
      lost = true;
      const std::string sentence = error.what();
      CHECK(error.rank() == Rank{place.rank});
      CHECK(error.operation() == describe(Plan::training, place.instruction));
      CHECK(error.sequence() == 2);  // the step
      CHECK(sentence.find("[heddle.R01] rank " + std::to_string(place.rank) + " was lost at instruction ") == 0);
      CHECK(sentence.find("the disk is on fire. Fix: ") != std::string::npos);
    }
    CHECK(lost);
    CHECK(trainer_->steps() == 1);
    REQUIRE(static_cast<int>(trainer_->failures().size()) == devices<Plan>);
    for (int rank = 0; rank < devices<Plan>; ++rank) {
      const std::string& said = trainer_->failures()[static_cast<std::size_t>(rank)];
      if (rank == place.rank)
        CHECK(said == "the disk is on fire");
      else
        CHECK((said.empty() || said.find("[heddle.R01] rank " + std::to_string(place.rank) + " was lost") == 0));
    }
  }
  /// Some rank has new parameters and some other has not.
  void check_refused() {
    ++refused_;
    Code code;
    try {
      trainer_->step(batch(1));
    } catch (const Error& error) {
      code = error.code();
    }
    CHECK(code == Code{'R', 4});
    CHECK(trainer_->steps() == 1);
  }
  /// The same batch again, then the next: as if nothing had happened.
  void check_goes_on() {
    ++went_on_;
    CHECK(trainer_->step(batch(1)).step == 2);
    trainer_->step(batch(2));
    for (int replica = 0; replica < trainer_->replicas(); ++replica) CHECK(trainer_->parameter_hash(replica) == untouched_->parameter_hash(replica));
  }

  RowsOf<Plan> rows_;
  std::unique_ptr<Sound<Plan>> untouched_;  // never saw a failure
  std::unique_ptr<Sound<Plan>> trainer_;
  std::vector<std::vector<Place>> places_;
  Thrower thrower_;
  int went_on_ = 0;
  int refused_ = 0;
};

}  // namespace

TEST_CASE("two replicas: a rank that throws at any place is named, and nobody hangs") {
  Failures<Of<DataParallel<2>>> failures;
  failures.every_place(false);
}

TEST_CASE("three stages under 1F1B: a rank that throws at any place is named, and nobody hangs") {
  Failures<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>> failures;
  failures.every_place(false);
}

TEST_CASE("two stages times two replicas: a rank that throws at any place is named, and nobody hangs") {
  Failures<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>> failures;
  failures.every_place(false);
}

TEST_CASE("the same holds for a rank that throws right after what it did") {
  Failures<Of<DataParallel<2>>> replicas;
  replicas.every_place(true);
  Failures<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>> product;
  product.every_place(true);
}

TEST_CASE("an evaluation that loses a rank names it, and the trainer goes on") {
  using Piped = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  const auto rows = rows_of<Piped>(64);
  Sound<Piped> trainer{settings<Adam>(), Seed{5}, patience};
  Thrower thrower;
  thrower.at = {1, Piped::evaluation.lists[1].begin, -1};
  trainer.observe(&thrower);
  CHECK_THROWS_AS((void)trainer.evaluate(rows.batch(0, 16)), RankLost);
  trainer.observe(nullptr);
  Sound<Piped> untouched{settings<Adam>(), Seed{5}};
  CHECK(same_bits(trainer.evaluate(rows.batch(0, 16)).outputs, untouched.evaluate(rows.batch(0, 16)).outputs));
  trainer.step(rows.batch(0, 16));
  untouched.step(rows.batch(0, 16));
  CHECK(trainer.parameter_hash() == untouched.parameter_hash());
}
