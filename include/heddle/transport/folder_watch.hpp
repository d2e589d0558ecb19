// SPDX-License-Identifier: MIT
// Room: transport. How a process that meets others in a folder waits for them: it hears of who is lost, asks who is there, and names the silent one.
// Sees: transport/notice_board, transport/lost_ranks, transport/pause_between_looks, seams.  Does not see: letters, plans, MPI.
// In: the folder of a meeting, a deadline, what is waited for.  Out: FolderWatch.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/lost_ranks.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/notice_board.hpp"
#include "heddle/transport/pause_between_looks.hpp"

namespace heddle::transport_room {

/// Each rank has one notice, "3.words": that it waits, and where, or that it has stopped, and why. The notice "lost" is of whoever stopped first; one
/// look at it tells that nobody has.
///
/// Who is lost is found by asking, as among processes of MPI. After half the deadline a rank that waits asks, in its notice, and so again after three
/// quarters; one that waits as well answers in its own. At the deadline the first that has not answered is lost. If all have, they wait for each
/// other, and the sentence says where. A rank that computes answers nothing, so the deadline is longer than its longest work. Where a connection is
/// broken a rank asks at once, as if half the deadline had passed.
///
/// Tested  transport/folder_watch_test
class FolderWatch {
 public:
  using Clock = std::chrono::steady_clock;
  FolderWatch(const std::filesystem::path& folder, int rank, int ranks, std::chrono::nanoseconds deadline)
      : board_(folder), rank_(rank), deadline_(std::min<std::chrono::nanoseconds>(deadline, std::chrono::hours{24 * 365})), lost_(ranks),
        words_(static_cast<std::size_t>(ranks)), counted_(words_.size()) {
    if (rank_ == 0) put("lost", Words{});
    put_own();
  }

  [[nodiscard]] const LostRanks& lost() const { return lost_; }
  /// Whether this rank has stopped.
  [[nodiscard]] bool out() const { return words_[at(rank_)].kind == Words::has_stopped; }
  /// Whether another run is in the place of this one, as far as it is known.
  [[nodiscard]] bool spoiled() const { return spoiled_; }
  /// All who have met in the folder are told that another process is `rank` there, in the place of this one or beside it.
  HEDDLE_COLD static void spoil(const std::filesystem::path& folder, int rank, const std::string& why) {
    if (std::error_code ignored; !std::filesystem::exists(folder / "lost", ignored)) return;
    Words words;
    words.kind = Words::two_runs;
    words.rank = rank;
    words.say(why);
    try {
      NoticeBoard{folder}.put("lost", {std::as_bytes(std::span{&words, 1})});
    } catch (const Error&) {
      std::error_code gone;  // its run has ended meanwhile
      if (std::filesystem::exists(folder, gone)) throw;
    }
  }
  /// Whether the rank needs nobody any more: its part has ended as it should.
  [[nodiscard]] bool left(int rank) const { return words_[at(rank)].kind == Words::has_left; }
  /// Whether some rank has stopped, as far as it is known: looks are some milliseconds apart.
  [[nodiscard]] bool hears_of_loss() {
    if (const Clock::time_point now = Clock::now(); now >= next_look_) {
      next_look_ = now + std::chrono::milliseconds{5};
      look_for_loss();
    }
    return lost_.any();
  }
  /// Until done(): true. False when a rank is lost for which this one waits, as needs(rank) says; lost() has it. Where it is broken() and all others
  /// answer, nobody is lost.
  template <class Done, class Needs, class Broken> [[nodiscard]] bool await(const OperationName& what, Done done, Needs needs, Broken broken) {
    Clock::time_point begun = Clock::now();
    Clock::time_point look = begun + std::chrono::milliseconds{1}, listened = begun, asked = begun;  // a short wait reads no notice
    for (int asks = 0;;) {
      if (done()) return true;
      const Clock::time_point now = Clock::now();
      if (now >= look) {
        look = now + std::clamp<std::chrono::nanoseconds>((now - begun) / 4, std::chrono::milliseconds{1}, std::chrono::milliseconds{200});
        look_for_loss();
      }
      if (now - listened > deadline_ / 16) {
        listened = now;
        listen(what);
      }
      if (hopeless(needs)) return done();
      if (asks == 0 && broken()) asked = begun = std::min(begun, now - deadline_ / 2 - Clock::duration{1});
      if (now - asked > deadline_ / 4 && now - begun > deadline_ * (2 + asks) / 4) {
        if (asks == 2) {
          listen(what);
          if (done()) return true;
          name_the_silent(what, needs, broken());
          return false;
        }
        ask(what, asks++ == 0);
        asked = Clock::now();
      }
      pause_between_looks(now - begun);
    }
  }
  template <class Done, class Needs> [[nodiscard]] bool await(const OperationName& what, Done done, Needs needs) {
    return await(what, done, needs, [] { return false; });
  }
  /// Tells the others that this rank starts nothing more, for the first reason there was.
  void say_farewell(const std::string& why) {
    if (out()) return;
    look_for_loss();
    lost_.add_if_first(rank_, why);
    lost_.add(rank_, "");
    Words& own = words_[at(rank_)];
    own.kind = Words::has_stopped;
    own.rank = lost_.cause();
    own.say(lost_.why());
    put_own();
    put("lost", own);
  }
  /// This rank says nothing more; whether no other one does either.
  [[nodiscard]] bool leaves_last() {
    if (!out()) {
      words_[at(rank_)].kind = Words::has_left;
      put_own();
    }
    read_words();
    return std::all_of(words_.begin(), words_.end(), [](const Words& words) { return words.kind != Words::takes_part; });
  }

