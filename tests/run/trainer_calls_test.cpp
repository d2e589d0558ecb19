// SPDX-License-Identifier: MIT
#include "heddle/run/trainer_calls.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Named<"first", Linear<3, 4>>, Tanh, Named<"second", Linear<4, 2>>> {};
template <class... Parts> using Of = Plan<Model, CrossEntropy, SGD, Batch<8, KeepLast>, Parts...>;
template <class ThePlan> using OnThreads = Trainer<ThePlan, CpuThreads>;
using Calls = TrainerCalls<SGD, CpuThreads::Session, std::int32_t, float>;

// Plans of one optimizer and one kind of rows have one type of calls, whatever their policies and models; another optimizer has another.
struct Wider : Sequential<Linear<5, 3>> {};
static_assert(std::is_base_of_v<Calls, OnThreads<Of<Single>>> && std::is_base_of_v<Calls, OnThreads<Of<DataParallel<2>>>>);
static_assert(std::is_base_of_v<Calls, OnThreads<Plan<Wider, CrossEntropy, SGD, Batch<8>, Single>>>);
static_assert(!std::is_base_of_v<Calls, OnThreads<Plan<Model, CrossEntropy, Adam, Batch<8>, Single>>>);
static_assert(!std::is_base_of_v<Calls, OnThreads<Plan<Model, MeanSquaredError, SGD, Batch<8>, Single>>>);
// It is made, copied, moved and destroyed only as a part of a trainer.
static_assert(!std::is_default_constructible_v<Calls> && !std::is_copy_constructible_v<Calls> && !std::is_move_constructible_v<Calls> &&
              !std::is_destructible_v<Calls>);
static_assert(std::is_nothrow_move_constructible_v<OnThreads<Of<Single>>> && std::is_nothrow_move_assignable_v<OnThreads<Of<Single>>>);

constexpr SGD::Options slow{.learning_rate = 0.1};
const std::vector<float> inputs(24, 0.5F);
const std::vector<std::int32_t> labels{0, 1, 0, 1, 1, 0, 1, 0};

/// No template on the plan: what any trainer says of one step and an evaluation.
struct Said {
  std::vector<std::string> names;
  std::vector<float> weight, gradient, outputs;
  std::vector<double> losses;
  std::uint64_t hash = 0;
};
Said said_by(Calls& trainer) {
  Said said;
  trainer.on_step([&](const StepResult& result) { said.losses.push_back(result.loss.value()); });
  trainer.step(examples(inputs, labels, 3));
  CHECK(trainer.steps() == 1);
  said.names = trainer.parameter_names();
  said.weight = trainer.parameter("first.weight");
  said.gradient = trainer.gradient("first.weight");
  said.outputs = trainer.predict(inputs);
  CHECK(trainer.evaluate(examples(inputs, labels, 3)).outputs == said.outputs);
  said.hash = trainer.parameter_hash();
  return said;
}

}  // namespace

TEST_CASE("a function that takes the calls alone trains plans of any policy, each to the bits of one device") {
  OnThreads<Of<Single>> one{slow, Seed{3}};
  OnThreads<Of<DataParallel<2>>> two{slow, Seed{3}};
  OnThreads<Of<Single>> other{slow, Seed{4}};
  const Said wanted = said_by(one);
  const Said got = said_by(two);
  CHECK(wanted.names == std::vector<std::string>{"first.weight", "first.bias", "second.weight", "second.bias"});
  CHECK(wanted.losses.size() == 1);
  CHECK(got.losses == wanted.losses);
  CHECK(got.weight == wanted.weight);
  CHECK(got.gradient == wanted.gradient);
  CHECK(got.outputs == wanted.outputs);
  CHECK(got.hash == wanted.hash);
  CHECK(said_by(other).hash != wanted.hash);
  CHECK(one.replicas() == 1);
  CHECK(two.replicas() == 2);
}

TEST_CASE("options that are changed through the calls are those of the next step, and calls follow a trainer that is moved") {
  OnThreads<Of<Single>> first{slow, Seed{3}};
  Calls& calls = first;
  calls.optimizer().learning_rate = 0;
  const std::uint64_t before = calls.parameter_hash();
  calls.step(examples(inputs, labels, 3));
  CHECK(calls.parameter_hash() == before);
  OnThreads<Of<Single>> second{std::move(first)};
  Calls& moved = second;
  CHECK(moved.steps() == 1);
  CHECK_THROWS_AS((void)calls.steps(), Error);  // R27
}
