// SPDX-License-Identifier: MIT
// Room: backend. A process for each card, however processes meet: NCCL moves between the cards, a meeting tells processes what they must agree on.
// Sees: backend/cuda_rank, transport/nccl, run, seams.  Does not see: MPI, folders.
// In: what a plan asks of a transport, a meeting.  Out: MeetingOfProcesses, CardSession, card_of_process.
#pragma once

#include <nccl.h>

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/backend/cuda.hpp"
#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_device.hpp"
#include "heddle/backend/cuda_rank.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/run/agreement.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/trained_ranks_bodies.hpp"
#include "heddle/run/transport_needs.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/name_of_machine.hpp"
#include "heddle/transport/nccl.hpp"

namespace heddle::backend_room {

/// Where a process has its card: on which machine, and where there. Two processes of one card have the same.
struct PlaceOfCard {
  NameOfMachine machine;
  std::array<char, 32> card{};
  friend bool operator==(const PlaceOfCard&, const PlaceOfCard&) = default;
};

/// The card of a process: as many processes of a machine as there are take the cards that they see, in their order. A process that sees one card
/// alone takes that, since launchers such as srun may show each process its own.
///
/// Errors  R37 fewer cards than processes of this machine
/// Tested  backend/cuda_mpi_test, backend/cuda_files_test
[[nodiscard]] HEDDLE_COLD inline int card_of_process(int rank, int local_rank) {
  const int cards = visible_cards();
  if (cards == 1) return 0;
  if (local_rank < cards) return local_rank;
  throw Error(Code{'R', 37}, written({"rank ", rank, " is process ", local_rank, " of its machine, counted from 0, and sees ", cards,
                                      " cards. Fix: start as many processes on each machine as it has cards, or look at CUDA_VISIBLE_DEVICES."}));
}

/// R37: two ranks are on one card, which NCCL does not join.
[[noreturn]] HEDDLE_COLD inline void refuse_shared_card(int a, int b, const PlaceOfCard& place) {
  constexpr std::string_view remedy =
      ". Fix: start as many processes on each machine as it has cards, or show each of them another card with CUDA_VISIBLE_DEVICES.";
  throw Error(Code{'R', 37},
              written({"ranks ", a, " and ", b, " are both on card ", place.card.data(), " of machine ", place.machine.name.data(), remedy}));
}

/// What a process waits for that its card or NCCL alone tells: others are heard meanwhile, and one that does not answer within the deadline is lost.
/// The queue of rank 1 of 4 needs ranks 0, 2 and 3, and so do NCCL's connections. Where NCCL says that a peer is gone the others are asked at once.
class WaitOfProcess {
 public:
  WaitOfProcess(const transport_room::NcclWait& wait, int rank, int ranks) : wait_(wait), rank_(rank), ranks_(ranks) {}
  [[nodiscard]] bool done() {
    state_ = wait_.look();
    return state_ == ncclSuccess;
  }
  /// NCCL has lost a peer, so this never gets done.
  [[nodiscard]] bool broken() const { return state_ == ncclRemoteError; }
  /// All others are there. Errors  R36
  [[noreturn]] void refuse() const { transport_room::refuse_nccl(state_, wait_.call); }
  [[nodiscard]] bool needs(int rank) const { return rank != rank_; }
  template <class Visit> void each_missing(Visit visit) const {
    for (int other = 0; other < ranks_; ++other)
      if (needs(other)) visit(other);
  }
  [[nodiscard]] OperationName describe() const {
    OperationName name{wait_.where};
    name << " of rank " << std::to_string(rank_);
    return name;
  }

