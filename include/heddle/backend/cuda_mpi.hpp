// SPDX-License-Identifier: MIT
// Room: backend. CudaMpi: one process for each card, started by MPI; NCCL moves between the cards, MPI tells processes what they must agree on.
// Sees: backend/cuda_rank, backend/world_mpi, transport/mpi, run.  Does not see: threads of ranks.
// In: a plan.  Out: Trainer<Plan, CudaMpi>.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <nccl.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/backend/cuda.hpp"
#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_device.hpp"
#include "heddle/backend/cuda_rank.hpp"
#include "heddle/backend/mpi_session.hpp"
#include "heddle/backend/world_mpi.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/trained_ranks_bodies.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/mpi.hpp"
#include "heddle/transport/nccl.hpp"

namespace heddle::backend_room {

/// Where a process has its card: on which machine, and where there. Two processes of one card have the same.
struct PlaceOfCard {
  std::array<char, 64> machine{};
  std::array<char, 32> card{};
  friend bool operator==(const PlaceOfCard&, const PlaceOfCard&) = default;
};

/// The card of this process: as many processes of a machine as there are take the cards that they see, in their order. A process that sees one card
/// alone takes that, since launchers such as srun may show each process its own.
///
/// Errors  R37 fewer cards than processes of this machine
/// Tested  backend/cuda_mpi_test
[[nodiscard]] HEDDLE_COLD inline int card_of_process(MPI_Comm world) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int local = 0, rank = 0;
  MPI_Comm_rank(here, &local);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_free(&here);
  const int cards = visible_cards();
  if (cards == 1) return 0;
  if (local < cards) return local;
  throw Error(Code{'R', 37}, written({"rank ", rank, " is process ", local, " of its machine, counted from 0, and sees ", cards,
                                      " cards. Fix: start as many processes on each machine as it has cards, or look at CUDA_VISIBLE_DEVICES."}));
}

/// R37: two ranks are on one card, which NCCL does not join.
[[noreturn]] HEDDLE_COLD inline void refuse_shared_card(int a, int b, const PlaceOfCard& place) {
  constexpr std::string_view remedy =
      ". Fix: start as many processes on each machine as it has cards, or show each of them another card with CUDA_VISIBLE_DEVICES.";
  throw Error(Code{'R', 37},
              written({"ranks ", a, " and ", b, " are both on card ", place.card.data(), " of machine ", place.machine.data(), remedy}));
}

/// The queue of a card as MPI waits for it: others are heard meanwhile, and one that does not answer within the deadline is lost. That of rank 1 of 4
/// needs ranks 0, 2 and 3.
class QueueOfCard {
 public:
  QueueOfCard(const RankOnCard& there, int rank, int ranks) : there_(there), rank_(rank), ranks_(ranks) {}
  [[nodiscard]] bool done() const { return there_.is_done(); }
  [[nodiscard]] bool needs(int rank) const { return rank != rank_; }
  template <class Visit> void each_missing(Visit visit) const {
    for (int other = 0; other < ranks_; ++other)
      if (needs(other)) visit(other);
  }
  [[nodiscard]] OperationName describe() const { return describe(rank_); }
  [[nodiscard]] static OperationName describe(int rank) {
    OperationName name{"the queue of rank "};
    name << std::to_string(rank);
    return name;
  }

 private:
  const RankOnCard& there_;
  int rank_, ranks_;
};

/// The rank of a plan that has the card of this process; the others have theirs. What processes must agree on (program, seed, build, the batch and
/// the options of each step) goes through MPI before anything of a call is queued, and so do losses and parameters that all of them are told.
///
/// Tested  backend/cuda_mpi_test
class CardMpiSession {
 public:
  using Endpoint = RankOnCard::Endpoint;
  using Device = CudaDevice;

  CardMpiSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : CardMpiSession(needs, deadline, agreed_world()) {}
  HEDDLE_APART CardMpiSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline, MPI_Comm world)
      : control_(world, needs.ranks, {everybody(needs.ranks)}, PendingLimits{1, 2, {1}, nullptr}, deadline,
                 {.program = needs.program,
                  .seed = needs.seed,
                  .options = needs.options,
                  .learning_rate = needs.learning_rate,
                  .most_draws = needs.most_draws,
                  .build = build_of(needs)}),
        peers_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, needs.elements, nullptr}, deadline) {
    std::optional<Error> odd;
    int card = 0;
    try {
      card = card_of_process(world);
    } catch (const Error& error) {
      odd = error;
    }
    for (int r = 0; r < needs.ranks; ++r) run_room::throw_everywhere(*this, Rank{r}, odd);
    refuse_shared_cards(card);
    ncclUniqueId id{};
    if (first_process()) transport_room::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    share(Rank{0}, std::as_writable_bytes(std::span{id.internal}));
    const CurrentCard here{card};
    rank_ = std::make_unique<RankOnCard>(peers_, control_.rank().value, card, CudaProductOptions{.tf32 = needs.tf32, .usual_rows = needs.rows}, id,
                                         waits(), needs.library);
  }

  /// What a card takes (see OneCardSession), and what comes of other ranks before it is summed. What NCCL itself takes is not in it.
  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) { return Card::memory + RankOnCard::memory(needs); }
  /// job(rank) for the rank of this process.
  template <class Job> void run(Job&& job) {
    error_ = nullptr;
    held_ = false;
    rank().begin_call();
    try {
      const CurrentCard here{rank().card()};
      job(control_.rank().value);
    } catch (...) {
      error_ = std::current_exception();
      give_up(control_.rank(), words_of(error_));
    }
  }
  /// Processes compare what they say of the call before any of them queues something of it. Errors  T10, R19, O02, R01
  template <class Executor> void step(Executor& executor, const StepInput& in) {
    control_.begin_call(run_room::pledge_of(in));
    float here = 1;
    control_.all_reduce_wait(0, control_.all_reduce_start(0, &here, 1));
    try {
      rank().step(executor, in);
    } catch (const NonFinite&) {
      held_ = in.program->training && rank().where() == RankOnCard::Where::done && !executor.stepped();
      if (held_) control_.end_call();
      throw;
    }
    control_.end_call();
  }
  void forget() { rank().forget(); }
  void rethrow_first() const {
    if (error_) std::rethrow_exception(error_);
  }
  [[nodiscard]] std::exception_ptr error(int rank) const { return local(Rank{rank}) ? error_ : nullptr; }
  [[nodiscard]] bool failed() const { return error_ != nullptr; }
  [[nodiscard]] Endpoint& endpoint(Rank) { return rank().endpoint(); }
  [[nodiscard]] bool local(Rank rank) const { return rank.value == control_.rank().value; }
  [[nodiscard]] bool first_process() const { return control_.rank().value == 0; }
  void share(Rank owner, std::span<std::byte> bytes) { control_.share(owner, bytes); }
  /// The others are told why; what is queued here ends. A step that the cards have held is refused in every process, so nobody waits for another.
  void give_up(Rank rank, const std::string& why) {
    if (held_) return;
    peers_.lost().add_if_first(rank.value, why);
    control_.give_up(rank, why);
    if (rank_ != nullptr) rank_->drop();
  }
  /// A process that has stopped cannot be called back. After a step that all cards have held none has.
  [[nodiscard]] bool reset() const { return held_; }
  /// What this rank has sent by NCCL since construction or the last clear_traffic. A graph that replays a step counts nothing.
  [[nodiscard]] Sent sent(Rank rank, Movement kind) const { return peers_.traffic(rank.value).sent(kind); }
  [[nodiscard]] CardMpiSession& transport() { return *this; }
  /// As OneCardSession, of the card of this process.
  [[nodiscard]] std::vector<std::string> layers_of_library() const { return rank_->layers_of_library(); }
  void clear_traffic() { peers_.traffic(control_.rank().value).clear(); }

 private:
  [[nodiscard]] RankOnCard& rank() { return *rank_; }
  /// With what bits depend on beside flags of the compiler.
  [[nodiscard]] static Text<1000> build_of(const TransportNeeds& needs) {
    Text<1000> build = needs.build;
    return build << "TF32=" << (needs.tf32 ? "on;" : "off;") << "cuDNN=" << (needs.library != nullptr ? "on;" : "off;");
  }
  [[nodiscard]] static std::vector<int> everybody(int ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  [[nodiscard]] WaysToWait waits() {
    const int rank = control_.rank().value;
    return {.pause =
                [this, rank](WaysToWait::Clock::time_point begun) {
                  control_.hear(QueueOfCard::describe(rank), peers_.calls(rank));
                  peers_.pause(rank, begun);
                },
            .wait =
                [this, rank] {
                  QueueOfCard queue{this->rank(), rank, peers_.groups().ranks()};
                  control_.await(queue, peers_.calls(rank));
                }};
  }
  /// Errors  R37, the same in all processes
  void refuse_shared_cards(int card) {
    std::vector<PlaceOfCard> places(static_cast<std::size_t>(peers_.groups().ranks()));
    PlaceOfCard& own = places[static_cast<std::size_t>(control_.rank().value)];
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    std::strncpy(own.machine.data(), name, own.machine.size() - 1);
    check_cuda(cudaDeviceGetPCIBusId(own.card.data(), static_cast<int>(own.card.size()), card), "cudaDeviceGetPCIBusId");
    for (std::size_t r = 0; r < places.size(); ++r) share(Rank{static_cast<int>(r)}, std::as_writable_bytes(std::span{&places[r], 1}));
    for (std::size_t b = 1; b < places.size(); ++b)
      for (std::size_t a = 0; a < b; ++a)
        if (places[a] == places[b]) refuse_shared_card(static_cast<int>(a), static_cast<int>(b), places[a]);
  }

  Mpi control_;
  NcclPeers peers_;
  std::unique_ptr<RankOnCard> rank_;
  std::exception_ptr error_;
  bool held_ = false;  // by all cards: what the last call threw each process throws
};

/// CUDA with one process for each card, on one machine or several. Every process makes the same trainers and calls, as with CpuMpi; results are the
/// same in all of them.
///
/// Errors  R37 fewer cards than processes of a machine, or two ranks on one card; R03 if processes are not as many as devices of the plan; R08 if
/// they
///         run different programs; R10 if RANK names another rank
/// Tested  backend/cuda_mpi_test
struct CudaMpi {
  using Compute = CudaCompute;
  using Reference = EigenCompute;
  using Session = CardMpiSession;
  using SessionOfOne = LocalSession;
  using Ranks = RanksAsProcesses;
  static constexpr bool on_gpus = true, card_for_each = true;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CudaMpi;
}  // namespace heddle

namespace heddle::extending {
using backend_room::card_of_process;
}  // namespace heddle::extending
