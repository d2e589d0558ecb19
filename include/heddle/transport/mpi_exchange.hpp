// SPDX-License-Identifier: MIT
// Room: transport. What all processes of a plan do together beside its program: they compare it at the start and share what one of them holds.
// Sees: transport/mpi_calls, run/pledge.  Does not see: transfers, groups, deadlines.
// In: a communicator.  Out: the same bytes everywhere; a sentence that names the odd rank.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/run/error.hpp"
#include "heddle/run/pledge.hpp"
#include "heddle/transport/mpi_calls.hpp"

namespace heddle::inline transport_room {

/// Afterwards every process has the owner's bytes. The owner says first which share it is and how long: the others take nothing else for it.
///
/// Errors  T09 if the owner shares something else
/// Tested  transport/mpi_exchange_test
class MpiShare {
 public:
  explicit MpiShare(const MpiCommunicator& comm) : comm_(comm), requests_(2 * comm.size()) {}

  /// The `number`-th share of every process.
  void start(int owner, std::int64_t number, std::span<std::byte> bytes) {
    owner_ = owner;
    bytes_ = bytes;
    mine_ = theirs_ = {number, static_cast<std::int64_t>(bytes.size())};
    asked_ = owner != comm_.rank();
    if (asked_) return requests_.receive(owner, comm_.get(), owner, heading_tag, &theirs_, sizeof theirs_);
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (rank == owner) continue;
      requests_.send(rank, comm_.get(), rank, heading_tag, &mine_, sizeof mine_);
      requests_.send(comm_.size() + rank, comm_.get(), rank, tag, bytes.data(), bytes.size());
    }
  }
  [[nodiscard]] bool done() {
    if (!requests_.done()) return false;
    if (!asked_ || theirs_ != mine_) return true;
    asked_ = false;
    requests_.receive(owner_, comm_.get(), owner_, tag, bytes_.data(), bytes_.size());
    return requests_.done();
  }
  [[nodiscard]] bool needs(int rank) const { return owner_ == comm_.rank() || rank == owner_; }
  template <class Visit> void each_missing(Visit visit) {
    requests_.done();
    if (asked_) return visit(owner_);
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (rank != comm_.rank() && !(requests_.empty(rank) && requests_.empty(comm_.size() + rank))) visit(rank);
  }
  [[nodiscard]] std::string describe() const { return "sharing what rank " + std::to_string(owner_) + " holds"; }
  void check() const {
    if (theirs_ == mine_) return;
    const auto words = [](const Heading& h) { return std::to_string(h.bytes) + " bytes as number " + std::to_string(h.number); };
    throw Error{Code{'T', 9},
                "rank " + std::to_string(owner_) + " shares " + words(theirs_) + " with the others, rank " + std::to_string(comm_.rank()) +
                    " expects " + words(mine_) +
                    ". Fix: make the same calls in the same order in every process, and let only what prints or writes depend on first_process()."};
  }

 private:
  struct Heading {
    std::int64_t number = 0;
    std::int64_t bytes = 0;
    friend bool operator==(const Heading&, const Heading&) = default;
  };
  static constexpr int tag = 1;
  static constexpr int heading_tag = 3;
  const MpiCommunicator& comm_;
  int owner_ = 0;
  std::span<std::byte> bytes_;
  Heading mine_, theirs_;
  bool asked_ = false;    // the owner's bytes are still to be received
  MpiRequests requests_;  // by rank: headings, then bytes
};

/// Every process tells every other what it is going to run.
///
/// Errors  those of check_start if they differ
/// Tested  transport/mpi_exchange_test
class MpiAgreement {
 public:
  MpiAgreement(const MpiCommunicator& comm, StartPledge mine)
      : comm_(comm), requests_(2 * comm.size()), mine_(mine), pledges_(static_cast<std::size_t>(comm.size()), mine) {
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (rank == comm.rank()) continue;
      requests_.receive(rank, comm.get(), rank, tag, &pledges_[static_cast<std::size_t>(rank)], sizeof mine_);
      requests_.send(comm.size() + rank, comm.get(), rank, tag, &mine_, sizeof mine_);
    }
  }
  [[nodiscard]] bool done() { return requests_.done(); }
  [[nodiscard]] bool needs(int) const { return true; }
  template <class Visit> void each_missing(Visit visit) {
    requests_.done();
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (!(requests_.empty(rank) && requests_.empty(comm_.size() + rank))) visit(rank);
  }
  [[nodiscard]] static std::string describe() { return "the start of the plan"; }
  void check() const { check_start(pledges_); }

 private:
  static constexpr int tag = 2;
  const MpiCommunicator& comm_;
  MpiRequests requests_;  // by rank: theirs, then mine
  StartPledge mine_;
  std::vector<StartPledge> pledges_;  // by rank
};

}  // namespace heddle::inline transport_room
