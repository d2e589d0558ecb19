// SPDX-License-Identifier: MIT
// Room: transport. Ranks that are processes: MPI moves the bytes, the sums have the order of every other transport.
// Sees: run/concepts, run/error, core, MPI.  Does not see: policies, programs, kernels.
// In: a communicator, groups, limits, a deadline.  Out: the TransportEndpoint of this process; lane model: free.
#pragma once

#include <mpi.h>

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
#include "heddle/run/concepts.hpp"
#include "heddle/run/error.hpp"
#include "heddle/transport/groups.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_collective.hpp"
#include "heddle/transport/mpi_exchange.hpp"
#include "heddle/transport/mpi_process.hpp"
#include "heddle/transport/mpi_transfer.hpp"
#include "heddle/transport/mpi_watch.hpp"
#include "heddle/transport/sent_counters.hpp"
#include "heddle/transport/window.hpp"

namespace heddle::inline transport_room {

/// Transport between processes, and the endpoint of the one it lives in. The thread that has started MPI calls it.
///
/// What this process has started goes on in every call it makes of the transport, so completion depends on starts and on ranks that are in some
/// call, never on a particular wait. A rank that stops tells the others; after that nothing can be started on it again.
/// Moves   what is started, and 8 bytes each way per transfer, 16 per member and collective, which are not counted            [bytes]
/// Errors  T01 counts or kinds that differ; T02, T03, T04, T05 misuse; T06 what MPI refuses; R03 another number of processes; R08 another program;
///         RankLost (R01) after the deadline or when a rank was given up
/// Tested  transport/mpi_test, conformance/transport_mpi_test
class Mpi {
 public:
  using Endpoint = Mpi;
  /// Collective over `world`, which has one process per rank. `program` is compared between the processes.
  Mpi(MPI_Comm world, int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline,
      std::uint64_t program = 0);
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  ~Mpi();

  [[nodiscard]] int ranks() const { return groups_.ranks(); }
  [[nodiscard]] Rank rank() const { return Rank{watch_.rank()}; }
  [[nodiscard]] Endpoint& endpoint(Rank) { return *this; }

  /// What this process has sent since construction or the last clear_traffic: in all groups, or in one.
  [[nodiscard]] Sent sent(Rank, Movement kind) const { return traffic_.sent(kind); }
  [[nodiscard]] Sent sent(Rank, Movement kind, int group) const { return traffic_.sent(kind, group); }
  void clear_traffic() { traffic_.clear(); }
  /// Memory for sums beside the arena; it grows to the largest collective that was ever started, at construction to the one in the limits.
  [[nodiscard]] Bytes scratch() const {
    Bytes sum;
    for (const auto& group : mine_) sum += Bytes{static_cast<std::int64_t>(group->scratch.size() * sizeof(float))};
    return sum;
  }

  // ---- TransportEndpoint
  std::int64_t send_start(int peer, const float* source, std::int64_t elements) {
    const std::int64_t k = open_transfer(sends_, peer, elements, true);
    traffic_.count_send(elements);
    return started(
        transfer(peer, k, true), [&](MpiTransfer& t) { t.start_send(transfers_comm_.get(), rank().value, peer, slot(k), k, source, elements); }, k);
  }
  void send_wait(int peer, std::int64_t k) { wait_transfer(sends_, peer, k, true); }
  std::int64_t receive_start(int peer, float* target, std::int64_t elements) {
    const std::int64_t k = open_transfer(receives_, peer, elements, false);
    return started(
        transfer(peer, k, false), [&](MpiTransfer& t) { t.start_receive(transfers_comm_.get(), rank().value, peer, slot(k), k, target, elements); },
        k);
  }
  void receive_wait(int peer, std::int64_t k) { wait_transfer(receives_, peer, k, false); }

