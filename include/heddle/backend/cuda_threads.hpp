// SPDX-License-Identifier: MIT
// Room: backend. CudaThreads: each device of a plan is a card of this process, which a thread of its own runs; NCCL moves between them.
// Sees: backend/cuda_rank, transport/workers, run.  Does not see: MPI.
// In: a plan.  Out: Trainer<Plan, CudaThreads>.
#pragma once

#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/backend/cuda.hpp"
#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_device.hpp"
#include "heddle/backend/cuda_rank.hpp"
#include "heddle/backend/ranks_here.hpp"
#include "heddle/backend/thread_session.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/nccl.hpp"
#include "heddle/transport/workers.hpp"

namespace heddle::backend_room {

/// The ranks of a plan are cards of one process.
///
/// Errors  R03 if a launcher has started more than one process, R20 no number
/// Tested  backend/cuda_threads_test
struct RanksAsCards {
  static constexpr bool processes = false;
  [[nodiscard]] static Diagnosis refusal(int ranks, const Environment& environment = process_environment) {
    return run_room::refuse_processes_on_cards(ranks, "CudaThreads", "on cards of one process", environment);
  }
};

/// DataParallel<4> takes the cards 0 to 3 of those that CUDA_VISIBLE_DEVICES shows, in that order, and has a thread for each.
///
/// Tested  backend/cuda_threads_test, equivalence/cuda_test
class CardThreadsSession : public RanksHere {
 public:
  using Endpoint = RankOnCard::Endpoint;
  using Device = CudaDevice;

  HEDDLE_APART CardThreadsSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline)
      : RanksHere(needs.ranks),
        peers_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, needs.elements, nullptr}, deadline),
        workers_(sound(needs)), ranks_(static_cast<std::size_t>(needs.ranks)) {
    const ncclUniqueId id = new_id();
    on_each([&](int rank) {
      at(rank) = std::make_unique<RankOnCard>(
          peers_, rank, rank, product_options(needs), id,
          WaysToWait{.until = transport_room::until_of_thread(peers_, rank), .meet = [this, rank] { peers_.meet(rank); }}, needs.cards.library);
    });
    rethrow_cause();
  }

  /// What a card takes (see OneCardSession), and what comes of other ranks before it is summed. What NCCL itself takes is not in it.
  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) { return Card::memory + RankOnCard::memory(needs); }
  template <class Job> void run(Job&& job) {
    workers_.run([&](int rank) {
      if (at(rank) != nullptr) at(rank)->begin_call();
      std::optional<CurrentCard> here;
      or_lost(rank, [&] { here.emplace(rank); });  // the job says so itself
      job(rank);
    });
    for (int r = 0; r < workers_.ranks(); ++r) errors_[static_cast<std::size_t>(r)] = workers_.error(r);
  }
  /// On the thread of its rank.
  template <class Executor> void step(Executor& executor, const StepInput& in) { at(executor.rank().value)->step(executor, in); }
  void forget() {
    for (auto& rank : ranks_) rank->forget();
  }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return at(rank.value)->endpoint(); }
  /// On the thread of the rank: nothing of its card is read or written any more when this returns. What it has queued for others they do not get,
  /// unless its card has done all of the call.
  void give_up(Rank rank, const std::string& why) {
    const RankOnCard* const there = at(rank.value).get();
    if (there != nullptr && there->where() == RankOnCard::Where::done) return;
    peers_.lost().add(rank.value, why);
    if (there != nullptr && there->where() == RankOnCard::Where::busy) at(rank.value)->drop();
  }
  /// Where operations of some rank were ended, all ranks meet anew; false where a card or NCCL does not go on. Errors of the call that failed stay.
  bool reset() {
    forget();  // of which kind each rank has captured a step must be the same on all
    peers_.reset();
    if (std::none_of(ranks_.begin(), ranks_.end(), [](const auto& rank) { return rank->dropped(); })) return true;
    std::vector<std::exception_ptr> kept = errors_;
    on_each([&](int rank) { at(rank)->drop(); });
    const bool well = !failed() && meet_anew();
    errors_ = std::move(kept);
    peers_.reset();  // parameters may be looked at
    return well;
  }
  [[nodiscard]] int ranks() const { return workers_.ranks(); }
  /// What the rank has sent since construction or the last clear_traffic. A graph that replays a step counts nothing.
  [[nodiscard]] Sent sent(Rank rank, Movement kind) const { return peers_.traffic(rank.value).sent(kind); }
  [[nodiscard]] CardThreadsSession& transport() { return *this; }
  /// As OneCardSession, of all cards: what several of them say is said once.
  [[nodiscard]] std::vector<std::string> layers_of_library() const {
    std::vector<std::string> all;
    for (const auto& rank : ranks_)
      for (std::string& said : rank->layers_of_library())
        if (std::find(all.begin(), all.end(), said) == all.end()) all.push_back(std::move(said));
    return all;
  }
  void clear_traffic() {
    for (int r = 0; r < workers_.ranks(); ++r) peers_.traffic(r).clear();
  }

 private:
  /// Before any card is touched: so many ranks. Errors  R03, R37
  [[nodiscard]] static int sound(const TransportNeeds& needs) {
    if (const Diagnosis odd = RanksAsCards::refusal(needs.ranks); !odd.ok()) throw Error{odd};
    if (const int cards = visible_cards(); cards < needs.ranks) throw Error{seams_room::fewer_cards(needs.ranks, cards)};
    return needs.ranks;
  }
  [[nodiscard]] static ncclUniqueId new_id() {
    ncclUniqueId id{};
    transport_room::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    return id;
  }
  [[nodiscard]] bool meet_anew() {
    peers_.reset();
    ncclUniqueId id{};
    if (ncclGetUniqueId(&id) != ncclSuccess) return false;
    on_each([&](int rank) { at(rank)->meet(id); });
    return !failed();
  }
  [[nodiscard]] std::unique_ptr<RankOnCard>& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  /// The others do not wait for a rank that throws.
  template <class Action> void or_lost(int rank, Action action) {
    try {
      action();
    } catch (...) {
      give_up(Rank{rank}, words_of(std::current_exception()));
      throw;
    }
  }
  template <class Job> void on_each(Job job) {
    run([&](int rank) { or_lost(rank, [&] { job(rank); }); });
  }
  /// What began it: an error that is no loss of another rank.
  void rethrow_cause() const {
    if (!failed()) return;
    if (const int first = peers_.lost().cause(); first >= 0 && error(first)) std::rethrow_exception(error(first));
    rethrow_first();
  }

  NcclPeers peers_;
  Workers workers_;
  std::vector<std::unique_ptr<RankOnCard>> ranks_;
};

/// CUDA with a card for each device of the plan, in one process. Where a plan asks for the order of the tree, as under a Grain, all policies have one
/// another's bits; elsewhere NCCL adds in an order of its own.
///
/// Errors  R37 fewer cards than devices; R03 if a launcher has started more than one process
/// Tested  backend/cuda_threads_test, equivalence/cuda_test
struct CudaThreads {
  using Compute = CudaCompute;
  using Reference = EigenCompute;
  using Session = CardThreadsSession;
  using SessionOfOne = ThreadSession;
  using Ranks = RanksAsCards;
  static constexpr bool on_gpus = true, card_for_each = true;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CudaThreads;
}  // namespace heddle
