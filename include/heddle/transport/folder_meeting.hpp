// SPDX-License-Identifier: MIT
// Room: transport. Processes that share a folder tell each other what they must agree on: starts, calls, bytes of one for all, who is lost.
// Sees: transport/folder_handshake, transport/folder_letters, transport/lost_ranks, seams.  Does not see: MPI, NCCL, plans, environment.
// In: a MeetingPlace, a StartPledge, a deadline.  Out: FolderMeeting.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/folder_handshake.hpp"
#include "heddle/transport/folder_letters.hpp"
#include "heddle/transport/folder_watch.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/name_of_machine.hpp"
#include "heddle/transport/notice_board.hpp"
#include "heddle/transport/pause_between_looks.hpp"

namespace heddle::transport_room {

/// All ranks take part in all that is said here, in one order: the k-th exchange of each is the k-th of all. 4 processes that compare a step write
/// and read 4 files of 140 bytes.
///
/// Moves   what is shared, and 112 bytes for each rank and exchange, through the folder
/// Errors  R01 a rank that has given up, has ended or is silent for longer than the deadline; R03, R38 of the handshake; R08, R18, O02 another start;
///         T10, R19, O02 another call
/// Tested  transport/folder_meeting_test, backend/cuda_files_test
class FolderMeeting final : private FolderResident {
 public:
  using World = MeetingPlace;
  FolderMeeting(const MeetingPlace& place, const StartPledge& start, std::chrono::nanoseconds deadline)
      : place_(counted(place, start)), handshake_(place_, positive_deadline(deadline)), letters_(handshake_.folder(), place_.rank, place_.ranks),
        watch_(handshake_.folder(), place_.rank, place_.ranks, deadline) {
    refuse_other_run();
    std::vector<StartPledge> pledges(static_cast<std::size_t>(place_.ranks));
    exchange("the start of the plan", std::as_bytes(std::span{&start, 1}), [&](int r, std::span<const std::byte> said) {
      std::memcpy(static_cast<void*>(&pledges[static_cast<std::size_t>(r)]), said.data(), std::min(said.size(), sizeof(StartPledge)));
    });
    handshake_.clear();
    FoldersOfProcess::instance().add(*this);
    try {
      seams_room::check_start(pledges);
    } catch (...) {
      leave(false, "");
      throw;
    }
  }
  FolderMeeting(const FolderMeeting&) = delete;
  FolderMeeting& operator=(const FolderMeeting&) = delete;
  ~FolderMeeting() {
    const bool thrown = std::uncaught_exceptions() > exceptions_;
    leave(thrown, thrown ? "an exception has ended its part in the plan" : end_of_the_process);
  }

  [[nodiscard]] Rank rank() const { return Rank{place_.rank}; }
  /// The number of this process among those of its machine, counted from 0 in the order of ranks.
  [[nodiscard]] int local_rank() const {
    const std::vector<NameOfMachine>& all = handshake_.machines();
    return static_cast<int>(std::count(all.begin(), all.begin() + place_.rank, all[static_cast<std::size_t>(place_.rank)]));
  }
  [[nodiscard]] NameOfMachine machine() const { return handshake_.machines()[static_cast<std::size_t>(place_.rank)]; }

