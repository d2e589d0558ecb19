// SPDX-License-Identifier: MIT
// Room: transport. Who is a rank in a folder as long as its process lives, so that another process of this rank cannot go unnoticed there.
// Sees: transport/notice_board, the system.  Does not see: handshakes, meetings, plans.
// In: a NoticeBoard, a rank.  Out: RankClaim; SpoiledPlace, what is said to all who are in a folder that two runs share.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <system_error>

#include "heddle/core/host_device.hpp"
#include "heddle/transport/notice_board.hpp"

namespace heddle::transport_room {

/// The file "rank_3.held" is locked while the process that is rank 3 there lives, in as many meetings as it likes; the system unlocks it when the
/// process ends, so that of a dead one counts for nothing: what it has forked closes the file at once. The file gets its name when it is locked and
/// has the number of its process: 8 bytes. Where the file system has no locks or no second names of a file (NFS without its lock service, exFAT),
/// every process has its claim.
///
/// Tested  transport/rank_claim_test
class RankClaim {
 public:
  RankClaim(const NoticeBoard& board, int rank) {
    std::error_code ignored;
    const std::filesystem::path folder = std::filesystem::canonical(board.folder(), ignored);
    const std::string path = (folder / name_of(rank)).string();
    Claims& all = Claims::instance();
    const std::lock_guard lock{all.mutex};
    Held& held = all.held[path];
    if (held.process != ::getpid() || !is_at(held.file, path)) held = take(path);
    number_ = held.number;
  }
  /// Whether another process that lives has this rank.
  [[nodiscard]] bool refused() const { return number_ == 0; }
  /// What the process is called where it has the rank.
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] static std::string name_of(int rank) { return "rank_" + std::to_string(rank) + ".held"; }

 private:
  /// A file of number 0 is that of another process.
  struct Held {
    int file = -1;
    pid_t process = 0;
    std::uint64_t number = 0;
  };
  /// All that this process has; it takes the files away when it ends.
  struct Claims {
    static Claims& instance() {
      static Claims all;
      return all;
    }
    Claims() {
      is_there = true;
      ::pthread_atfork(&before_fork, &after_fork, &in_forked);
    }
    ~Claims() {
      is_there = false;
      for (const auto& [path, mine] : held)
        if (mine.process == ::getpid() && is_at(mine.file, path)) ::unlink(path.c_str());
    }
    /// A lock goes on as long as one process has its file open, so a child that outlives a rank would keep the rank.
    static void in_forked() {
      if (!is_there) return;
      for (auto& [path, mine] : instance().held) {
        if (mine.file >= 0) ::close(mine.file);
        mine.file = -1;
      }
      instance().mutex.unlock();
    }
    static void before_fork() {
      if (is_there) instance().mutex.lock();
    }
    static void after_fork() {
      if (is_there) instance().mutex.unlock();
    }
    static inline std::atomic<bool> is_there = false;  // a process that ends may fork yet
    std::mutex mutex;
    std::map<std::string, Held> held;
  };
  [[nodiscard]] static bool is_at(int file, const std::string& path) {
    struct stat open {
    }, named{};
    return file >= 0 && ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 && open.st_ino == named.st_ino && open.st_dev == named.st_dev;
  }
  /// A file of number 0: another process has the rank.
  [[nodiscard]] static Held take(const std::string& path) {
    Held held{-1, ::getpid(), number_of_its_own()};
    const std::string part = path + '.' + std::to_string(held.number);
    held.file = ::open(part.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (held.file < 0) return held;
    const bool locked = ::flock(held.file, LOCK_EX | LOCK_NB) == 0 && ::write(held.file, &held.number, sizeof held.number) == sizeof held.number;
    bool named = false, taken = false;
    for (int looks = 0; locked && !named && !taken && looks < 100; ++looks) {
      named = ::link(part.c_str(), path.c_str()) == 0;
      if (!named && errno != EEXIST) break;
      taken = !named && !takes_away_what_is_left(path, part + ".left");
    }
    ::unlink(part.c_str());
    if (taken) held.number = 0;
    if (!named) {
      ::close(held.file);
      held.file = -1;
    }
    return held;
  }
  /// Of a process that is dead. False where the one that has the file lives.
  [[nodiscard]] static bool takes_away_what_is_left(const std::string& path, const std::string& aside) {
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return errno == ENOENT || errno == ESTALE;
    bool dead = ::flock(file, LOCK_SH | LOCK_NB) == 0;  // two that look do not take each other for the one that has it
    if (dead && ::rename(path.c_str(), aside.c_str()) == 0) {
      if (!is_at(file, aside)) dead = ::link(aside.c_str(), path.c_str()) != 0;  // meanwhile a living one had come
      ::unlink(aside.c_str());
    }
    ::close(file);
    return dead;
  }
  std::uint64_t number_ = 0;
};

/// The notice "rank_3.spoiled" tells the process that is rank 3 of the rank that two processes have: 16 bytes, with the number of its claim, so that
/// it means nothing for another process.
///
/// Tested  transport/rank_claim_test
struct SpoiledPlace {
  std::uint64_t number = 0;
  std::int64_t rank = -1;

  /// Tells all who have a rank there.
  HEDDLE_COLD static void tell(const NoticeBoard& board, int rank) {
    std::error_code problem;
    for (std::filesystem::directory_iterator at{board.folder(), problem}, end; !problem && at != end; at.increment(problem)) {
      if (at->path().extension() != ".held") continue;
      SpoiledPlace notice{0, rank};
      if (board.get(at->path().filename().string(), std::as_writable_bytes(std::span{&notice.number, 1})) != sizeof notice.number) continue;
      board.put(at->path().stem().string() + ".spoiled", {std::as_bytes(std::span{&notice, 1})});
    }
  }
  /// The rank that two processes have, if this one has been told.
  [[nodiscard]] static std::optional<std::int64_t> told(const NoticeBoard& board, int rank, const RankClaim& claim) {
    SpoiledPlace notice;
    const std::string name = "rank_" + std::to_string(rank) + ".spoiled";
    if (board.get(name, std::as_writable_bytes(std::span{&notice, 1})) != sizeof notice || notice.number != claim.number()) return std::nullopt;
    return notice.rank;
  }
};

}  // namespace heddle::transport_room
