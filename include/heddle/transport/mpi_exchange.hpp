// SPDX-License-Identifier: MIT
// Room: transport. What all processes of a plan do together beside its program: they compare it at the start and share what one of them holds.
// Sees: transport/movement, transport/mpi_calls, transport/mpi_process, seams/pledge.  Does not see: transfers, groups, deadlines.
// In: a communicator.  Out: the same bytes everywhere; a sentence that names the odd rank.
#pragma once

#include "heddle/core/written.hpp"
#include "heddle/transport/mpi_header.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_process.hpp"

namespace heddle::transport_room {

/// Afterwards every process has the owner's bytes. The owner says first which share it is and how long: the others take nothing else for it.
///
/// Messages are read from and received into memory of its own, in pieces: 3 MiB are three. So MPI never holds the caller's bytes, and what an owner
/// that was only slow sends after it was given up reaches nothing that was freed.
///
/// Errors  T09 if the owner shares something else
/// Tested  transport/mpi_exchange_test, transport/mpi_test
class MpiShare {
 public:
  explicit MpiShare(const MpiCommunicator& comm) : comm_(comm), requests_(2 * comm.size()) {}
  MpiShare(const MpiShare&) = delete;
  MpiShare& operator=(const MpiShare&) = delete;
  ~MpiShare() {
    if (!owns()) requests_.cancel(owner_);
    if (requests_.abandon()) MpiProcess::instance().keep(memory_);
  }

  /// The `number`-th share of every process.
  void start(int owner, std::int64_t number, std::span<std::byte> bytes) {
    owner_ = owner;
    rest_ = bytes;
    moving_ = 0;
    memory_->mine = memory_->theirs = {number, static_cast<std::int64_t>(bytes.size())};
    asked_ = !owns();
    if (asked_) return requests_.receive(owner, comm_.get(), owner, heading_tag, &memory_->theirs, sizeof(Heading));
    each_other([&](int rank) { requests_.send(rank, comm_.get(), rank, heading_tag, &memory_->mine, sizeof(Heading)); });
    if (!rest_.empty()) move_next();
  }
  [[nodiscard]] bool done() {
    while (requests_.done()) {
      if (asked_ && memory_->theirs != memory_->mine) return true;
      if (!owns()) std::copy_n(memory_->piece.begin(), moving_, rest_.begin());
      rest_ = rest_.subspan(moving_);
      moving_ = 0;
      asked_ = false;
      if (rest_.empty()) return true;
      move_next();
    }
    return false;
  }
  /// Whether the owner has come; it does not know who of the others has.
  [[nodiscard]] bool moves() const { return !asked_; }
  [[nodiscard]] bool needs(int rank) const { return owns() || rank == owner_; }
  template <class Visit> void each_missing(Visit visit) {
    requests_.done();
    if (asked_) return visit(owner_);
    each_other([&](int rank) {
      if (!(requests_.empty(rank) && requests_.empty(comm_.size() + rank))) visit(rank);
    });
  }
  [[nodiscard]] OperationName describe() const { return describe(owner_); }
  [[nodiscard]] static OperationName describe(int owner) {
    OperationName name{"sharing what rank "};
    name << std::to_string(owner) << " holds";
    return name;
  }
  void check() const {
    if (memory_->theirs == memory_->mine) return;
    const auto words = [](const Heading& h) { return written({h.bytes, " bytes as number ", h.number}); };
    throw Error{
        Code{'T', 9},
        written({"rank ", owner_, " shares ", words(memory_->theirs), " with the others, rank ", comm_.rank(), " expects ", words(memory_->mine),
                 ". Fix: make the same calls in the same order in every process, also parameter_hash(), parameter(), set_parameter(), accuracy(), ",
                 "save() and load(); under first_process() only print."})};
  }

