// SPDX-License-Identifier: MIT
// Room: backend. Steps that were given to a card: the second of its kind is captured as one graph, which later ones replay.
// Sees: backend/cuda_work, compute/cuda/resources, plan/program, run/step_input.  Does not see: which transport, how many ranks share the card.
// In: steps.  Out: QueuedStep, QueuedSteps.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/backend/cuda_work.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::backend_room {

/// Steps of one kind: what each rank of the card does on the host, and the graph once it is captured. A training of 16 rows that reports is one kind.
struct QueuedStep {
  /// What steps of one graph have in common. Two trainings of 16 rows that report are {p, 16, true, true, false} both.
  struct Kind {
    const Program* program = nullptr;
    std::int64_t rows = 0;
    bool reports = false, has_targets = false, weighs = false;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  Kind kind;
  RunnableGraph graph;
  std::vector<HostPart> of_ranks;
  bool queued = false;   ///< whole and once: pinned memory and plans of products are there, and a capture may take neither
  bool watched = false;  ///< by an observer, so it is queued call by call each time
};

/// The eight kinds that were asked for last, and that of steps that an observer watches. A loop over epochs has five: steps, those that report, the
/// smaller one at the end, and two of an evaluation. With one fewer than a loop has each epoch would capture all of them anew.
///
/// Tested  backend/cuda_one_card_test, backend/cuda_threads_test
class QueuedSteps {
 public:
  static constexpr std::size_t most_captured = 8;

  /// That which was asked for longest ago makes room.
  [[nodiscard]] QueuedStep& of(const StepInput& in) {
    watched_.watched = true;
    if (in.observer != nullptr) return watched_;
    const QueuedStep::Kind kind{in.program, in.rows, in.reporting, in.targets != nullptr, in.class_weights != nullptr};
    const auto known = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) { return step->kind == kind; });
    if (known != steps_.end()) {
      std::rotate(known, known + 1, steps_.end());
    } else {
      if (steps_.size() == most_captured) steps_.erase(steps_.begin());
      steps_.push_back(std::make_unique<QueuedStep>());
      steps_.back()->kind = kind;
    }
    return *steps_.back();
  }
  /// Everything of the step is with the queue, or in its graph and in pinned memory. queue() and refill() do it on the ranks and say whether all of
  /// them could; where one throws so does this. False where one could not.
  template <class Queue, class Refill> [[nodiscard]] static bool prepare(QueuedStep& step, cudaStream_t stream, Queue queue, Refill refill) {
    if (step.graph.get() != nullptr) return refill();
    if (step.watched || !step.queued) return queue();
    bool refused = false;
    try {
      step.graph = captured(stream, [&] { refused = !queue(); });
    } catch (const Error&) {
      if (!refused) throw;  // else a rank has said why
    }
    if (refused) step.graph = RunnableGraph{};
    return !refused;
  }
  /// What prepare() has put into a graph.
  static void launch(const QueuedStep& step, cudaStream_t stream) {
    if (step.graph.get() != nullptr) check_cuda(cudaGraphLaunch(step.graph.get(), stream), "cudaGraphLaunch");
  }
  /// Graphs alone: what they have queued may still run, and pinned memory stays. Before communicators go: NCCL waits for graphs that refer to them.
  void forget_graphs() {
    for (const auto& step : steps_) {
      step->graph = RunnableGraph{};
      step->queued = false;
    }
  }
  /// The ranks are made anew: what was captured is of those before.
  void forget() {
    steps_.clear();
    watched_ = QueuedStep{};
  }

 private:
  std::vector<std::unique_ptr<QueuedStep>> steps_;
  QueuedStep watched_;
};

}  // namespace heddle::backend_room
