// SPDX-License-Identifier: MIT
// Room: transport. How processes find each other in a folder: each says who it is and whom it has seen, until all have seen all.
// Sees: transport/notice_board, transport/pause_between_looks, seams/error.  Does not see: plans, messages, how processes were started.
// In: a folder, a rank, a number of ranks, a deadline.  Out: FolderHandshake, the folder that this meeting alone has.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/name_of_machine.hpp"
#include "heddle/transport/notice_board.hpp"
#include "heddle/transport/pause_between_looks.hpp"

namespace heddle::transport_room {

/// Where the processes of a plan meet, and which of them this one is: rank 1 of 4 in /shared/run7.
struct MeetingPlace {
  std::string folder;
  int rank = 0;
  int ranks = 1;
};

/// Every process draws a number and writes it beside the numbers that it has seen of the others. All have met when each has seen the numbers of all
/// and knows it. What an earlier run has left there has never seen the number of this process, so it is nobody. The meeting goes on in a folder that
/// is named by all numbers: another run never comes there. Of 4 processes each writes a file of 128 + 32 bytes.
///
/// Errors  R03 a rank does not come within the deadline; R38 a folder that cannot be written, or another process that is this rank there
/// Tested  transport/folder_handshake_test
class FolderHandshake {
 public:
  FolderHandshake(const MeetingPlace& place, std::chrono::nanoseconds deadline)
      : place_(place), board_(place.folder), own_(number_of_its_own()), seen_(static_cast<std::size_t>(place.ranks), 0), machines_(seen_.size()) {
    seen_[at(place_.rank)] = own_;
    machines_[at(place_.rank)] = this_machine();
    meet(deadline);
  }
  /// Of this meeting alone, inside that of the place.
  [[nodiscard]] std::filesystem::path folder() const {
    std::uint64_t all = 0xcbf29ce484222325U;
    for (const std::uint64_t number : seen_) all = (all ^ number) * 0x100000001b3U;
    char name[32];
    std::snprintf(name, sizeof name, "met_%016llx", static_cast<unsigned long long>(all));
    return board_.folder() / name;
  }
  [[nodiscard]] const std::vector<NameOfMachine>& machines() const { return machines_; }
  /// All others have left the handshake: what this process has written for it is not read any more.
  void clear() const { board_.remove(name_of(place_.rank)); }

 private:
  static constexpr std::uint64_t mark_of_all = 0x6b616873646e6168;
  /// The first 128 bytes of a file; the numbers that the process has seen stand behind them, by rank.
  struct Hello {
    std::uint64_t mark = mark_of_all;
    std::uint64_t number = 0;
    std::int64_t ranks = 0;
    NameOfMachine machine;
  };
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] static std::string name_of(int rank) { return "rank_" + std::to_string(rank); }

  void say() const {
    const Hello hello{mark_of_all, own_, place_.ranks, machines_[at(place_.rank)]};
    board_.put(name_of(place_.rank), {std::as_bytes(std::span{&hello, 1}), std::as_bytes(std::span{seen_})});
  }
  /// What the rank has written, if it counts as many ranks; otherwise a number 0.
  [[nodiscard]] Hello read(int rank, std::vector<std::uint64_t>& seen) const {
    std::vector<std::byte> bytes(sizeof(Hello) + seen_.size() * sizeof(std::uint64_t));
    Hello hello;
    if (board_.get(name_of(rank), bytes) != bytes.size()) return hello;
    std::memcpy(&hello, bytes.data(), sizeof hello);
    std::memcpy(seen.data(), bytes.data() + sizeof hello, bytes.size() - sizeof hello);
    if (hello.mark != mark_of_all || hello.ranks != place_.ranks) hello.number = 0;
    return hello;
  }
  /// Looks at all others; returns whether it has seen something new. missing_ are those that have not seen this process.
  [[nodiscard]] bool look() {
    bool news = false;
    missing_.clear();
    std::vector<std::uint64_t> theirs(seen_.size());
    for (int rank = 0; rank < place_.ranks; ++rank) {
      const Hello hello = read(rank, theirs);
      if (rank == place_.rank) {
        if (hello.number != own_) refuse_two();
        continue;
      }
      if (hello.number != 0 && hello.number != seen_[at(rank)]) {
        news = true;
        seen_[at(rank)] = hello.number;
        machines_[at(rank)] = hello.machine;
      }
      if (hello.number == 0 || theirs[at(place_.rank)] != own_) missing_.push_back(rank);
    }
    return news;
  }
  [[noreturn]] HEDDLE_COLD void refuse_two() const {
    throw Error(Code{'R', 38}, written({"another process is rank ", place_.rank, " in the folder '", place_.folder,
                                        "' too. Fix: give each run a folder of its own, and each process of it a rank of its own."}));
  }
  HEDDLE_COLD void meet(std::chrono::nanoseconds deadline) {
    const auto begun = std::chrono::steady_clock::now();
    auto said = begun;
    say();
    while (true) {
      const bool news = look();
      if (!news && missing_.empty()) return;
      const auto now = std::chrono::steady_clock::now();
      if (now - begun > deadline) break;
      // What this process writes also makes NFS ask the server for the names that others have added.
      if (news || now - said > std::chrono::seconds{1}) {
        say();
        said = now;
      }
      if (!news) pause_between_looks(std::max<std::chrono::nanoseconds>(now - begun, std::chrono::milliseconds{2}));
    }
    throw Error(Code{'R', 3},
                written({seams_room::ranks_in_words(missing_), " of ", place_.ranks, " did not come to the folder '", place_.folder, "' within ",
                         milliseconds_of(deadline),
                         ". Fix: start all ranks with this folder, let each make the same trainers in the same order, or raise the ", "deadline."}));
  }

  MeetingPlace place_;
  NoticeBoard board_;
  std::uint64_t own_;
  std::vector<std::uint64_t> seen_;  // by rank
  std::vector<NameOfMachine> machines_;
  std::vector<int> missing_;
};

}  // namespace heddle::transport_room
