// SPDX-License-Identifier: MIT
// A rank throws at one place of one step, at every place in turn. Nobody may hang, everybody is told who it was, and afterwards the trainer goes on
// with the right bits or says that it cannot.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "equivalence/lost_places.hpp"

namespace equivalence {

// Long beside any step, short beside the patience of who waits for a test. No test measures it: what does not hang never reaches it.
inline constexpr RunOptions patience{std::chrono::seconds{20}};

template <class Plan> using Sound = Trainer<Plan, CpuThreads>;

/// A rank is lost at every place of a step in turn, or at every place where it communicates.
template <class Plan> class Failures {
 public:
  explicit Failures(bool only_communication = false) : rows_(rows_of<Plan>(64)), untouched_(make()) {
    Places places{devices<Plan>, only_communication};
    untouched_->observe(&places);
    untouched_->step(batch(1));
    untouched_->observe(nullptr);
    untouched_->step(batch(2));
    places_ = places.by_rank;
  }

  void every_place(bool after) {
    thrower_.after = after;
    for (int rank = 0; rank < devices<Plan>; ++rank) {
      const auto& places = places_[static_cast<std::size_t>(rank)];
      CHECK_FALSE(places.empty());
      for (const Place& place : places) fail_at(rank, place);
    }
  }
  [[nodiscard]] int went_on() const { return went_on_; }
  [[nodiscard]] int refused() const { return refused_; }

 private:
  std::unique_ptr<Sound<Plan>> make() {
    auto trainer = std::make_unique<Sound<Plan>>(settings<Adam>(), Seed{5}, patience);
    trainer->step(batch(0));
    return trainer;
  }
  [[nodiscard]] auto batch(int step) const { return rows_.batch(16 * step, 16); }

  void fail_at(int rank, const Place& place) {
    CAPTURE(rank);
    CAPTURE(place.instruction);
    CAPTURE(place.entry);
    if (trainer_ == nullptr) trainer_ = make();
    thrower_.rank = rank;
    thrower_.at = place;
    trainer_->observe(&thrower_);
    check_step_is_lost(rank, place);
    trainer_->observe(nullptr);
    bool stepped = false;
    for (int r = 0; r < devices<Plan>; ++r) stepped = stepped || trainer_->executor(Rank{r}).stepped();
    if (stepped)
      check_refused();
    else
      check_goes_on();
    trainer_.reset();
  }

  void check_step_is_lost(int thrower, const Place& place) {
    bool lost = false;
    try {
      trainer_->step(batch(1));
    } catch (const RankLost& error) {
      lost = true;
      const std::string sentence = error.what();
      CHECK(error.rank() == Rank{thrower});
      CHECK(error.operation() == describe(Plan::training, place.instruction));
      CHECK(error.sequence() == 2);  // the step
      CHECK(sentence.find("[heddle.R01] rank " + std::to_string(thrower) + " was lost at instruction ") == 0);
      CHECK(sentence.find("the disk is on fire. Fix: ") != std::string::npos);
    }
    CHECK(lost);
    CHECK(trainer_->steps() == 1);
    REQUIRE(static_cast<int>(trainer_->failures().size()) == devices<Plan>);
    for (int rank = 0; rank < devices<Plan>; ++rank) {
      const std::string& said = trainer_->failures()[static_cast<std::size_t>(rank)];
      if (rank == thrower)
        CHECK(said == "the disk is on fire");
      else
        CHECK((said.empty() || said.find("[heddle.R01] rank " + std::to_string(thrower) + " was lost") == 0));
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

}  // namespace equivalence