 private:
  /// A notice of 1,048 bytes: 32 of numbers, and 1,016 of text.
  struct Words {
    static constexpr std::uint64_t mark_of_all = 0x7364726f77646c68;
    enum Kind : std::int32_t { takes_part, has_left, has_stopped, two_runs };
    std::uint64_t mark = mark_of_all;
    std::int32_t kind = takes_part;
    std::int32_t rank = -1;    // who was lost first, of one that has stopped
    std::int64_t asked = 0;    // how often it has asked who is there
    std::int64_t counted = 0;  // how often it has written
    std::array<char, 1016> text{};

    void say(std::string_view what) {
      text = {};
      what.substr(0, text.size() - 1).copy(text.data(), text.size() - 1);
    }
  };
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }
  void put(const std::string& name, const Words& words) const { board_.put(name, {std::as_bytes(std::span{&words, 1})}); }
  void put_own() {
    ++words_[at(rank_)].counted;
    put(std::to_string(rank_) + ".words", words_[at(rank_)]);
  }
  [[nodiscard]] bool get(const std::string& name, Words& words) const {
    Words read;
    if (board_.get(name, std::as_writable_bytes(std::span{&read, 1})) != sizeof read || read.mark != Words::mark_of_all) return false;
    read.text.back() = '\0';
    words = read;
    return true;
  }
  /// What the others say now; whether one has asked.
  bool read_words() {
    bool is_asked = false;
    for (int other = 0; other < static_cast<int>(words_.size()); ++other) {
      if (other == rank_) continue;
      Words& words = words_[at(other)];
      const std::int64_t before = words.asked;
      if (get(std::to_string(other) + ".words", words)) is_asked = is_asked || words.asked != before;
    }
    return is_asked;
  }
  void look_for_loss() {
    Words first;
    if (heard_ || !get("lost", first) || (first.kind != Words::has_stopped && first.kind != Words::two_runs)) return;
    heard_ = true;
    spoiled_ = first.kind == Words::two_runs;
    if (first.rank >= 0 && at(first.rank) < words_.size())
      lost_.add_if_first(first.rank, first.text.data());
    else if (spoiled_)
      lost_.add_if_first(rank_, first.text.data());  // the other run has more ranks
    add_lost();
  }
  void add_lost() {
    read_words();
    for (int other = 0; other < static_cast<int>(words_.size()); ++other)
      if (words_[at(other)].kind == Words::has_stopped && !lost_.contains(other)) lost_.add(other, words_[at(other)].text.data());
  }
  /// Reads the others, and answers if one has asked.
  void listen(const OperationName& what) {
    if (read_words()) say_where(what);
    if (lost_.any()) add_lost();
  }
  void say_where(const OperationName& what) {
    words_[at(rank_)].say(what.view());
    put_own();
  }
  void ask(const OperationName& what, bool first) {
    read_words();
    for (std::size_t other = 0; first && other < words_.size(); ++other) counted_[other] = words_[other].counted;
    ++words_[at(rank_)].asked;
    say_where(what);
  }
  /// Whether a rank that is still waited for has stopped or has left.
  template <class Needs> [[nodiscard]] bool hopeless(Needs needs) {
    if (spoiled_) return true;
    for (int other = 0; other < static_cast<int>(words_.size()); ++other) {
      if (other == rank_ || (!lost_.contains(other) && !left(other)) || !needs(other)) continue;
      lost_.add_if_first(other, "its part in the plan has ended, because its trainer is gone");
      return true;
    }
    return false;
  }
  template <class Needs> HEDDLE_COLD void name_the_silent(const OperationName& what, Needs needs, bool broken) {
    int waiting = -1;
    for (int other = 0; other < static_cast<int>(words_.size()); ++other) {
      if (other == rank_ || !needs(other)) continue;
      const Words& words = words_[at(other)];
      if (words.counted == counted_[at(other)]) return lost_.add_if_first(other, silence(deadline_, broken));
      if (waiting < 0) waiting = other;
    }
    if (broken) return;
    if (waiting < 0) waiting = rank_;
    lost_.add_if_first(waiting,
                       written({"it waits at ", words_[at(waiting)].text.data(), ", rank ", rank_, " at ", what.view(),
                                ", and so does every rank that they wait for. Fix: make the same calls in the same order in every process."}));
  }

  NoticeBoard board_;
  int rank_;
  std::chrono::nanoseconds deadline_;
  LostRanks lost_;
  std::vector<Words> words_;           // by rank
  std::vector<std::int64_t> counted_;  // by rank: how often it had written when this rank asked first
  Clock::time_point next_look_{};
  bool heard_ = false;
  bool spoiled_ = false;
};

}  // namespace heddle::transport_room
