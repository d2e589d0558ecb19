// SPDX-License-Identifier: MIT
#include "heddle/proof/field_run.hpp"

#include <doctest/doctest.h>

#include <set>

#include "heddle/backend/field_threads.hpp"

using namespace heddle;

namespace {

struct Net : Sequential<Linear<3, 4>, ReLU, Linear<4, 2>> {};
using Spread = Plan<Net, CrossEntropy, SGD, Batch<4, PadLast>, DataParallel<2>>;
const FieldWork& work() {
  static const FieldWork of = field_work<Net, CrossEntropy, SGD>();
  return of;
}
FieldOutcome outcome(const FieldSteps& steps) {
  FieldRun<FieldThreads::Session> run{work(), {&Spread::training, &Spread::evaluation}, std::chrono::seconds{10}};
  return run.outcome(steps);
}

}  // namespace

TEST_CASE("the numbers of a draw depend on its key alone") {
  const DrawnField drawn{Seed{3}, 0, FieldMode::values};
  const FieldNumbers a(work(), 4, 1);
  const FieldNumbers b(work(), 4, 1);
  CHECK(a.inputs == b.inputs);
  CHECK(a.labels == b.labels);
  CHECK(a.targets.empty());
  CHECK(a.all_targets() == a.labels.data());
  CHECK(a.inputs.size() == 12);
  for (const std::int32_t label : a.labels) CHECK((label == 0 || label == 1));
  CHECK(FieldNumbers::parameter(0, 1) == FieldNumbers::parameter(0, 1));
  CHECK(FieldNumbers::parameter(0, 1) != FieldNumbers::parameter(1, 1));
  const DrawnField other{Seed{3}, 1, FieldMode::values};
  CHECK(FieldNumbers(work(), 4, 1).inputs != a.inputs);
  const DrawnField degrees{Seed{3}, 1, FieldMode::degrees};
  for (const float input : FieldNumbers(work(), 4, 1).inputs) CHECK(Field::read(input) == 1);
}

TEST_CASE("every step has rows, targets, constants of the optimizer and parameters of its own") {
  const DrawnField drawn{Seed{3}, 0, FieldMode::values};
  const FieldNumbers one(work(), 64, 1);
  const FieldNumbers two(work(), 64, 2);
  for (std::size_t i = 0; i < one.inputs.size(); ++i) CHECK(one.inputs[i] != two.inputs[i]);
  CHECK(one.labels != two.labels);
  CHECK(FieldNumbers(work(), 8, 1).inputs == std::vector<float>(one.inputs.begin(), one.inputs.begin() + 24));
  const auto rate = [](std::int64_t step) { return static_cast<const SGD::Constants*>(work().constants(step, {}).get())->learning_rate; };
  CHECK(rate(1) != rate(2));
  CHECK(rate(2) != rate(3));
}

TEST_CASE("a run ends with losses where they are reported, gradients and parameters of every step, and an evaluation") {
  const DrawnField drawn{Seed{3}, 0, FieldMode::values};
  const FieldOutcome made = outcome({{4, 4}, 4});
  std::vector<std::string> names;
  for (const FieldTensor& tensor : made.tensors) names.push_back(tensor.name);
  REQUIRE(names.size() == 1 + 2 * 8 + 3);
  CHECK(names[0] == "the loss after step 1");
  CHECK(names[1] == "the gradient of '0.weight' after step 1");
  CHECK(names[2] == "parameter '0.weight' after step 1");
  CHECK(made.tensors[2].copies.size() == 2);
  CHECK(made.tensors[2].copies[0] == made.tensors[2].copies[1]);
  CHECK(made.tensors[2].copies[0] != made.tensors[10].copies[0]);
  CHECK(names[17] == "the outputs of an evaluation");
  CHECK(made.tensors[17].copies[0].size() == 8);
  CHECK(names[19] == "the outputs of a prediction");
  CHECK(made.tensors[19].copies[0].size() == 8);
  CHECK(made.tensors[19].copies[0] != made.tensors[17].copies[0]);
  const FieldOutcome less = outcome({{4, 3}, 4});
  CHECK(less.tensors[2].copies[0] == made.tensors[2].copies[0]);
  CHECK(less.tensors[10].copies[0] != made.tensors[10].copies[0]);
}

TEST_CASE("calls of all ranks are counted where they are asked for") {
  const auto calls = [](FieldMode mode) {
    const DrawnField drawn{Seed{3}, 0, mode};
    FieldRun<FieldThreads::Session> run{work(), {&Spread::training, &Spread::evaluation}, std::chrono::seconds{10}};
    (void)run.outcome({{4}, 4});
    return run.calls();
  };
  CHECK(calls(FieldMode::values).empty());
  std::set<std::uint64_t> symbols;
  for (const FieldCall& line : calls(FieldMode::degrees)) {
    symbols.insert(line.symbol);
    CHECK(line.highest >= line.first);
    CHECK(line.highest >= 1);
  }
  const std::vector<FieldCall> census = calls(FieldMode::census);
  for (const FieldCall& call : census) CHECK(symbols.count(call.symbol) == 1);
  CHECK(census.size() > 100);
}