  std::int64_t all_reduce_start(int group, float* data, std::int64_t elements) {
    groups_.check_collective(rank().value, group, elements);
    return start(Movement::all_reduce, group, data, data, elements);
  }
  void all_reduce_wait(int group, std::int64_t k) { wait(Movement::all_reduce, group, k); }
  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t elements) {
    groups_.check_slices(rank().value, group, elements);
    return start(Movement::reduce_scatter, group, whole, slice, elements);
  }
  void reduce_scatter_wait(int group, std::int64_t k) { wait(Movement::reduce_scatter, group, k); }
  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t elements) {
    groups_.check_slices(rank().value, group, elements);
    return start(Movement::all_gather, group, slice, whole, elements);
  }
  void all_gather_wait(int group, std::int64_t k) { wait(Movement::all_gather, group, k); }

  /// Collective: afterwards every process has the owner's bytes. Not counted.
  void share(Rank owner, std::span<std::byte> bytes) {
    constexpr std::size_t most = std::size_t{1} << 30;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(most, bytes.size()))) {
      if (watch_.out()) throw watch_.lost().error(share_.describe(), shared_);
      share_.start(owner.value, bytes.first(std::min(most, bytes.size())));
      finish(share_, shared_++);
    }
  }

  /// This rank stops: the others are told why. When this returns MPI reads and writes no buffer that was given to it, unless another rank was
  /// lost in the middle of a message.
  void give_up(Rank, const std::string& why);

 private:
  struct Lane {  // one group that this rank belongs to
    Window window;
    std::vector<MpiCollective> slots;
  };

  [[nodiscard]] int slot(std::int64_t k) const { return static_cast<int>(k % limits_.transfers); }
  [[nodiscard]] MpiTransfer& transfer(int peer, std::int64_t k, bool sends) {
    return transfers_[static_cast<std::size_t>((2 * peer + (sends ? 0 : 1)) * limits_.transfers + slot(k))];
  }
  [[nodiscard]] Lane& lane(int group) { return lanes_[static_cast<std::size_t>(lane_of_[static_cast<std::size_t>(group)])]; }
  [[nodiscard]] MpiGroup& group_at(int group) { return *mine_[static_cast<std::size_t>(lane_of_[static_cast<std::size_t>(group)])]; }
  [[nodiscard]] MpiCollective& collective(int group, std::int64_t k) { return lane(group).slots[static_cast<std::size_t>(k % limits_.reductions)]; }

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
    Window& window = lane(group).window;
    if (watch_.out()) throw watch_.lost().error(describe_collective(kind, group), window.next());
    const std::int64_t k = window.open([&] { return describe_collective(kind, group); });
    const int at = static_cast<int>(k % limits_.reductions);
    return started(
        collective(group, k),
        [&](MpiCollective& c) {
          c.start(group_at(group), at, k, {kind, elements}, source, target, traffic_);
        },
        k);
  }
  void wait(Movement kind, int group, std::int64_t k) {
    groups_.check_collective(rank().value, group, 0);
    lane(group).window.close(k, [&] { return describe_collective(kind, group); });
    finish(collective(group, k), k);
    collective(group, k).check_counts();
  }

  template <class Operation, class Start> std::int64_t started(Operation& operation, Start start, std::int64_t k) {
    start(operation);
    active(operation).push_back(&operation);
    progress();
    return k;
  }
  [[nodiscard]] std::vector<MpiTransfer*>& active(const MpiTransfer&) { return active_transfers_; }
  [[nodiscard]] std::vector<MpiCollective*>& active(const MpiCollective&) { return active_collectives_; }

  /// Everything that was started goes on as far as it can now.
  void progress() {
    std::erase_if(active_transfers_, [](MpiTransfer* t) { return t->advance(); });
    std::erase_if(active_collectives_, [](MpiCollective* c) { return c->advance(); });
  }
  template <class Operation> void finish(Operation& operation, std::int64_t k) {
    progress();
    if (operation.done() || watch_.await(operation, [&] { progress(); })) return;
    RankLost error = watch_.lost().error(operation.describe(), k);
    give_up(rank(), "");
    throw error;
  }
  void agree(std::uint64_t program, int ranks);
  void make_lanes();
  void quiet_down();

  PendingLimits limits_;
  int exceptions_ = std::uncaught_exceptions();
  MpiWatch watch_;
  MpiCommunicator transfers_comm_, collectives_comm_;  // after that of the watch, in every process
  MpiShare share_;
  Groups groups_;
  SentCounters traffic_;
  bool gone_ = false;
  std::int64_t shared_ = 0;
  std::vector<Window> sends_;                    // by peer
  std::vector<Window> receives_;                 // by peer
  std::vector<MpiTransfer> transfers_;           // (peers, directions, slots)
  std::vector<int> lane_of_;                     // by group, -1: this rank is no member
  std::vector<std::unique_ptr<MpiGroup>> mine_;  // by lane
  std::vector<Lane> lanes_;
  std::vector<MpiTransfer*> active_transfers_;
  std::vector<MpiCollective*> active_collectives_;
};

