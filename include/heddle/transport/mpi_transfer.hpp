// SPDX-License-Identifier: MIT
// Room: transport. One transfer between two processes: both sides tell each other their count and their call, then the elements arrive.
// Sees: seams/pledge, transport/mpi_calls, transport/mismatch.  Does not see: deadlines, lost ranks, how anybody waits.
// In: a side's start.  Out: steps that return at once; the count of the other side.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/seams/pledge.hpp"
#include "heddle/transport/mismatch.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/mpi_calls.hpp"

namespace heddle::transport_room {

/// One side of a transfer. The sender's elements leave at once; the receiver takes them when it knows that the counts agree, and drains them
/// elsewhere if they do not. The slot of its number is in the tag, so the k-th meets the k-th. Slot 5 has the tags 15, 16 and 17.
///
/// Tested  transport/mpi_transfer_test
class MpiTransfer {
 public:
  static constexpr int tags = 3;
  /// Of one, that nothing has gone wrong with.
  [[nodiscard]] static constexpr Bytes memory() {
    return Bytes{static_cast<std::int64_t>(sizeof(MpiTransfer)) + MpiRequests::bytes_of(requests_of_one)};
  }

  /// `slot` is the same on both sides.
  void start_send(MPI_Comm comm, int rank, int peer, int slot, std::int64_t k, const CallPledge& call, const float* source, std::int64_t elements) {
    begin(comm, rank, peer, slot, k, {elements, call}, true);
    exchange_counts();
    requests_.send(elements_move, comm_, peer_, tag(2), source, bytes(elements));
    posted_ = true;
  }
  void start_receive(MPI_Comm comm, int rank, int peer, int slot, std::int64_t k, const CallPledge& call, float* target, std::int64_t elements) {
    begin(comm, rank, peer, slot, k, {elements, call}, false);
    target_ = target;
    exchange_counts();
  }

  /// Does what can be done now; true if the transfer is complete.
  bool advance() {
    if (done_) return true;
    if (!posted_) {
      if (!requests_.done(theirs_arrive)) return false;
      const bool agreed = theirs_.elements == mine_.elements;
      if (!agreed) drain_.resize(static_cast<std::size_t>(theirs_.elements));
      requests_.receive(elements_move, comm_, peer_, tag(2), agreed ? target_ : drain_.data(), bytes(theirs_.elements));
      posted_ = true;
    }
    done_ = requests_.done();
    if (done_) drain_ = {};
    return done_;
  }

  [[nodiscard]] bool done() const { return done_; }
  /// Whether the other side has come.
  [[nodiscard]] bool moves() const { return requests_.empty(theirs_arrive); }
  [[nodiscard]] bool needs(int rank) const { return rank == peer_; }
  template <class Visit> void each_missing(Visit visit) const { visit(peer_); }
  [[nodiscard]] OperationName describe() const { return describe(sends_, peer_); }
  [[nodiscard]] static OperationName describe(bool sends, int peer) {
    OperationName name{sends ? "send to rank " : "receive from rank "};
    name << std::to_string(peer);
    return name;
  }
  void check_counts() const {
    if (mine_.call != theirs_.call)
      throw rank_ < peer_ ? calls_differ(rank_, mine_.call, peer_, theirs_.call) : calls_differ(peer_, theirs_.call, rank_, mine_.call);
    if (mine_.elements == theirs_.elements) return;
    throw counts_differ("rank " + std::to_string(sends_ ? rank_ : peer_) + " sends", (sends_ ? mine_ : theirs_).elements,
                        "rank " + std::to_string(sends_ ? peer_ : rank_) + " receives", (sends_ ? theirs_ : mine_).elements, k_);
  }
  void cancel_receives() {
    requests_.cancel(theirs_arrive);
    if (!sends_) requests_.cancel(elements_move);
  }
  /// True if nothing of it is pending any more, complete or cancelled.
  [[nodiscard]] bool quiet() { return requests_.done(); }
  /// True if MPI may still read and write what belongs to it.
  [[nodiscard]] bool abandon() { return requests_.abandon(); }

 private:
  /// What the two ends of a transfer tell each other before the elements move: how many there are, and where a step stands.
  /// A Notice has 8 + 24 = 32 bytes.
  struct Notice {
    std::int64_t elements = 0;
    CallPledge call;
  };
  enum Which : int { mine_leaves, theirs_arrive, elements_move, requests_of_one };

  static std::size_t bytes(std::int64_t elements) { return static_cast<std::size_t>(elements) * sizeof(float); }
  [[nodiscard]] int tag(int kind) const { return slot_ * tags + kind; }
  void begin(MPI_Comm comm, int rank, int peer, int slot, std::int64_t k, const Notice& mine, bool sends) {
    comm_ = comm;
    rank_ = rank;
    peer_ = peer;
    slot_ = slot;
    k_ = k;
    mine_ = mine;
    sends_ = sends;
    posted_ = done_ = false;
  }
  void exchange_counts() {
    requests_.receive(theirs_arrive, comm_, peer_, tag(sends_ ? 1 : 0), &theirs_, sizeof theirs_);
    requests_.send(mine_leaves, comm_, peer_, tag(sends_ ? 0 : 1), &mine_, sizeof mine_);
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int peer_ = 0;
  int slot_ = 0;
  std::int64_t k_ = 0;
  bool sends_ = false;
  bool posted_ = false;  // the elements
  bool done_ = true;
  Notice mine_;
  Notice theirs_;
  float* target_ = nullptr;
  std::vector<float> drain_;
  MpiRequests requests_{requests_of_one};
};

}  // namespace heddle::transport_room
