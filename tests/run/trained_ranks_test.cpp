// SPDX-License-Identifier: MIT
#include "heddle/run/trained_ranks.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Named<"first", Linear<3, 4>>, Tanh, Named<"second", Linear<4, 2>>> {};
template <class... Policies> using Of = Plan<Model, CrossEntropy, SGD, Batch<8, KeepLast>, Policies...>;
using Ranks = TrainedRanks<CpuThreads::Session, std::int32_t>;

/// An optimizer whose type nobody knows, and what it was asked.
struct Asked {
  float rate = 0.25F;
  bool refuses = false;
  std::vector<std::int64_t> steps;
  SGD::Constants constants{};

  static void check(void* holder) {
    if (static_cast<Asked*>(holder)->refuses) throw Error(Code{'O', 1}, "it refuses. Fix: let it.");
  }
  static void prepare(void* holder, std::int64_t step, StepInput& input) {
    Asked& asked = *static_cast<Asked*>(holder);
    asked.steps.push_back(step);
    asked.constants = SGD::constants({.learning_rate = asked.rate}, step);
    input.constants = &asked.constants;
    input.options = hash_of_constants(asked.constants);
    input.learning_rate = asked.rate;
  }
};

/// The ranks of a plan, of which only its Programs are given.
struct Held {
  Asked asked;
  Ranks ranks;
  template <class ThePlan>
  explicit Held(ThePlan)
      : ranks{{ThePlan::training, ThePlan::evaluation, ThePlan::Request::graph, ThePlan::Request::target_features,
               kernel_table<Model, CrossEntropy, SGD, EigenCompute>()},
              {&asked, &Asked::check, &Asked::prepare},
              Seed{4},
              {}} {
    ranks.make(Seed{4});
  }
};

const std::vector<float> inputs{0.1F, -2, 3, 4, 0.5F, 6, -7, 8, 0.9F};
const std::vector<std::int32_t> labels{1, 0, 1};
static_assert(!std::is_copy_constructible_v<Ranks> && !std::is_move_constructible_v<Ranks>, "threads know where the ranks are");

}  // namespace

TEST_CASE("ranks that know no plan's type do what the trainer of the plan does, to the bit") {
  Held one{Of<Single>{}}, four{Of<Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>{}};
  Trainer<Of<Single>, CpuThreads> trainer{{.learning_rate = 0.25}, Seed{4}};
  const auto batch = examples(inputs, labels, 3);
  for (int step = 0; step < 2; ++step) {
    const StepResult wanted = trainer.step(batch);
    CHECK(*one.ranks.step(batch).loss == *wanted.loss);
    CHECK(four.ranks.step(batch).rows == 3);
  }
  CHECK(one.ranks.parameter_hash(0) == trainer.parameter_hash());
  CHECK(one.ranks.evaluate(batch).outputs == trainer.evaluate(batch).outputs);
  CHECK(one.ranks.predict(inputs) == trainer.predict(inputs));
  CHECK(four.ranks.replicas() == 2);
  CHECK(four.ranks.parameter_names() == trainer.parameter_names());
  CHECK(four.ranks.steps() == 2);
}

TEST_CASE("an optimizer is asked once a step for the constants of that step, and before the first for what processes compare") {
  Held held{Of<Single>{}};
  const auto batch = examples(inputs, labels, 3);
  held.ranks.step(batch);
  held.ranks.step(batch);
  CHECK(held.asked.steps == std::vector<std::int64_t>{2, 1, 2});
}

TEST_CASE("options that the optimizer refuses begin no step") {
  Held held{Of<Single>{}};
  const std::uint64_t before = held.ranks.parameter_hash(0);
  held.asked.refuses = true;
  CHECK_THROWS_WITH_AS(held.ranks.step(examples(inputs, labels, 3)), "[heddle.O01] it refuses. Fix: let it.", Error);
  CHECK(held.ranks.parameter_hash(0) == before);
  CHECK(held.ranks.steps() == 0);
  held.asked.refuses = false;
  held.ranks.clip().max_norm = -1;
  CHECK_THROWS_WITH_AS(held.ranks.step(examples(inputs, labels, 3)), doctest::Contains("[heddle.O01] max_norm is -1"), Error);
  held.ranks.clip().max_norm = 1;
  CHECK(held.ranks.step(examples(inputs, labels, 3)).step == 1);
}

TEST_CASE("parameters come from whatever has them, and labels are counted in pieces") {
  Held held{Of<DataParallel<2>>{}};
  Trainer<Of<Single>, CpuThreads> trainer{{}, Seed{9}};
  CHECK(held.ranks.parameter_hash(0) != trainer.parameter_hash());
  {
    SourceOf<decltype(trainer)> source{trainer};
    held.ranks.load(source);
    CHECK_THROWS_WITH_AS(trainer.step(examples(inputs, labels, 3)), doctest::Contains("[heddle.R11] step() was called"), Error);  // it is read from
  }
  CHECK(held.ranks.parameter_hash(1) == trainer.parameter_hash());
  Accuracy counted;
  held.ranks.count_right(counted, examples(inputs, labels, 3));
  CHECK(counted.positions() == 3);
  CHECK(counted.share() == trainer.accuracy(examples(inputs, labels, 3)));
}