  /// All ranks are in one call, with the same rows and options. Errors  T10, R19, O02, the same in all of them; R01
  void begin_call(const CallPledge& call) {
    in_call_ = true;
    std::vector<CallPledge> calls(static_cast<std::size_t>(place_.ranks));
    exchange("a call", std::as_bytes(std::span{&call, 1}), [&](int r, std::span<const std::byte> said) {
      std::memcpy(&calls[static_cast<std::size_t>(r)], said.data(), std::min(said.size(), sizeof(CallPledge)));
    });
    for (int r = 1; r < place_.ranks; ++r)
      if (calls[static_cast<std::size_t>(r)] != calls[0]) throw seams_room::calls_differ(0, calls[0], r, calls[static_cast<std::size_t>(r)]);
  }
  void end_call() { in_call_ = false; }
  /// Collective: `all` are as many equal parts as there are ranks, of at most StartPledge::most_bytes, of which each rank has written its own.
  /// Afterwards every process has all of them, after one exchange: 32 ranks that compare a number read 32 files each. Errors  T10 other sizes; R01
  void gather(std::span<std::byte> all) {
    const std::size_t bytes = all.size() / static_cast<std::size_t>(place_.ranks);
    const auto part = [&](int r) { return all.subspan(static_cast<std::size_t>(r) * bytes, bytes); };
    exchange("a gather", part(place_.rank), [&](int r, std::span<const std::byte> said) {
      if (r != place_.rank) letters_.read(r, said, part(r));
    });
  }
  /// Collective: afterwards every process has the owner's bytes.
  void share(Rank owner, std::span<std::byte> bytes) {
    constexpr std::size_t most = std::size_t{64} << 20;
    OperationName name{"share of rank "};
    name << std::to_string(owner.value);
    do {
      const std::span<std::byte> part = bytes.first(std::min(most, bytes.size()));
      const bool mine = owner.value == place_.rank;
      exchange(name, mine ? part : std::span<std::byte>{}, [&](int r, std::span<const std::byte> said) {
        if (r == owner.value && !mine) letters_.read(r, said, part);
      });
      bytes = bytes.subspan(part.size());
    } while (!bytes.empty());
  }
  /// Until `operation` is done, which this process alone sees and which needs all ranks, as the queue of a card: the others are heard meanwhile. It
  /// has done() and describe(). One that may have broken() has refuse() as well, which throws where all others answer.
  template <class Operation> void await(Operation& operation, std::int64_t k) {
    const auto needs = [&](int other) { return other != place_.rank && !watch_.left(other); };  // whoever has left has done its part of the queue
    const auto done = [&] { return operation.done(); };
    if constexpr (requires { operation.broken(); }) {
      if (watch_.await(operation.describe(), done, needs, [&] { return operation.broken(); })) return;
      if (!watch_.lost().any()) operation.refuse();
    } else if (watch_.await(operation.describe(), done, needs)) {
      return;
    }
    throw lost(operation.describe(), k);
  }
  /// This rank stops: the others are told why. Where the folder takes nothing any more they find out at the deadline.
  void give_up(Rank, const std::string& why) noexcept {
    if (::getpid() != process_) return;                           // a process that this one has forked takes no part
    static_cast<void>(could([&] { watch_.say_farewell(why); }));  // what made this rank stop is said, not what hinders its farewell
  }

 private:
  static constexpr const char* end_of_the_process = "its process has ended in the middle of the plan, by exit() or by the end of main";

  /// Errors  R03 another number of processes than devices, R20 a rank that they do not have
  [[nodiscard]] static MeetingPlace counted(const MeetingPlace& place, const StartPledge& start) {
    if (place.ranks != start.ranks)
      throw Error(Code{'R', 3}, written({"the plan has ", start.ranks, " devices, but this process is rank ", place.rank, " of ", place.ranks,
                                         ". Fix: start ", start.ranks, " processes, with torchrun, srun, or RANK and WORLD_SIZE set in each."}));
    return sound(place);
  }
  /// Whether the action has thrown no exception.
  template <class Action> [[nodiscard]] static bool could(Action action) noexcept {
    try {
      action();
    } catch (const std::exception&) {
      return false;
    }
    return true;
  }
  /// Another run may have come to the place before the folder of this meeting was there.
  void refuse_other_run() {
    try {
      handshake_.check_place();
    } catch (const Error& error) {
      give_up(rank(), std::string{error.words()});
      static_cast<void>(could([&] { static_cast<void>(watch_.leaves_last()); }));
      throw;
    }
  }
  [[nodiscard]] RankLost lost(const OperationName& operation, std::int64_t k) {
    RankLost error = watch_.lost().error(operation, k);
    give_up(rank(), "");
    return error;
  }
  /// Every rank says something, and hears what all have said: take(rank, bytes). Errors  T10 another exchange
  template <class Take> void exchange(const OperationName& what, std::span<const std::byte> mine, Take take) {
    const std::int64_t k = letters_.next();
    if (watch_.out()) throw watch_.lost().error(what, k);
    letters_.post(what, mine);
    const auto missing = [&](int other) { return letters_.missing(other); };
    if (!watch_.await(
            what, [&] { return letters_.all_there(); }, missing))
      throw lost(what, k);
    if (watch_.hears_of_loss() && watch_.spoiled()) throw lost(what, k);
    letters_.check();
    for (int r = 0; r < place_.ranks; ++r) take(r, letters_.said(r, mine));
  }
  void process_ends() override { leave(true, end_of_the_process); }
  /// Nothing is said here any more. Whoever is the last to leave takes the folder down.
  void leave(bool gives_up, const std::string& why) noexcept {
    if (::getpid() != process_) return;
    FoldersOfProcess::instance().remove(*this);
    if (gives_up || in_call_) give_up(rank(), why);
    static_cast<void>(could([&] {
      if (watch_.leaves_last()) letters_.board().take_down();
    }));  // where the folder is gone nobody reads it
  }

  pid_t process_ = ::getpid();
  int exceptions_ = std::uncaught_exceptions();
  MeetingPlace place_;
  FolderHandshake handshake_;
  FolderLetters letters_;
  FolderWatch watch_;
  bool in_call_ = false;
};

}  // namespace heddle::transport_room
