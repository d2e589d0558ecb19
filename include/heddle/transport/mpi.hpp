// SPDX-License-Identifier: MIT
// Room: transport. Ranks that are processes: MPI moves the bytes, the sums have the order of every other transport.
// Sees: seams/concepts, seams/error, core, MPI.  Does not see: policies, programs, kernels.
// In: a communicator, groups, limits, a deadline.  Out: the TransportEndpoint of this process; lane model: free.
#pragma once

#include "heddle/transport/mpi_header.hpp"

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

#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_collective.hpp"
#include "heddle/transport/mpi_exchange.hpp"
#include "heddle/transport/mpi_lanes.hpp"
#include "heddle/transport/mpi_process.hpp"
#include "heddle/transport/mpi_transfer.hpp"
#include "heddle/transport/mpi_under_way.hpp"
#include "heddle/transport/mpi_watch.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::transport_room {

/// Transport between processes, and the endpoint of the one it lives in. The thread that has started MPI calls it.
///
/// What this process has started goes on in every call it makes of the transport, so completion depends on starts and on ranks that are in some
/// call, never on a particular wait. A rank that stops tells the others; after that nothing can be started on it again.
/// Moves   what is started, and 32 bytes each way per transfer, 40 per member and collective, which are not counted           [bytes]
/// Errors  T01 counts or kinds that differ; T02, T03, T04, T05 misuse; T06 what MPI refuses; R03 another number of processes; R08, R18, O02 another
///         start; T09, T10, R19, O02 another call; RankLost (R01) after the deadline or when a rank was given up
/// Tested  transport/mpi_test, conformance/transport_mpi_test
class Mpi final : private MpiResident {
 public:
  using Endpoint = Mpi;
  /// Collective over `world`, which has one process per rank. What `start` says is compared between the processes.
  Mpi(MPI_Comm world, int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline,
      StartPledge start = {});
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi() {
    MpiProcess::instance().remove(*this);
    const bool thrown = std::uncaught_exceptions() > exceptions_;
    leave(thrown, thrown ? "an exception has ended its part in the plan" : end_of_the_process);
  }

  [[nodiscard]] int ranks() const { return groups_.ranks(); }
  [[nodiscard]] Rank rank() const { return Rank{watch_.rank()}; }
  [[nodiscard]] Endpoint& endpoint(Rank) { return *this; }

  /// What this process has sent since construction or the last clear_traffic: in all groups, or in one.
  [[nodiscard]] Sent sent(Rank, Movement kind) const { return traffic_.sent(kind); }
  [[nodiscard]] Sent sent(Rank, Movement kind, int group) const { return traffic_.sent(kind, group); }
  void clear_traffic() { traffic_.clear(); }
  /// Memory for sums beside the arena; it grows to the largest collective that was ever started, at construction to the one in the limits.
  [[nodiscard]] Bytes scratch() const { return lanes_.scratch(); }

  /// What goes with every message from now on: ranks that say different things are told so, with T10, R19 or O02. Costs no message.
  void begin_call(const CallPledge& call) { call_ = call; }
  void end_call() { call_ = {}; }

  // ---- TransportEndpoint
  std::int64_t send_start(int peer, const float* source, std::int64_t elements) {
    const std::int64_t k = open_transfer(sends_, peer, elements, true);
    traffic_.count_send(elements);
    return started(
        transfer(peer, k, true),
        [&](MpiTransfer& t) { t.start_send(transfers_comm_.get(), rank().value, peer, slot(k), k, call_, source, elements); }, k);
  }
  void send_wait(int peer, std::int64_t k) { wait_transfer(sends_, peer, k, true); }
  std::int64_t receive_start(int peer, float* target, std::int64_t elements) {
    const std::int64_t k = open_transfer(receives_, peer, elements, false);
    return started(
        transfer(peer, k, false),
        [&](MpiTransfer& t) { t.start_receive(transfers_comm_.get(), rank().value, peer, slot(k), k, call_, target, elements); }, k);
  }
  void receive_wait(int peer, std::int64_t k) { wait_transfer(receives_, peer, k, false); }