 private:
  const transport_room::NcclWait& wait_;
  ncclResult_t state_ = ncclInProgress;
  int rank_, ranks_;
};

/// Processes that each have a rank of a plan, as MPI or a folder brings them together: MpiMeeting, FolderMeeting. At construction all compare a
/// StartPledge. In each call all of them take part: begin_call() compares what they say of the call, share() gives all the owner's bytes,
/// gather() gives all what each has written: of as many equal parts as there are ranks its own. await() waits for what this process alone sees and
/// hears the others meanwhile, give_up() tells them why this one stops.
///
/// Tested  backend/cuda_processes_test
template <class M>
concept MeetingOfProcesses = requires(M meeting, const M& seen, const CallPledge& call, std::span<std::byte> bytes, WaitOfProcess& wait,
                                      std::int64_t k, const std::string& why) {
  typename M::World;
  { seen.rank() } -> std::same_as<Rank>;
  { seen.local_rank() } -> std::same_as<int>;  // among the processes of its machine, from 0
  { seen.machine() } -> std::same_as<NameOfMachine>;
  meeting.begin_call(call);
  meeting.end_call();
  meeting.share(Rank{0}, bytes);
  meeting.gather(bytes);
  meeting.await(wait, k);
  meeting.give_up(Rank{0}, why);
};

/// The rank of a plan that has the card of this process; the others have theirs. What processes must agree on (program, seed, build, the batch and
/// the options of each step) goes through the meeting before anything of a call is queued, and so do losses and parameters that all are told.
/// Started::world() is where processes meet, as they were started.
///
/// Tested  backend/cuda_processes_test, backend/cuda_mpi_test, backend/cuda_files_test
template <MeetingOfProcesses Meeting, class Started = Meeting> class CardSession {
 public:
  using Endpoint = RankOnCard::Endpoint;
  using Device = CudaDevice;

  CardSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : CardSession(needs, deadline, Started::world()) {}
  HEDDLE_APART CardSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline, const typename Meeting::World& world)
      : meeting_(world, pledge_of(needs), deadline),
        peers_(needs.ranks, needs.groups, PendingLimits{needs.transfers, needs.reductions, needs.elements, nullptr}, deadline) {
    std::optional<Error> odd;
    int card = 0;
    try {
      card = card_of_process(meeting_.rank().value, meeting_.local_rank());
    } catch (const Error& error) {
      odd = error;
    }
    run_room::throw_first_everywhere(*this, needs.ranks, odd);
    refuse_shared_cards(card);
    ncclUniqueId id{};
    if (first_process()) transport_room::check_nccl(ncclGetUniqueId(&id), "ncclGetUniqueId");
    share(Rank{0}, std::as_writable_bytes(std::span{id.internal}));
    const CurrentCard here{card};
    rank_ = std::make_unique<RankOnCard>(peers_, meeting_.rank().value, card, product_options(needs), id, waits(), needs.cards.library);
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
      job(meeting_.rank().value);
    } catch (...) {
      error_ = std::current_exception();
      give_up(meeting_.rank(), words_of(error_));
    }
  }
  /// Processes compare what they say of the call before any of them queues something of it. Errors  T10, R19, O02, R01
  template <class Executor> void step(Executor& executor, const StepInput& in) {
    meeting_.begin_call(run_room::pledge_of(in));
    try {
      rank().step(executor, in);
    } catch (const NonFinite&) {
      held_ = in.program->training && rank().where() == RankOnCard::Where::done && !executor.stepped();
      if (held_) meeting_.end_call();
      throw;
    }
    meeting_.end_call();
  }
  void forget() { rank().forget(); }
  void rethrow_first() const {
    if (error_) std::rethrow_exception(error_);
  }
  [[nodiscard]] std::exception_ptr error(int rank) const { return local(Rank{rank}) ? error_ : nullptr; }
  [[nodiscard]] bool failed() const { return error_ != nullptr; }
  [[nodiscard]] Endpoint& endpoint(Rank) { return rank().endpoint(); }
  [[nodiscard]] bool local(Rank rank) const { return rank.value == meeting_.rank().value; }
  [[nodiscard]] bool first_process() const { return meeting_.rank().value == 0; }
  void share(Rank owner, std::span<std::byte> bytes) { meeting_.share(owner, bytes); }
  void gather(std::span<std::byte> all) { meeting_.gather(all); }
  /// The others are told why; what is queued here ends. A step that the cards have held is refused in every process, so nobody waits for another.
  void give_up(Rank rank, const std::string& why) {
    if (held_) return;
    peers_.lost().add_if_first(rank.value, why);
    meeting_.give_up(rank, why);
    if (rank_ != nullptr) rank_->drop();
  }
  /// A process that has stopped cannot be called back. After a step that all cards have held none has.
  [[nodiscard]] bool reset() const { return held_; }
  /// What this rank has sent by NCCL since construction or the last clear_traffic. A graph that replays a step counts nothing.
  [[nodiscard]] Sent sent(Rank rank, Movement kind) const { return peers_.traffic(rank.value).sent(kind); }
  [[nodiscard]] CardSession& transport() { return *this; }
  /// As OneCardSession, of the card of this process.
  [[nodiscard]] std::vector<std::string> layers_of_library() const { return rank_->layers_of_library(); }
  void clear_traffic() { peers_.traffic(meeting_.rank().value).clear(); }

 private:
  [[nodiscard]] RankOnCard& rank() { return *rank_; }
  /// What processes compare at the start, with what bits depend on beside flags of the compiler.
  [[nodiscard]] static StartPledge pledge_of(const TransportNeeds& needs) {
    StartPledge pledge{.program = needs.program,
                       .ranks = needs.ranks,
                       .seed = needs.seed,
                       .options = needs.options,
                       .learning_rate = needs.learning_rate,
                       .most_draws = needs.most_draws,
                       .build = needs.build};
    pledge.build << needs.cards.in_words().view();
    return pledge;
  }
  /// A process knows of the others what they say in the meeting.
  [[nodiscard]] WaysToWait waits() {
    return {.until = [this](const transport_room::NcclWait& wait) {
      const int rank = meeting_.rank().value;
      WaitOfProcess here{wait, rank, peers_.groups().ranks()};
      meeting_.await(here, peers_.calls(rank));
    }};
  }
  /// Errors  R37, the same in all processes
  void refuse_shared_cards(int card) {
    std::vector<PlaceOfCard> places(static_cast<std::size_t>(peers_.groups().ranks()));
    PlaceOfCard& own = places[static_cast<std::size_t>(meeting_.rank().value)];
    own.machine = meeting_.machine();
    check_cuda(cudaDeviceGetPCIBusId(own.card.data(), static_cast<int>(own.card.size()), card), "cudaDeviceGetPCIBusId");
    gather(std::as_writable_bytes(std::span{places}));
    for (std::size_t b = 1; b < places.size(); ++b)
      for (std::size_t a = 0; a < b; ++a)
        if (places[a] == places[b]) refuse_shared_card(static_cast<int>(a), static_cast<int>(b), places[a]);
  }

  Meeting meeting_;
  NcclPeers peers_;
  std::unique_ptr<RankOnCard> rank_;
  std::exception_ptr error_;
  bool held_ = false;  // by all cards: what the last call threw each process throws
};

}  // namespace heddle::backend_room
