// SPDX-License-Identifier: MIT
// Room: transport. What one process has started and what is not complete yet: it goes on in every call of the transport.
// Sees: transport/mpi_collective, transport/mpi_transfer.  Does not see: deadlines, lost ranks, windows, how anybody waits.
// In: transfers and collectives that were started.  Out: MpiUnderWay.
#pragma once

#include <cstddef>
#include <vector>

#include "heddle/transport/mpi_collective.hpp"
#include "heddle/transport/mpi_transfer.hpp"

namespace heddle::transport_room {

/// Transfers and collectives of one process that are not complete: a rank that has started two sends and one sum has three.
///
/// Tested  transport/mpi_under_way_test, transport/mpi_test
class MpiUnderWay {
 public:
  /// Room for all that may be pending at once: a start allocates nothing.
  void reserve(std::size_t transfers, std::size_t collectives) {
    transfers_.reserve(transfers);
    collectives_.reserve(collectives);
  }
  void add(MpiTransfer& transfer) { transfers_.push_back(&transfer); }
  void add(MpiCollective& collective) { collectives_.push_back(&collective); }
  [[nodiscard]] bool empty() const { return transfers_.empty() && collectives_.empty(); }

  /// All goes on as far as it can now.
  void progress() {
    std::erase_if(transfers_, [](MpiTransfer* t) { return t->advance(); });
    std::erase_if(collectives_, [](MpiCollective* c) { return c->advance(); });
  }
  /// Visits the ranks that keep the operation. Whoever keeps an earlier collective of the group from its sum keeps this one from it.
  template <class Operation, class Visit> void each_missing(Operation& waited, Visit visit) { waited.each_missing(visit); }
  template <class Visit> void each_missing(MpiCollective& waited, Visit visit) {
    for (MpiCollective* const c : collectives_)
      if (c->goes_first(waited)) c->each_missing(visit);
  }

  // ---- the end
  void cancel_receives() {
    for (MpiTransfer* const t : transfers_) t->cancel_receives();
    for (MpiCollective* const c : collectives_) c->cancel_receives();
  }
  /// True if nothing of it is pending any more, complete or cancelled.
  [[nodiscard]] bool quiet() {
    bool quiet = true;
    for (MpiTransfer* const t : transfers_) quiet = t->quiet() && quiet;
    for (MpiCollective* const c : collectives_) quiet = c->quiet() && quiet;
    return quiet;
  }
  /// Nothing is under way any more. True if MPI may still read and write what belongs to it.
  [[nodiscard]] bool abandon() {
    bool pending = false;
    for (MpiTransfer* const t : transfers_) pending = t->abandon() || pending;
    for (MpiCollective* const c : collectives_) pending = c->abandon() || pending;
    transfers_.clear();
    collectives_.clear();
    return pending;
  }

 private:
  std::vector<MpiTransfer*> transfers_;
  std::vector<MpiCollective*> collectives_;
};

}  // namespace heddle::transport_room