  std::int64_t all_reduce_start(int group, float* data, std::int64_t elements, SumOrder = SumOrder::tree) {
    groups_.check_collective(rank().value, group, elements);
    return start(Movement::all_reduce, group, data, data, elements);
  }
  void all_reduce_wait(int group, std::int64_t k) { wait(Movement::all_reduce, group, k); }
  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t elements, SumOrder = SumOrder::tree) {
    groups_.check_slices(rank().value, group, elements);
    return start(Movement::reduce_scatter, group, whole, slice, elements);
  }
  void reduce_scatter_wait(int group, std::int64_t k) { wait(Movement::reduce_scatter, group, k); }
  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t elements) {
    groups_.check_slices(rank().value, group, elements);
    return start(Movement::all_gather, group, slice, whole, elements);
  }
  void all_gather_wait(int group, std::int64_t k) { wait(Movement::all_gather, group, k); }
  /// What this process has started goes on here as well.
  [[nodiscard]] bool passable(const Ticket& ticket) {
    if (ticket.collective()) {
      groups_.check_collective(rank().value, ticket.with, 0);
      return passable(lanes_.at(ticket.with).window, ticket.k, lanes_.at(ticket.with).slot(ticket.k));
    }
    groups_.check_transfer(rank().value, ticket.with, 0);
    const bool sends = ticket.kind == Ticket::send;
    return passable((sends ? sends_ : receives_)[static_cast<std::size_t>(ticket.with)], ticket.k, transfer(ticket.with, ticket.k, sends));
  }

  /// Collective: afterwards every process has the owner's bytes. Not counted.
  void share(Rank owner, std::span<std::byte> bytes) {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(most, bytes.size()))) {
      watch_.listen();
      if (watch_.out()) throw watch_.lost().error(MpiShare::describe(owner.value), shared_);
      share_.start(owner.value, shared_, bytes.first(std::min(most, bytes.size())));
      finish(share_, shared_++);
      try {
        share_.check();
      } catch (const Error& other) {
        give_up(rank(), other.what());
        throw;
      }
    }
  }

  /// Until `operation` is done, which this process alone sees and which needs all ranks, as the queue of a card: the others are heard meanwhile, and
  /// asked whether they are there. It has done(), needs(rank), each_missing(visit) and describe(). One that may have broken() has refuse() as well,
  /// which throws where all others answer.
  template <class Operation> void await(Operation& operation, std::int64_t k) { finish(operation, k); }
  /// This rank stops: the others are told why. When this returns MPI reads and writes no buffer that was given to it, unless another rank was
  /// lost in the middle of a message.
  void give_up(Rank, const std::string& why);

 private:
  [[nodiscard]] int slot(std::int64_t k) const { return static_cast<int>(k % limits_.transfers); }
  [[nodiscard]] MpiTransfer& transfer(int peer, std::int64_t k, bool sends) {
    return transfers_[static_cast<std::size_t>((2 * peer + (sends ? 0 : 1)) * limits_.transfers + slot(k))];
  }
  std::int64_t open_transfer(std::vector<Window>& windows, int peer, std::int64_t elements, bool sends) {
    groups_.check_transfer(rank().value, peer, elements);
    Window& window = windows[static_cast<std::size_t>(peer)];
    if (watch_.out()) throw watch_.lost().error(MpiTransfer::describe(sends, peer), window.next());
    return window.open([&] { return MpiTransfer::describe(sends, peer); });
  }
  void wait_transfer(std::vector<Window>& windows, int peer, std::int64_t k, bool sends) {
    groups_.check_transfer(rank().value, peer, 0);
    windows[static_cast<std::size_t>(peer)].close(k, [&] { return MpiTransfer::describe(sends, peer); });
    finish(transfer(peer, k, sends), k);
    transfer(peer, k, sends).check_counts();
  }
  std::int64_t start(Movement kind, int group, const float* source, float* target, std::int64_t elements) {
    MpiLane& lane = lanes_.at(group);
    if (watch_.out()) throw watch_.lost().error(describe_collective(kind, group), lane.window.next());
    const std::int64_t k = lane.window.open([&] { return describe_collective(kind, group); });
    return started(
        lane.slot(k),
        [&](MpiCollective& c) {
          c.start(lane.group, lane.slot_of(k), k, call_, {kind, elements}, source, target, traffic_);
        },
        k);
  }
  void wait(Movement kind, int group, std::int64_t k) {
    groups_.check_collective(rank().value, group, 0);
    MpiLane& lane = lanes_.at(group);
    lane.window.close(k, [&] { return describe_collective(kind, group); });
    finish(lane.slot(k), k);
    lane.slot(k).check_counts();
  }

  template <class Operation, class Start> std::int64_t started(Operation& operation, Start start, std::int64_t k) {
    start(operation);
    under_way_.add(operation);
    under_way_.progress();
    return k;
  }
  template <class Operation> void finish(Operation& operation, std::int64_t k) {
    under_way_.progress();
    if (operation.done() || watch_.await(
                                operation, [&] { under_way_.progress(); }, [&](auto visit) { under_way_.each_missing(operation, visit); }))
      return;
    if constexpr (requires { operation.refuse(); })
      if (!watch_.lost().any()) operation.refuse();
    RankLost error = watch_.lost().error(operation.describe(), k);
    give_up(rank(), "");
    throw error;
  }
  /// The wait ends at once: all is there, or a rank was lost that keeps it, which the wait tells.
  template <class Operation> [[nodiscard]] bool passable(const Window& window, std::int64_t k, Operation& operation) {
    under_way_.progress();
    return !window.pending(k) || operation.done() || watch_.ends(operation);
  }
  void agree(StartPledge start);
  static constexpr const char* end_of_the_process = "its process has ended in the middle of the plan, by exit() or by the end of main";
  void process_ends() override { leave(true, end_of_the_process); }
  void leave(bool gives_up, const std::string& why);
  void quiet_down();
  /// What nobody has taken must not meet the messages of a later transport.
  void keep_communicators() {
    for (MpiCommunicator* const comm : {&transfers_comm_, &collectives_comm_, &watch_.comm()}) comm->keep();
  }

  PendingLimits limits_;
  int exceptions_ = std::uncaught_exceptions();
  CallPledge call_;
  MpiWatch watch_;
  MpiCommunicator transfers_comm_, collectives_comm_;  // after that of the watch, in every process
  MpiShare share_;
  GroupsOfRanks groups_;
  SentCounters traffic_;
  bool gone_ = false;
  bool abandoned_ = false;  // messages to or from memory of transfers or lanes
  std::int64_t shared_ = 0;
  std::vector<Window> sends_;           // by peer
  std::vector<Window> receives_;        // by peer
  std::vector<MpiTransfer> transfers_;  // (peers, directions, slots)
  MpiLanes lanes_;
  MpiUnderWay under_way_;
};

