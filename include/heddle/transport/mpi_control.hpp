// SPDX-License-Identifier: MIT
// Room: transport. What processes tell each other beside their data: that a rank was lost, and whom a rank has long been waiting for.
// Sees: transport/mpi_calls.  Does not see: transfers, groups, deadlines.
// In: a communicator of its own.  Out: messages to all others, heard by whoever waits.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/transport/mpi_calls.hpp"

namespace heddle::inline transport_room {

/// One message, of fixed length.
struct ControlMessage {
  enum Kind : std::int32_t { lost, waiting };
  static constexpr int most_words = 1015;
  std::int32_t kind = lost;
  std::int32_t rank = -1;  // who was lost; who is waited for, -1: nobody any more
  char why[most_words + 1]{};
};

/// A receive from every other rank is always pending.
///
/// Tested  transport/mpi_control_test
class MpiControl {
 public:
  explicit MpiControl(const MpiCommunicator& comm)
      : comm_(comm), receives_(comm.size()), farewells_(comm.size()), notices_(comm.size()), heard_(static_cast<std::size_t>(comm.size())),
        gone_(heard_.size(), false) {
    for (int rank = 0; rank < comm_.size(); ++rank) expect(rank);
  }
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;
  ~MpiControl() {
    for (int rank = 0; rank < comm_.size(); ++rank) receives_.cancel(rank);
    if (!receives_.done()) receives_.abandon();
  }

  /// Calls visit(from, message) for what has arrived.
  template <class Visit> void listen(Visit visit) {
    for (int from = receives_.any(); from >= 0; from = receives_.any()) {
      const ControlMessage message = heard_[static_cast<std::size_t>(from)];
      if (message.kind == ControlMessage::lost) gone_[static_cast<std::size_t>(from)] = true;
      expect(from);
      visit(from, message);
    }
  }

  /// The last word of this rank: it starts nothing more.
  void tell_lost(int rank, std::string_view why) {
    farewell_.kind = ControlMessage::lost;
    farewell_.rank = rank;
    const std::string_view words = why.substr(0, ControlMessage::most_words);
    std::copy(words.begin(), words.end(), farewell_.why);
    send(farewells_, farewell_);
  }
  /// Whom this rank is waiting for. Left out if the last such message has not left yet.
  void tell_waiting(int rank) {
    if (!notices_.done()) return;
    notice_.kind = ControlMessage::waiting;
    notice_.rank = rank;
    send(notices_, notice_);
  }
  [[nodiscard]] bool farewell_has_left() { return farewells_.done(); }
  /// Whether a rank has said its last word.
  [[nodiscard]] bool gone(int rank) const { return gone_[static_cast<std::size_t>(rank)]; }
  /// Whether every other rank has said its last word.
  [[nodiscard]] bool all_gone() const {
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (rank != comm_.rank() && !gone_[static_cast<std::size_t>(rank)]) return false;
    return true;
  }

 private:
  static constexpr int tag = 0;
  void expect(int rank) {
    if (rank != comm_.rank()) receives_.receive(rank, comm_.get(), rank, tag, &heard_[static_cast<std::size_t>(rank)], sizeof(ControlMessage));
  }
  void send(MpiRequests& requests, const ControlMessage& message) {
    for (int rank = 0; rank < comm_.size(); ++rank)
      if (rank != comm_.rank()) requests.send(rank, comm_.get(), rank, tag, &message, sizeof message);
  }

  const MpiCommunicator& comm_;
  MpiRequests receives_;
  MpiRequests farewells_;
  MpiRequests notices_;
  std::vector<ControlMessage> heard_;  // by rank
  std::vector<bool> gone_;             // by rank
  ControlMessage farewell_;
  ControlMessage notice_;
};

}  // namespace heddle::inline transport_room
