// SPDX-License-Identifier: MIT
// Room: transport. What processes tell each other beside their data: that a rank was lost, and whom a rank is waiting for.
// Sees: transport/mpi_calls, transport/mpi_process.  Does not see: transfers, groups, deadlines.
// In: a communicator of its own.  Out: messages to others, heard by whoever waits.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "heddle/transport/mpi_calls.hpp"
#include "heddle/transport/mpi_process.hpp"

namespace heddle::transport_room {

/// One message, of fixed length: the last word of a rank, or where it waits and for whom. A ControlMessage has 4 + 4 + 1,016 + 512 = 1,536 bytes.
struct ControlMessage {
  enum Kind : std::int32_t { lost, asks, answers };
  static constexpr int most_words = 1015;
  static constexpr int most_ranks = 4096;  ///< that a message can name as awaited; further ones are left out
  std::int32_t kind = lost;
  std::int32_t rank = -1;      // who was lost
  char why[most_words + 1]{};  // and why; or where the sender waits
  std::uint8_t awaited[most_ranks / 8]{};

  void say(std::string_view words) { words.substr(0, most_words).copy(why, most_words); }
  void await(int other) {
    if (other < most_ranks) awaited[other / 8] = static_cast<std::uint8_t>(awaited[other / 8] | 1U << other % 8);
  }
  [[nodiscard]] bool awaits(int other) const { return other < most_ranks && (awaited[other / 8] >> other % 8 & 1) != 0; }
};

/// A receive from every other rank is always pending.
///
/// Tested  transport/mpi_control_test
class MpiControl {
 public:
  explicit MpiControl(const MpiCommunicator& comm)
      : comm_(comm), receives_(comm.size()), farewells_(comm.size()), notices_(comm.size()),
        messages_(std::make_shared<Messages>(static_cast<std::size_t>(comm.size()))), gone_(messages_->heard.size(), false) {
    for (int rank = 0; rank < comm_.size(); ++rank) expect(rank);
  }
  MpiControl(const MpiControl&) = delete;
  MpiControl& operator=(const MpiControl&) = delete;
  ~MpiControl() {
    for (int rank = 0; rank < comm_.size(); ++rank) receives_.cancel(rank);
    bool pending = false;
    for (MpiRequests* const requests : {&receives_, &farewells_, &notices_}) pending = requests->abandon() || pending;
    if (pending) MpiProcess::instance().keep(messages_);
  }

  /// Calls visit(from, message) for what has arrived.
  template <class Visit> void listen(Visit visit) {
    for (int from = receives_.any(); from >= 0; from = receives_.any()) {
      const ControlMessage message = messages_->heard[static_cast<std::size_t>(from)];
      if (message.kind == ControlMessage::lost) gone_[static_cast<std::size_t>(from)] = true;
      expect(from);
      visit(from, message);
    }
  }

  /// The last word of this rank: it starts nothing more.
  void tell_lost(int rank, std::string_view why) {
    ControlMessage& farewell = messages_->farewell;
    farewell.kind = ControlMessage::lost;
    farewell.rank = rank;
    farewell.say(why);
    for (int to = 0; to < comm_.size(); ++to)
      if (to != comm_.rank()) farewells_.send(to, comm_.get(), to, tag, &farewell, sizeof farewell);
  }
  /// Tells one rank whom this one waits for. False if what it was told before has not left yet.
  [[nodiscard]] bool tell_waiting(int to, const ControlMessage& waiting) {
    if (!notices_.done(to)) return false;
    ControlMessage& told = messages_->told[static_cast<std::size_t>(to)];
    told = waiting;
    notices_.send(to, comm_.get(), to, tag, &told, sizeof told);
    return true;
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
  /// What MPI reads and writes.
  struct Messages {
    explicit Messages(std::size_t ranks) : heard(ranks), told(ranks) {}
    std::vector<ControlMessage> heard;  // by rank
    std::vector<ControlMessage> told;   // by rank
    ControlMessage farewell;
  };
  void expect(int rank) {
    if (rank != comm_.rank())
      receives_.receive(rank, comm_.get(), rank, tag, &messages_->heard[static_cast<std::size_t>(rank)], sizeof(ControlMessage));
  }

  const MpiCommunicator& comm_;
  MpiRequests receives_;
  MpiRequests farewells_;
  MpiRequests notices_;
  std::shared_ptr<Messages> messages_;
  std::vector<bool> gone_;  // by rank
};

}  // namespace heddle::transport_room
