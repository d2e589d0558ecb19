// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_steps.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/run/observer.hpp"

using namespace heddle;
using backend_room::Card, backend_room::QueuedStep, backend_room::QueuedSteps, backend_room::queue_copy;

namespace {

const Program& program() {
  static const Program plain;
  return plain;
}
StepInput input(std::int64_t rows, bool reports = false) {
  StepInput in;
  in.program = &program();
  in.rows = rows;
  in.reporting = reports;
  return in;
}

}  // namespace

TEST_CASE("steps are of one kind by Program, rows, report, targets and weights, and what is watched is one more") {
  QueuedSteps steps;
  QueuedStep* const first = &steps.of(input(16));
  CHECK(&steps.of(input(16)) == first);
  StepInput weighs = input(16), has_targets = input(16);
  const float weight = 1;
  weighs.class_weights = has_targets.class_weights = &weight;
  has_targets.targets = &weight;
  const std::vector<QueuedStep*> kinds{&steps.of(input(16, true)), &steps.of(weighs), &steps.of(has_targets)};
  CHECK(kinds[0] != first);
  CHECK(kinds[1] != kinds[2]);
  first->queued = true;
  CHECK(&steps.of(input(16)) == first);
  CHECK(steps.of(input(16)).queued);
  StepInput watched = input(16), also = input(8);
  extending::Observer observer;
  watched.observer = also.observer = &observer;
  CHECK((steps.of(watched).watched && &steps.of(watched) == &steps.of(also)));
  CHECK_FALSE(steps.of(input(16)).watched);
  steps.forget();
  CHECK_FALSE(steps.of(input(16)).queued);
}

TEST_CASE("the kinds of a common loop are all kept, and a ninth makes room of the one that was asked for longest ago") {
  QueuedSteps steps;
  static const Program evaluation;
  StepInput evaluates = input(16, true), evaluates_last = input(8, true);
  evaluates.program = evaluates_last.program = &evaluation;
  const std::vector<StepInput> loop{input(16), input(16, true), input(8), evaluates, evaluates_last};
  for (const StepInput& in : loop) steps.of(in).queued = true;
  for (const StepInput& in : loop) CHECK(steps.of(in).queued);  // of the second epoch
  for (const std::int64_t rows : {1, 2, 3}) steps.of(input(rows)).queued = true;
  CHECK(steps.of(loop[0]).queued);
  CHECK_FALSE(steps.of(input(4)).queued);  // in the place of loop[1]
  for (const std::size_t kept : {0U, 2U, 3U, 4U}) CHECK(steps.of(loop[kept]).queued);
  CHECK_FALSE(steps.of(loop[1]).queued);
}

TEST_CASE("the first of a kind is queued, the second captured, later ones replayed with what the host has filled in anew") {
  cuda_emulator::reset({.devices = 1});
  {
    Card card{0, {.workspace_bytes = 4096}};
    const auto from = compute_room::card_memory<float>(4, "a test"), to = compute_room::card_memory<float>(4, "a test");
    const std::vector<float> given{1, 2, 3, 4};
    std::vector<float> back(4);
    QueuedSteps steps;
    int queued = 0, refilled = 0;
    const auto run = [&](const StepInput& in) {
      QueuedStep& step = steps.of(in);
      const bool whole = QueuedSteps::prepare(
          step, card.stream(),
          [&] {
            ++queued;
            queue_copy(card.stream(), to.get(), from.get(), 4);
            return true;
          },
          [&] {
            ++refilled;
            return true;
          });
      CHECK(whole);
      QueuedSteps::launch(step, card.stream());
      card.wait();
      step.queued = true;
    };
    card.upload(from.get(), given.data(), 16);
    for (int i = 0; i < 5; ++i) run(input(16));
    CHECK((queued == 2 && refilled == 3));
    CHECK(cuda_emulator::counts().graph_launches == 4);
    card.download(back.data(), to.get(), 16);
    CHECK(back == given);
    StepInput watched = input(16);
    extending::Observer observer;
    watched.observer = &observer;
    for (int i = 0; i < 3; ++i) run(watched);
    CHECK((queued == 5 && cuda_emulator::counts().graph_launches == 4));
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("a capture that a rank refuses or that throws leaves no graph, and the stream goes on") {
  cuda_emulator::reset({.devices = 1});
  {
    Card card{0, {.workspace_bytes = 4096}};
    QueuedSteps steps;
    QueuedStep& step = steps.of(input(16));
    step.queued = true;
    const auto never = [] { return false; };
    CHECK_FALSE(QueuedSteps::prepare(
        step, card.stream(), [] { return false; }, never));
    CHECK(step.graph.get() == nullptr);
    CHECK_THROWS_AS((void)QueuedSteps::prepare(
                        step, card.stream(), []() -> bool { throw std::runtime_error("no"); }, never),
                    std::runtime_error);
    CHECK(step.graph.get() == nullptr);
    CHECK(QueuedSteps::prepare(
        step, card.stream(), [] { return true; }, never));
    CHECK(step.graph.get() != nullptr);
  }
  CHECK(cuda_emulator::violations().empty());
  CHECK(cuda_emulator::alive() == "");
}