inline Mpi::Mpi(MPI_Comm world, int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline,
                StartPledge start)
    : limits_(limits), watch_(world, deadline), transfers_comm_(world, deadline), collectives_comm_(world, deadline), share_(watch_.comm()),
      groups_(std::max(ranks, watch_.size()), std::move(groups)), traffic_(groups_.count()),
      sends_(static_cast<std::size_t>(watch_.size()), Window{limits.transfers}), receives_(sends_) {
  start.ranks = ranks;
  agree(start);
  if (ranks != watch_.size()) throw Error{other_number_of_processes(ranks, watch_.size())};
  transfers_ = std::vector<MpiTransfer>(2 * sends_.size() * static_cast<std::size_t>(limits_.transfers));
  under_way_.reserve(transfers_.size(), lanes_.make(collectives_comm_, groups_, rank().value, limits_));
  MpiProcess::instance().add(*this);
}

inline void Mpi::agree(StartPledge start) {
  MpiAgreement agreement{watch_.comm(), start};
  try {
    finish(agreement, 0);
  } catch (const Error&) {
    MpiProcess::instance().finalize_at_the_end(false);
    keep_communicators();
    throw;
  }
  agreement.check();
}

inline void Mpi::give_up(Rank, const std::string& why) {
  if (gone_) return;
  gone_ = true;
  watch_.say_farewell(why);
  quiet_down();
}

/// Receives are taken back; what others are reading now is waited for, but not for ever.
inline void Mpi::quiet_down() {
  under_way_.cancel_receives();
  watch_.linger(std::chrono::seconds{1}, [&] { return under_way_.quiet(); });
  abandoned_ = under_way_.abandon() || abandoned_;
}

/// Before the transport goes; `why` is for the others if it goes in the middle of the plan.
inline void Mpi::leave(bool gives_up, const std::string& why) {
  try {
    watch_.listen();
    if (gives_up || watch_.lost().any() || call_.call != CallPledge::none) give_up(rank(), why);
    if (gone_) {
      MpiProcess::instance().finalize_within(watch_.deadline());
      // The rank that was lost first says so itself, or it is silent, and MPI_Finalize must not wait for it.
      watch_.linger(std::chrono::seconds{2}, [&] { return watch_.heard_of_the_first(); });
      if (!watch_.heard_of_the_first()) MpiProcess::instance().finalize_at_the_end(false);
    } else if (under_way_.empty()) {
      return;
    } else {
      quiet_down();
    }
  } catch (const Error&) {
    MpiProcess::instance().finalize_at_the_end(false);
  }
  keep_communicators();
  if (!abandoned_) return;
  MpiProcess::instance().keep(std::make_shared<std::vector<MpiTransfer>>(std::move(transfers_)));
  MpiProcess::instance().keep(std::make_shared<MpiLanes>(std::move(lanes_)));
}

static_assert(TransportEndpoint<Mpi>);

}  // namespace heddle::transport_room