inline Mpi::Mpi(MPI_Comm world, int ranks, std::vector<std::vector<int>> groups, PendingLimits limits, std::chrono::nanoseconds deadline,
                std::uint64_t program)
    : limits_(limits), watch_(world, deadline), transfers_comm_(world, deadline), collectives_comm_(world, deadline), share_(watch_.comm()),
      groups_(std::max(ranks, watch_.size()), std::move(groups)), traffic_(groups_.count()),
      sends_(static_cast<std::size_t>(watch_.size()), Window{limits.transfers}), receives_(sends_) {
  agree(program, ranks);
  if (ranks != watch_.size())
    throw Error{Code{'R', 3}, "the plan has " + std::to_string(ranks) + " devices, but MPI has started " + std::to_string(watch_.size()) +
                                  " processes, and each is one rank. Fix: start it with mpirun -np " + std::to_string(ranks) + "."};
  transfers_ = std::vector<MpiTransfer>(2 * sends_.size() * static_cast<std::size_t>(limits_.transfers));
  active_transfers_.reserve(transfers_.size());
  make_lanes();
}

inline void Mpi::agree(std::uint64_t program, int ranks) {
  MpiAgreement agreement{watch_.comm(), {program, ranks}};
  try {
    finish(agreement, 0);
  } catch (const RankLost&) {
    MpiProcess::instance().finalize_at_the_end(false);
    throw;
  }
  agreement.check();
}

inline void Mpi::make_lanes() {
  std::size_t collectives = 0;
  const std::int64_t tags_of_one = std::int64_t{limits_.reductions} * MpiCollective::tags;
  if (groups_.count() * tags_of_one > collectives_comm_.most_tag())
    throw Error{Code{'T', 6}, std::to_string(groups_.count()) + " groups with " + std::to_string(limits_.reductions) +
                                  " pending collectives each need more tags than this MPI has, " + std::to_string(collectives_comm_.most_tag()) +
                                  ". Fix: use fewer, larger buckets, or another MPI."};
  for (int g = 0; g < groups_.count(); ++g) {
    const int position = groups_.position(g, rank().value);
    lane_of_.push_back(position < 0 ? -1 : static_cast<int>(mine_.size()));
    if (position < 0) continue;
    auto group = std::make_unique<MpiGroup>();
    group->comm = collectives_comm_.get();
    group->number = g;
    for (int q = 0; q < groups_.members(g); ++q) group->ranks.push_back(groups_.rank_at(g, q));
    group->position = position;
    group->first_tag = static_cast<int>(g * tags_of_one);
    if (group->members() > 1) group->reserve(limits_.elements);
    mine_.push_back(std::move(group));
    lanes_.push_back({Window{limits_.reductions}, {}});
    for (int i = 0; i < limits_.reductions; ++i) lanes_.back().slots.emplace_back(groups_.members(g));
    collectives += static_cast<std::size_t>(limits_.reductions);
  }
  active_collectives_.reserve(collectives);
}

inline void Mpi::give_up(Rank, const std::string& why) {
  if (gone_) return;
  gone_ = true;
  watch_.say_farewell(why);
  quiet_down();
}

/// Receives are taken back; what others are reading now is waited for, but not for ever.
inline void Mpi::quiet_down() {
  for (MpiTransfer* const t : active_transfers_) t->cancel_receives();
  for (MpiCollective* const c : active_collectives_) c->cancel_receives();
  watch_.linger(std::chrono::seconds{1}, [&] {
    bool quiet = true;
    for (MpiTransfer* const t : active_transfers_) quiet = t->quiet() && quiet;
    for (MpiCollective* const c : active_collectives_) quiet = c->quiet() && quiet;
    return quiet;
  });
  for (MpiTransfer* const t : active_transfers_) t->abandon();
  for (MpiCollective* const c : active_collectives_) c->abandon();
  active_transfers_.clear();
  active_collectives_.clear();
}

inline Mpi::~Mpi() {
  try {
    watch_.listen();
    if (watch_.lost().any() || std::uncaught_exceptions() > exceptions_) give_up(rank(), "an exception has ended its part in the plan");
    if (gone_) {
      // The rank that was lost first says so itself, or it is silent, and MPI_Finalize must not wait for it.
      watch_.linger(std::chrono::seconds{2}, [&] { return watch_.heard_of_the_first(); });
      if (!watch_.heard_of_the_first()) MpiProcess::instance().finalize_at_the_end(false);
    } else if (active_transfers_.empty() && active_collectives_.empty()) {
      return;
    } else {
      quiet_down();
    }
  } catch (const Error&) {
    MpiProcess::instance().finalize_at_the_end(false);
  }
  // What nobody has taken must not meet the messages of a later transport.
  for (MpiCommunicator* const comm : {&transfers_comm_, &collectives_comm_, &watch_.comm()}) comm->keep();
}

static_assert(TransportEndpoint<Mpi>);

}  // namespace heddle::inline transport_room