 private:
  /// What a rank says of an exchange before its bytes: its number, and how many bytes follow; both ends must say the same.
  /// A Heading has 16 bytes: {3, 64} announces 64 bytes as exchange 3.
  struct Heading {
    std::int64_t number = 0;
    std::int64_t bytes = 0;
    friend bool operator==(const Heading&, const Heading&) = default;
  };
  /// What MPI reads and writes.
  struct Memory {
    Heading mine, theirs;
    std::vector<std::byte> piece = std::vector<std::byte>(64);  // a loss has room: a step that reports one allocates nothing
  };
  static constexpr int tag = 1;
  static constexpr int heading_tag = 3;
  static constexpr std::size_t most_of_piece = std::size_t{1} << 20;

  [[nodiscard]] bool owns() const { return owner_ == comm_.rank(); }
  template <class Visit> void each_other(Visit visit) const {
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (rank != comm_.rank()) visit(rank);
  }
  void move_next() {
    moving_ = std::min(rest_.size(), most_of_piece);
    std::vector<std::byte>& piece = memory_->piece;
    if (piece.size() < moving_) piece.resize(moving_);
    if (!owns()) return requests_.receive(owner_, comm_.get(), owner_, tag, piece.data(), moving_);
    std::copy_n(rest_.begin(), moving_, piece.begin());
    each_other([&](int rank) { requests_.send(comm_.size() + rank, comm_.get(), rank, tag, piece.data(), moving_); });
  }

  const MpiCommunicator& comm_;
  int owner_ = 0;
  std::span<std::byte> rest_;  // what has not moved yet
  std::size_t moving_ = 0;     // bytes of it that are moving
  bool asked_ = false;         // the owner's heading is still to be received
  MpiRequests requests_;       // by rank: headings, then bytes
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
};

/// Every process tells every other what it is going to run. What another version of Heddle tells is longer or shorter; there is room for both.
///
/// Errors  those of check_start if they differ
/// Tested  transport/mpi_exchange_test
class MpiAgreement {
 public:
  MpiAgreement(const MpiCommunicator& comm, StartPledge mine)
      : comm_(comm), requests_(2 * comm.size()), pledged_(std::make_shared<std::vector<Pledged>>(static_cast<std::size_t>(comm.size()))) {
    std::memcpy(of(comm.rank()).bytes, &mine, sizeof mine);
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (rank == comm.rank()) continue;
      requests_.receive(rank, comm.get(), rank, tag, of(rank).bytes, sizeof(Pledged));
      requests_.send(comm.size() + rank, comm.get(), rank, tag, of(comm.rank()).bytes, sizeof mine);
    }
  }
  MpiAgreement(const MpiAgreement&) = delete;
  MpiAgreement& operator=(const MpiAgreement&) = delete;
  ~MpiAgreement() {
    for (int rank = 0; rank < comm_.size(); ++rank) requests_.cancel(rank);
    if (requests_.abandon()) MpiProcess::instance().keep(pledged_);
  }
  [[nodiscard]] bool done() { return requests_.done(); }
  [[nodiscard]] bool needs(int) const { return true; }
  template <class Visit> void each_missing(Visit visit) {
    requests_.done();
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (!(requests_.empty(rank) && requests_.empty(comm_.size() + rank))) visit(rank);
  }
  [[nodiscard]] static OperationName describe() { return "the start of the plan"; }
  void check() const {
    std::vector<StartPledge> pledges(pledged_->size());
    for (std::size_t rank = 0; rank < pledges.size(); ++rank) std::memcpy(&pledges[rank], (*pledged_)[rank].bytes, sizeof(StartPledge));
    check_start(pledges);
  }

 private:
  /// What one rank has said: a StartPledge of this version takes 1072 of its 4096 bytes, the others are 0.
  struct Pledged {
    std::byte bytes[StartPledge::most_bytes]{};
  };
  static constexpr int tag = 2;
  [[nodiscard]] Pledged& of(int rank) { return (*pledged_)[static_cast<std::size_t>(rank)]; }

  const MpiCommunicator& comm_;
  MpiRequests requests_;                           // by rank: theirs, then mine
  std::shared_ptr<std::vector<Pledged>> pledged_;  // by rank
};

}  // namespace heddle::transport_room
