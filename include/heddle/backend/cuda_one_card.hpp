// SPDX-License-Identifier: MIT
// Room: backend. CudaOneCard: all devices of a plan are logical devices of one card, which one thread conducts.
// Sees: backend/cuda_device, transport/conducted, run.  Does not see: NCCL, MPI.
// In: a plan.  Out: Trainer<Plan, CudaOneCard>.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heddle/backend/cpu.hpp"
#include "heddle/backend/cuda.hpp"
#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_device.hpp"
#include "heddle/backend/thread_session.hpp"
#include "heddle/run/conductor.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/conducted.hpp"

namespace heddle::backend_room {

/// The ranks of a plan as logical devices of one card: DataParallel<4> has four, with an arena each, in one queue.
///
/// Tested  backend/cuda_test, equivalence/cuda_test
class OneCardSession {
 public:
  using Endpoint = Conducted<CardMover>::Endpoint;
  using Device = CudaDevice;

  HEDDLE_APART OneCardSession(const TransportNeeds& needs, std::chrono::nanoseconds /*deadline*/)
      : card_(0, {.usual_rows = needs.rows}),
        world_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, {}, nullptr}, CardMover{card_}),
        errors_(static_cast<std::size_t>(needs.ranks)) {
    if (const Diagnosis odd = RanksAsThreads::refusal(needs.ranks); !odd.ok()) throw Error{odd};
  }

  [[nodiscard]] static constexpr Bytes memory(const RankNeeds&) { return Bytes{0}; }
  /// What waits for no other rank, one rank after the other.
  template <class Job> void run(Job&& job) {
    errors_.assign(errors_.size(), nullptr);
    on_each([&](std::size_t rank) { job(static_cast<int>(rank)); });
  }
  /// A step on all ranks. The second of its kind (Program, rows, report) is captured as one graph, which later ones replay. Steps that the host
  /// decides about (a norm to clip by, a scale of the loss) and those that are watched are queued call by call.
  template <class Executors> void conduct(Executors& executors) {
    errors_.assign(errors_.size(), nullptr);
    const StepInput& in = executors.front()->device().input();
    const bool decided = in.program->clips || in.program->scales_loss || in.observer != nullptr;
    QueuedStep& step = step_of({in.program, in.rows, in.source_rows, in.reporting, in.targets != nullptr, in.class_weights != nullptr});
    const auto queue_all = [&] { queue(step, executors); };
    if (step.graph.get() != nullptr && !decided) {
      on_each([&](std::size_t r) {
        for (const auto& fill : step.of_ranks[r].before) fill();
      });
      if (failed()) return;
    } else if (step.queued && !decided && &step != &others_) {
      try {
        step.graph = captured(card_.stream(), queue_all);
      } catch (const Error&) {
        if (!failed()) throw;  // else a rank has said why
      }
    } else {
      queue_all();
      if (failed()) return;
      step.queued = true;  // pinned memory and plans of products are there: a capture may take neither
      return look(step, executors);
    }
    if (failed()) {
      step.graph = RunnableGraph{};
      return;
    }
    check_cuda(cudaGraphLaunch(step.graph.get(), card_.stream()), "cudaGraphLaunch");
    look(step, executors);
  }
  void rethrow_first() const {
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
  }
  [[nodiscard]] std::exception_ptr error(int rank) const { return errors_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool failed() const {
    for (const std::exception_ptr& error : errors_)
      if (error) return true;
    return false;
  }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return world_.endpoint(rank); }
  void give_up(Rank rank, const std::string& why) { world_.give_up(rank, why); }
  [[nodiscard]] static bool local(Rank) { return true; }
  [[nodiscard]] static bool first_process() { return true; }
  static void share(Rank, std::span<std::byte>) {}
  bool reset() {
    card_.wait();
    card_.pinned().release();
    world_.reset();
    return true;
  }
  [[nodiscard]] Conducted<CardMover>& transport() { return world_; }

 private:
  static constexpr std::size_t most_captured = 4;
  /// What steps of one graph have in common: a training of 16 rows that reports is one kind.
  struct Kind {
    const Program* program = nullptr;
    std::int64_t rows = 0, source_rows = 0;
    bool reports = false, has_targets = false, weighs = false;
    friend bool operator==(const Kind&, const Kind&) = default;
  };
  /// Steps of one kind: what each rank does on the host, and the graph once it is captured.
  struct QueuedStep {
    Kind kind;
    RunnableGraph graph;
    std::vector<HostPart> of_ranks;
    bool queued = false;
  };

  /// Of a fifth kind and those after it nothing is kept.
  [[nodiscard]] QueuedStep& step_of(const Kind& kind) {
    const auto known = std::find_if(steps_.begin(), steps_.end(), [&](const auto& step) { return step->kind == kind; });
    if (known != steps_.end()) return **known;
    if (steps_.size() == most_captured) return others_;
    steps_.push_back(std::make_unique<QueuedStep>());
    steps_.back()->kind = kind;
    return *steps_.back();
  }
  template <class Executors> void queue(QueuedStep& step, Executors& executors) {
    step.of_ranks.resize(executors.size());
    for (std::size_t r = 0; r < executors.size(); ++r) {
      step.of_ranks[r].clear();
      executors[r]->device().stage(step.of_ranks[r]);
    }
    InTurn order;
    run_room::conduct(executors, order, errors_, [&](int rank) { world_.give_up(Rank{rank}, words_of(error(rank))); });
  }
  /// The queue is done: what came back is looked at.
  template <class Executors> void look(const QueuedStep& step, Executors& executors) {
    card_.wait();
    on_each([&](std::size_t r) {
      executors[r]->replayed(0);
      for (const auto& at : step.of_ranks[r].after) at();
      executors[r]->replayed(executors[r]->device().reported());
    });
  }
  template <class Job> void on_each(Job job) {
    for (std::size_t r = 0; r < errors_.size(); ++r) {
      try {
        job(r);
      } catch (...) {
        errors_[r] = std::current_exception();
      }
    }
  }

  Card card_;
  Conducted<CardMover> world_;
  std::vector<std::exception_ptr> errors_;
  std::vector<std::unique_ptr<QueuedStep>> steps_;
  QueuedStep others_;
};

/// CUDA with all ranks on one card: every policy runs there as it would on several.
///
/// Errors  R37 no card; R03 if WORLD_SIZE asks for more than one process
/// Tested  backend/cuda_test, equivalence/cuda_test
struct CudaOneCard {
  using Compute = CudaCompute;
  using Reference = EigenCompute;
  using Session = OneCardSession;
  using SessionOfOne = ThreadSession;
  using Ranks = RanksAsThreads;
  static constexpr bool on_gpus = true;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CudaOneCard;
}  // namespace heddle
