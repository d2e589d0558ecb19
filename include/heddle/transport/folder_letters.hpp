// SPDX-License-Identifier: MIT
// Room: transport. What every rank of a meeting says to all others, exchange by exchange, each in two files that take turns.
// Sees: core/byte_sum, transport/notice_board, seams/error.  Does not see: deadlines, who is lost, what is said.
// In: the folder of a meeting, bytes of this rank.  Out: FolderLetters; FoldersOfProcess, which hears of the end of the process.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/byte_sum.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/notice_board.hpp"

namespace heddle::transport_room {

/// Something of this process that others count on; it tells them if the process ends under it.
class FolderResident {
 public:
  virtual void process_ends() = 0;

 protected:
  FolderResident() = default;
  FolderResident(const FolderResident&) = default;
  FolderResident& operator=(const FolderResident&) = default;
  ~FolderResident() = default;
};
/// Between add and remove a resident hears of the end of the process, be it an exit() in the middle of a step.
class FoldersOfProcess {
 public:
  static FoldersOfProcess& instance() {
    static FoldersOfProcess all;
    return all;
  }
  void add(FolderResident& resident) {
    const std::lock_guard lock{mutex_};
    residents_.push_back(&resident);
  }
  void remove(FolderResident& resident) {
    const std::lock_guard lock{mutex_};
    std::erase(residents_, &resident);
  }

 private:
  ~FoldersOfProcess() {
    for (FolderResident* const resident : std::vector<FolderResident*>{residents_}) resident->process_ends();
  }
  std::mutex mutex_;
  std::vector<FolderResident*> residents_;
};

/// The k-th letter of rank 2 is the file "2.0" or "2.1", as k is even or odd. Nobody writes letter k + 2 before all have letter k + 1 of all, for
/// which they had all letters k: so two files are enough. What is short is read with the head of its letter. The head has a sum of all bytes: a
/// letter that something else has changed in the folder is refused.
///
/// Errors  T10 ranks that are at different exchanges; R38, also for bytes that no rank has written
/// Tested  transport/folder_letters_test
class FolderLetters {
 public:
  FolderLetters(const std::filesystem::path& folder, int rank, int ranks)
      : board_(folder), rank_(rank), letters_(static_cast<std::size_t>(ranks)), there_(letters_.size(), false) {
    put(1, {}, {});  // its second name is there before its first letter is
  }
  [[nodiscard]] const NoticeBoard& board() const { return board_; }
  /// The number of the exchange that begins with the next post().
  [[nodiscard]] std::int64_t next() const { return number_ + 1; }
  void post(const OperationName& what, std::span<const std::byte> bytes) {
    ++number_;
    std::fill(there_.begin(), there_.end(), false);
    Head head;
    head.number = number_;
    head.bytes = static_cast<std::int64_t>(bytes.size());
    head.sum = byte_sum(bytes);
    what.view().copy(head.what.data(), head.what.size() - 1);
    own().head = head;
    put(number_, head, bytes);
    there_[at(rank_)] = true;
  }
  /// Whether the letter of this rank is not there yet.
  [[nodiscard]] bool missing(int rank) {
    if (!there_[at(rank)]) {
      Letter& letter = letters_[at(rank)];
      const std::size_t got = board_.get(name_of(rank, number_), std::as_writable_bytes(std::span{&letter, 1}));
      there_[at(rank)] = got >= sizeof(Head) && letter.head.mark == Head::mark_of_all && letter.head.number == number_ && letter.head.bytes >= 0 &&
                         got - sizeof(Head) >= std::min(letter.small.size(), static_cast<std::size_t>(letter.head.bytes));
      letter.head.what.back() = '\0';
      if (there_[at(rank)] && static_cast<std::size_t>(letter.head.bytes) <= letter.small.size()) check_sum(rank, said(rank, {}));
    }
    return !there_[at(rank)];
  }
  [[nodiscard]] bool all_there() {
    for (int r = 0; r < static_cast<int>(letters_.size()); ++r)
      if (missing(r)) return false;
    return true;
  }
  /// Errors  T10, the same in all ranks
  void check() const {
    const Letter& first = letters_[0];
    for (std::size_t r = 1; r < letters_.size(); ++r)
      if (std::string_view{letters_[r].head.what.data()} != first.head.what.data())
        throw Error(Code{'T', 10},
                    written({"rank 0 is at '", printable(first.head.what.data()), "', rank ", r, " at '", printable(letters_[r].head.what.data()),
                             "'. Fix: make the same calls in the same order in every process."}));
  }
  /// What the rank has said, where it is short; of a longer letter its head alone.
  [[nodiscard]] std::span<const std::byte> said(int rank, std::span<const std::byte> mine) const {
    if (rank == rank_) return mine;
    const Letter& letter = letters_[at(rank)];
    return std::span{letter.small}.first(std::min(letter.small.size(), static_cast<std::size_t>(letter.head.bytes)));
  }
  /// The whole letter into `room`, of which `said` is what is known. Errors  T10 another number of bytes; R38 others than were written
  void read(int rank, std::span<const std::byte> said, std::span<std::byte> room) const {
    const auto bytes = static_cast<std::size_t>(letters_[at(rank)].head.bytes);
    if (bytes != room.size())
      throw Error(Code{'T', 10}, written({"rank ", rank, " shares ", bytes, " bytes, and rank ", rank_, " takes ", room.size(),
                                          ". Fix: make the same calls in the same order in every process."}));
    if (bytes <= said.size())
      std::copy_n(said.begin(), bytes, room.begin());
    else if (board_.get(name_of(rank, number_), room, sizeof(Head)) != bytes)
      throw refused_folder(board_.folder(), written({"has lost a file of rank ", rank}));
    check_sum(rank, room);
  }

 private:
  /// The first 112 bytes of a letter: what it is, its number and how long the rest is.
  struct Head {
    static constexpr std::uint64_t mark_of_all = 0x72657474656c6568;
    std::uint64_t mark = mark_of_all;
    std::int64_t number = -1;
    std::int64_t bytes = 0;
    std::uint64_t sum = 0;
    std::array<char, 80> what{};
  };
  /// As much of it as is read at once: 112 + 4,096 bytes.
  struct Letter {
    Head head;
    std::array<std::byte, StartPledge::most_bytes> small{};
  };
  void check_sum(int rank, std::span<const std::byte> bytes) const {
    if (rank != rank_ && letters_[at(rank)].head.sum != byte_sum(bytes))
      throw refused_folder(board_.folder(), written({"has other bytes in the file '", name_of(rank, number_), "' than rank ", rank, " has written"}));
  }
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  [[nodiscard]] Letter& own() { return letters_[at(rank_)]; }
  [[nodiscard]] static std::string name_of(int rank, std::int64_t number) { return std::to_string(rank) + (number % 2 == 0 ? ".0" : ".1"); }
  void put(std::int64_t number, const Head& head, std::span<const std::byte> bytes) const {
    board_.put(name_of(rank_, number), {std::as_bytes(std::span{&head, 1}), bytes});
  }

  NoticeBoard board_;
  int rank_;
  std::int64_t number_ = -1;
  std::vector<Letter> letters_;  // by rank
  std::vector<char> there_;      // by rank
};

}  // namespace heddle::transport_room
