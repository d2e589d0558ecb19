// SPDX-License-Identifier: MIT
// Room: transport. How processes find each other in a folder: each says who it is and whom it has seen, until all have seen all.
// Sees: transport/folder_watch, transport/notice_board, transport/rank_claim, seams.  Does not see: plans, messages.
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
#include <system_error>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/folder_watch.hpp"
#include "heddle/transport/name_of_machine.hpp"
#include "heddle/transport/notice_board.hpp"
#include "heddle/transport/pause_between_looks.hpp"
#include "heddle/transport/rank_claim.hpp"

namespace heddle::transport_room {

/// Where the processes of a plan meet, and which of them this one is: rank 1 of 4 in /shared/run7.
struct MeetingPlace {
  std::string folder;
  int rank = 0;
  int ranks = 1;
};

/// R20: a rank that the place does not have.
[[nodiscard]] HEDDLE_COLD inline core_room::Diagnosis fault_of(const MeetingPlace& place) {
  if (place.rank >= 0 && place.rank < place.ranks) return {};
  return core_room::Diagnosis{Code{'R', 20}, ""} << "this process is said to be rank " << place.rank << " of " << place.ranks
                                                 << ". Fix: count ranks from 0, up to one less than their number.";
}
[[nodiscard]] inline MeetingPlace sound(MeetingPlace place) {
  if (const core_room::Diagnosis fault = fault_of(place); !fault.ok()) throw Error{fault};
  return place;
}

/// Every process draws a number and writes it beside the numbers that it has seen of the others. All have met when each has seen the numbers of all
/// and knows it. What an earlier run has left there has never seen the number of this process, so it is nobody. The meeting goes on in a folder that
/// is named by all numbers. Of 4 processes each writes a file of 128 + 32 bytes.
///
/// Two runs in one place could take each other's ranks. So a process that finds its rank with another one that lives tells all who are in the place,
/// whether they have met or not, and none of them trains on.
///
/// Errors  R03 a rank does not come within the deadline; R20 a rank that the place does not have; R38 a folder that cannot be written or read, or
///         another process that is this rank there, or some other rank
/// Tested  transport/folder_handshake_test
class FolderHandshake {
 public:
  FolderHandshake(const MeetingPlace& place, std::chrono::nanoseconds deadline)
      : place_(sound(place)), board_(place.folder), claim_(board_, place.rank), own_(number_of_its_own()),
        seen_(static_cast<std::size_t>(place.ranks), 0), machines_(seen_.size()) {
    seen_[at(place_.rank)] = own_;
    machines_[at(place_.rank)] = this_machine();
    if (claim_.refused()) refuse_two();
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
  /// Errors  R38 another run is in the place
  void check_place() const {
    if (const auto rank = SpoiledPlace::told(board_, place_.rank, claim_)) throw Error(Code{'R', 38}, words_of_two(*rank));
  }
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
  /// What the rank has written, whoever it was: a number 0 where nothing is or what is there is no such file.
  [[nodiscard]] Hello read(int rank, std::vector<std::uint64_t>& seen) const {
    std::vector<std::byte> bytes(sizeof(Hello) + seen_.size() * sizeof(std::uint64_t));
    const std::size_t got = board_.get(name_of(rank), bytes);
    Hello hello;
    if (got >= sizeof hello) std::memcpy(&hello, bytes.data(), sizeof hello);
    std::memcpy(seen.data(), bytes.data() + sizeof hello, bytes.size() - sizeof hello);
    if (hello.mark != mark_of_all || (hello.ranks == place_.ranks && got != bytes.size())) hello.number = 0;
    hello.machine.name.back() = hello.machine.boot.back() = '\0';
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
        if (hello.number != 0 && hello.number != own_) refuse_two();
        news = news || hello.number == 0;  // it is gone or not whole: this process writes it again
        continue;
      }
      const bool counts = hello.number != 0 && hello.ranks == place_.ranks;
      if (counts && hello.number != seen_[at(rank)]) {
        news = true;
        seen_[at(rank)] = hello.number;
        machines_[at(rank)] = hello.machine;
      }
      if (!counts || theirs[at(place_.rank)] != own_) missing_.push_back(rank);
    }
    return news;
  }
  [[nodiscard]] HEDDLE_COLD std::string words_of_two(std::int64_t rank) const {
    return written({"another process is rank ", rank, " in the folder '", place_.folder,
                    "' too. Fix: give each run a folder of its own, and each process of it a rank of its own."});
  }
  [[noreturn]] HEDDLE_COLD void refuse_two() const {
    spoil();
    throw Error(Code{'R', 38}, words_of_two(place_.rank));
  }
  /// Tells those that have not met here, and after them those that have: who leaves the handshake meanwhile makes its folder first, then looks here.
  HEDDLE_COLD void spoil() const {
    SpoiledPlace::tell(board_, place_.rank);
    std::error_code problem;
    for (std::filesystem::directory_iterator it{board_.folder(), problem}, end; !problem && it != end; it.increment(problem))
      if (it->path().filename().string().rfind("met_", 0) == 0) FolderWatch::spoil(it->path(), place_.rank, words_of_two(place_.rank));
  }
  HEDDLE_COLD void meet(std::chrono::nanoseconds deadline) {
    const auto begun = std::chrono::steady_clock::now();
    auto said = begun;
    say();
    while (true) {
      const bool news = look();
      check_place();
      if (!news && missing_.empty()) return;
      const auto now = std::chrono::steady_clock::now();
      if (now - begun > deadline && !missing_.empty()) break;
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
  RankClaim claim_;
  std::uint64_t own_;
  std::vector<std::uint64_t> seen_;  // by rank
  std::vector<NameOfMachine> machines_;
  std::vector<int> missing_;
};

}  // namespace heddle::transport_room
