// SPDX-License-Identifier: MIT
// Room: io. A file that takes the place of another one whole, or not at all.
// Sees: io/file, seams/error.  Does not see: formats, every other room.
// In: a path and bytes.  Out: the file, or one sentence that says why not; the file before it is as it was.
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "heddle/core/written.hpp"
#include "heddle/io/file.hpp"

namespace heddle::io_room {

/// While it lives, a write of this thread above the limit on the size of files fails with EFBIG and does not end the process: the signal that comes
/// with it is held back, and taken back at the end.
///
/// Tested  io/replacement_test
class HeldFileSizeSignal {
 public:
  HeldFileSizeSignal() {
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGXFSZ);
    sigset_t pending;
    was_pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
    held_ = pthread_sigmask(SIG_BLOCK, &signal_, &before_) == 0;
  }
  HeldFileSizeSignal(const HeldFileSizeSignal&) = delete;
  HeldFileSizeSignal& operator=(const HeldFileSizeSignal&) = delete;
  ~HeldFileSizeSignal() {
    if (!held_) return;
    constexpr timespec at_once{};
    while (!was_pending_ && sigtimedwait(&signal_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
  bool held_ = false;
};

/// Writes a file beside its place, under a name that nobody has, and gives it its name when all bytes are on the disk. Whoever reads the path
/// sees the file before or the file after, also if two write it at once: the last one to end stays.
///
/// A file that is there keeps its mode and, where the system allows it, its owner. A link stays: the file that it leads to is replaced. Another
/// name of the same file (a hard link) keeps the old bytes. A process that is killed in the middle may leave a file .heddle-*.part behind.
///
/// Errors  D20 with the reason: no such folder, no right, read-only, no space, an I/O error, a folder or device in its place
/// Tested  io/replacement_test, faults/files_test
class Replacement {
 public:
  /// Makes the new file, empty. A null pointer is refused; all that can be known before the first byte is refused here.
  explicit Replacement(const char* path) : Replacement(path_text(path, Code{'D', 20})) {}
  explicit Replacement(const std::string& path) : named_(path) {
    const std::string target = end_of_links(path);
    name_ = target.substr(folder_of(target).size());
    if (name_.empty() || named_.find('\0') != std::string::npos) refuse("its name is none of a file", "give the path of a file");
    open_folder(name_.size() < target.size() ? folder_of(target) : "./");
    struct stat before {};
    const bool replaces = ::fstatat(folder_.number(), name_.c_str(), &before, AT_SYMLINK_NOFOLLOW) == 0;
    if (!replaces && errno != ENOENT) refuse(errno);
    if (replaces) refuse_other_target(before);
    make_part(replaces ? 0600 : 0666);  // of a new file the process's mask takes its part
    if (replaces) keep_mode(before);
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;
  ~Replacement() {
    if (!part_.empty()) ::unlinkat(folder_.number(), part_.c_str(), 0);
  }

  void append(std::span<const std::byte> bytes) {
    const HeldFileSizeSignal held;
    while (!bytes.empty()) {
      const ssize_t count = ::write(file_.number(), bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) refuse(errno);
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  /// Gives the file its name. After this nothing may be appended.
  void commit() {
    if (::fsync(file_.number()) != 0) refuse(errno);
    if (!file_.close()) refuse(errno);
    if (!flush_folder()) refuse(errno);
    if (::renameat(folder_.number(), part_.c_str(), folder_.number(), name_.c_str()) != 0) refuse(errno);
    part_.clear();
    if (flush_folder()) return;
    const int number = errno;
    throw Error(Code{'D', 20}, written({"'", named_, "' is written, but its folder is not safe on the disk: ", words_of_system(number),
                                        ". A loss of power may bring back what was there before. Fix: look after the disk."}));
  }

 private:
  [[noreturn]] void refuse(const std::string& why, const std::string& fix) const {
    throw Error(Code{'D', 20}, written({"'", named_, "' cannot be written: ", why, ". Fix: ", fix, "."}));
  }
  [[noreturn]] void refuse(int number) const { refuse(words_of_system(number), remedy(number)); }
  static std::string remedy(int number) {
    switch (number) {
      case EACCES:
      case EPERM: return "get the right to write in its folder, or name a file in one of your own";
      case EROFS: return "name a file on a file system that is not read-only";
      case ENOSPC:
      case EDQUOT: return "free disk space, or name a file where there is more";
      case EIO: return "look after the disk, or name a file on another one";
      case ENOENT:
      case ENOTDIR: return "name a file in a folder that exists";
      case EXDEV:
      case EBUSY: return "name a file that no other file system is mounted on";
      case EFBIG: return "raise the limit on the size of files (ulimit -f)";
      case EMFILE:
      case ENFILE: return "close files, or raise the limit on open ones (ulimit -n)";
      default: return "name a file in a folder that exists, is writable and has free space";
    }
  }

  /// Where a file of this name would lie if every link on the way is followed; the last file need not be there.
  [[nodiscard]] std::string end_of_links(std::string at) const {
    constexpr int most_links = 40;  // as the system itself follows
    for (int links = 0; links < most_links; ++links) {
      struct stat itself {};
      if (::lstat(at.c_str(), &itself) != 0 || !S_ISLNK(itself.st_mode)) return at;
      // The system may forbid to follow a link that somebody else laid into a folder for all.
      struct stat seen {};
      if (::stat(at.c_str(), &seen) != 0 && errno != ENOENT) refuse(errno);
      const std::string next = read_link(at);
      at = next.starts_with('/') ? next : folder_of(at) + next;
    }
    refuse(ELOOP);
  }
  /// All up to the last slash: "runs/" of "runs/a.txt", nothing of "a.txt".
  [[nodiscard]] static std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }
  [[nodiscard]] std::string read_link(const std::string& path) const {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0) refuse(errno);
    target.resize(static_cast<std::size_t>(length));
    return target;
  }
  void open_folder(const std::string& folder) {
    folder_ = Descriptor{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (!folder_.is_open() && errno == EACCES) folder_ = Descriptor{::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};  // not to be listed
    if (!folder_.is_open()) refuse(errno);
  }
  void refuse_other_target(const struct stat& before) const {
    if (const std::string kind = other_kind(before.st_mode); !kind.empty()) refuse("there is " + kind + " of that name", "name another file");
    if (::faccessat(folder_.number(), name_.c_str(), W_OK, AT_EACCESS) == 0) return;
    if (errno == EACCES) refuse("the file of that name may not be changed", "get the right to write it, or name another file");
    refuse(errno);
  }
  void make_part(mode_t mode) {
    static std::atomic<std::uint64_t> made{0};
    constexpr int most_tries = 100;
    for (int tries = 0; tries < most_tries; ++tries) {
      char name[96];
      std::snprintf(name, sizeof name, ".heddle-%lx-%lx-%lx.part", static_cast<unsigned long>(::getpid()), static_cast<unsigned long>(++made),
                    static_cast<unsigned long>(std::chrono::system_clock::now().time_since_epoch().count()));
      std::string part = name;  // memory may be missing here: then no file is left behind
      file_ = Descriptor{::openat(folder_.number(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)};
      if (file_.is_open()) {
        part_ = std::move(part);
        return;
      }
      if (errno != EEXIST) refuse(errno);
    }
    refuse(EEXIST);
  }
  void keep_mode(const struct stat& before) {
    struct stat mine {};
    const bool known = ::fstat(file_.number(), &mine) == 0;
    const bool foreign = !known || mine.st_uid != before.st_uid || mine.st_gid != before.st_gid;
    // The right to give files away is root's: without it the file belongs to whoever writes it.
    const bool given = !foreign || ::fchown(file_.number(), before.st_uid, before.st_gid) == 0;
    const mode_t mode = before.st_mode & (given ? 0777U : 0707U);  // rights of the old group are not those of another
    if (::fchmod(file_.number(), mode) == 0) return;
    const int number = errno;
    ::unlinkat(folder_.number(), part_.c_str(), 0);  // no destructor follows a constructor that throws
    refuse(number);
  }
  /// True if the entries of the folder are on the disk, or the file system has no such promise to give.
  [[nodiscard]] bool flush_folder() const {
    return ::fsync(folder_.number()) == 0 || errno == EINVAL || errno == EBADF || errno == ENOSYS || errno == EOPNOTSUPP;
  }

  std::string named_;  // as the caller wrote it
  std::string name_;   // in the folder
  std::string part_;   // what the file is called until it is whole; empty once it is
  Descriptor folder_;
  Descriptor file_;
};

/// Replaces a file by this text. Errors  D14 no memory, D20 as Replacement
inline void replace_file(const std::string& path, std::string_view text) {
  within_memory(path, [&] {
    Replacement file{path};
    file.append(std::as_bytes(std::span{text}));
    file.commit();
  });
}

}  // namespace heddle::io_room
