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
#include <string>
#include <utility>
#include <vector>

#include "heddle/backend/cpu.hpp"
#include "heddle/backend/cuda.hpp"
#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_device.hpp"
#include "heddle/backend/cuda_steps.hpp"
#include "heddle/backend/ranks_here.hpp"
#include "heddle/backend/thread_session.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/run/conductor.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/conducted.hpp"

namespace heddle::backend_room {

/// The ranks of a plan are logical devices of one card, in one process.
///
/// Errors  R03 if a launcher has started more than one process, R20 no number
/// Tested  backend/cuda_one_card_test
struct RanksOnOneCard {
  static constexpr bool processes = false;
  [[nodiscard]] static Diagnosis refusal(int ranks, const Environment& environment = process_environment) {
    return run_room::refuse_processes_on_cards(ranks, "CudaOneCard", "on one card of one process", environment);
  }
};

/// The ranks of a plan as logical devices of one card: DataParallel<4> has four, with an arena each, in one queue.
///
/// Tested  backend/cuda_one_card_test, equivalence/cuda_test
class OneCardSession : public RanksHere {
 public:
  using Endpoint = Conducted<CardMover>::Endpoint;
  using Device = CudaDevice;

  HEDDLE_APART OneCardSession(const TransportNeeds& needs, std::chrono::nanoseconds /*deadline*/)
      : RanksHere(needs.ranks), card_(0, sound(needs), needs.cards.library),
        world_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, {}, nullptr}, CardMover{card_}) {}

  /// The workspace of products, which all ranks of the card share, the numbers of a step and sums of squares; what is pinned lies on the host.
  [[nodiscard]] static constexpr Bytes memory(const RankNeeds&) { return Card::memory; }
  /// What waits for no other rank, one rank after the other.
  template <class Job> void run(Job&& job) {
    const CurrentCard here{card_.number()};
    errors_.assign(errors_.size(), nullptr);
    on_each([&](std::size_t rank) { job(static_cast<int>(rank)); });
  }
  /// A step on all ranks, as QueuedSteps says.
  template <class Executors> void conduct(Executors& executors) {
    const CurrentCard here{card_.number()};
    errors_.assign(errors_.size(), nullptr);
    QueuedStep& step = steps_.of(executors.front()->device().input());
    const auto queue_all = [&] {
      queue(step, executors);
      return !failed();
    };
    const auto refill = [&] {
      on_each([&](std::size_t r) {
        for (const auto& fill : step.of_ranks[r].before) fill();
      });
      return !failed();
    };
    if (!QueuedSteps::prepare(step, card_.stream(), queue_all, refill)) return;
    run_queue(step, executors);
    step.queued = !failed();
  }
  /// The ranks are made anew: what was captured is of those before.
  void forget() { steps_.forget(); }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return world_.endpoint(rank); }
  void give_up(Rank rank, const std::string& why) { world_.give_up(rank, why); }
  /// False where the card does not go on: what it has done is not known.
  bool reset() {
    const CurrentCard here{card_.number()};
    try {
      card_.wait();
    } catch (const Error&) {
      return false;
    }
    world_.reset();
    return true;
  }
  [[nodiscard]] Conducted<CardMover>& transport() { return world_; }
  /// A sentence for each layer that a library was asked to compute: whether it does, or why kernels of our own do. Empty without a library.
  [[nodiscard]] std::vector<std::string> layers_of_library() const { return card_.layers_of_library(); }

 private:
  /// Before the card is touched. Errors  R03, R37
  [[nodiscard]] static CudaProductOptions sound(const TransportNeeds& needs) {
    if (const Diagnosis odd = RanksOnOneCard::refusal(needs.ranks); !odd.ok()) throw Error{odd};
    for (const std::vector<int>& members : needs.groups)
      if (members.size() > MemberBuffers::most)
        throw Error(Code{'R', 37}, written({static_cast<std::int64_t>(members.size()), " logical devices of one card are to be summed, and ",
                                            MemberBuffers::most, " can be. Fix: take a plan of fewer devices."}));
    return product_options(needs);
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
  /// Until the queue is done; then what came back is looked at. If the card fails in the middle, parameters are those of no step.
  template <class Executors> void run_queue(const QueuedStep& step, Executors& executors) {
    try {
      QueuedSteps::launch(step, card_.stream());
      card_.wait();
    } catch (const Error&) {
      errors_.front() = std::current_exception();
    }
    for (auto& executor : executors) executor->replayed({});
    if (failed()) return;
    on_each([&](std::size_t r) {
      for (const auto& at : step.of_ranks[r].after) at();
      executors[r]->replayed(executors[r]->device().outcome());
      executors[r]->device().look();
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
  QueuedSteps steps_;
};

/// CUDA with all ranks on one card: every policy runs there as it would on several.
///
/// Errors  R37 no card; R03 if a launcher has started more than one process
/// Tested  backend/cuda_one_card_test, equivalence/cuda_test
struct CudaOneCard {
  using Compute = CudaCompute;
  using Reference = EigenCompute;
  using Session = OneCardSession;
  using SessionOfOne = ThreadSession;
  using Ranks = RanksOnOneCard;
  static constexpr bool on_gpus = true;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CudaOneCard;
}  // namespace heddle
