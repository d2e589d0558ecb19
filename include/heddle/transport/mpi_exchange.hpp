// SPDX-License-Identifier: MIT
// Room: transport. What all processes of a plan do together beside its program: they compare it at the start and share what one of them holds.
// Sees: transport/mpi_calls, run/error.  Does not see: transfers, groups, deadlines.
// In: a communicator.  Out: the same bytes everywhere; a sentence that names the odd rank.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/run/error.hpp"
#include "heddle/transport/mpi_calls.hpp"

namespace heddle::inline transport_room {

/// Afterwards every process has the owner's bytes.
///
/// Tested  transport/mpi_exchange_test
class MpiShare {
 public:
  explicit MpiShare(const MpiCommunicator& comm) : comm_(comm), requests_(comm.size()) {}

  void start(int owner, std::span<std::byte> bytes) {
    owner_ = owner;
    if (owner != comm_.rank()) return requests_.receive(owner, comm_.get(), owner, tag, bytes.data(), bytes.size());
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (rank != owner) requests_.send(rank, comm_.get(), rank, tag, bytes.data(), bytes.size());
  }
  [[nodiscard]] bool done() { return requests_.done(); }
  [[nodiscard]] bool needs(int rank) const { return owner_ == comm_.rank() || rank == owner_; }
  [[nodiscard]] int missing() const {
    if (owner_ != comm_.rank()) return owner_;
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (!requests_.empty(rank)) return rank;
    return owner_;
  }
  [[nodiscard]] std::string describe() const { return "sharing what rank " + std::to_string(owner_) + " holds"; }

 private:
  static constexpr int tag = 1;
  const MpiCommunicator& comm_;
  int owner_ = 0;
  MpiRequests requests_;  // by rank
};

/// What every process says of its plan.
struct Pledge {
  std::uint64_t program = 0;
  std::int64_t ranks = 0;
  friend bool operator==(const Pledge&, const Pledge&) = default;
};

/// The ranks in words: "rank 2", "ranks 0, 1 and 3".
[[nodiscard]] inline std::string ranks_in_words(const std::vector<int>& ranks) {
  std::string words = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) words += (i == 0 ? "" : i + 1 == ranks.size() ? " and " : ", ") + std::to_string(ranks[i]);
  return words;
}

/// The ranks whose program is not that of most; of several that are equally common the one of the lowest rank counts.
[[nodiscard]] inline std::vector<int> odd_ranks(const std::vector<Pledge>& pledges) {
  const auto number_of = [&](const Pledge& pledge) { return std::count(pledges.begin(), pledges.end(), pledge); };
  const auto common = std::max_element(pledges.begin(), pledges.end(), [&](const Pledge& a, const Pledge& b) { return number_of(a) < number_of(b); });
  std::vector<int> odd;
  for (std::size_t rank = 0; rank < pledges.size(); ++rank)
    if (pledges[rank] != *common) odd.push_back(static_cast<int>(rank));
  return odd;
}

/// Every process tells every other what it is going to run.
///
/// Errors  R08 if they differ
/// Tested  transport/mpi_exchange_test
class MpiAgreement {
 public:
  MpiAgreement(const MpiCommunicator& comm, Pledge mine)
      : comm_(comm), requests_(2 * comm.size()), mine_(mine), pledges_(static_cast<std::size_t>(comm.size()), mine) {
    for (int rank = 0; rank < comm.size(); ++rank) {
      if (rank == comm.rank()) continue;
      requests_.receive(rank, comm.get(), rank, tag, &pledges_[static_cast<std::size_t>(rank)], sizeof mine_);
      requests_.send(comm.size() + rank, comm.get(), rank, tag, &mine_, sizeof mine_);
    }
  }
  [[nodiscard]] bool done() { return requests_.done(); }
  [[nodiscard]] bool needs(int) const { return true; }
  [[nodiscard]] int missing() const {
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (!requests_.empty(rank)) return rank;
    return comm_.rank();
  }
  [[nodiscard]] static std::string describe() { return "the start of the plan"; }

  void check() const {
    const std::vector<int> odd = odd_ranks(pledges_);
    if (odd.empty()) return;
    std::vector<int> others;
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (std::find(odd.begin(), odd.end(), rank) == odd.end()) others.push_back(rank);
    throw Error{Code{'R', 8}, ranks_in_words(odd) + (odd.size() == 1 ? " runs" : " run") + " another program than " + ranks_in_words(others) +
                                  ". Fix: start the same binary with the same plan in every process."};
  }

 private:
  static constexpr int tag = 2;
  const MpiCommunicator& comm_;
  MpiRequests requests_;  // by rank: theirs, then mine
  Pledge mine_;
  std::vector<Pledge> pledges_;  // by rank
};

}  // namespace heddle::inline transport_room
