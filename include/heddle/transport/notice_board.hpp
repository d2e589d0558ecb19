// SPDX-License-Identifier: MIT
// Room: transport. A folder in which processes leave each other notices: each has a name, and is there as a whole or not at all.
// Sees: seams/error.  Does not see: ranks, plans, what a notice says.
// In: a folder, names, bytes.  Out: NoticeBoard.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <utility>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::transport_room {

/// A number that no other process draws: the time and the process may be the same on two machines.
[[nodiscard]] inline std::uint64_t number_of_its_own() {
  std::random_device device;
  return (static_cast<std::uint64_t>(device()) << 32U | device()) | 1U;
}

/// What a call of the system returns, which is made again where a signal has interrupted it, as it may on a file system over a network.
template <class Call> [[nodiscard]] auto uninterrupted(Call call) {
  auto returned = call();
  while (returned < 0 && errno == EINTR) returned = call();
  return returned;
}

/// What to do about an error of the system in a folder.
[[nodiscard]] HEDDLE_COLD inline std::string remedy_of_folder(int number) {
  if (number == ENOSPC || number == EDQUOT) return "free space there, or name a folder that has some.";
  if (number == EMFILE || number == ENFILE) return "let the process open fewer files, or raise the limit on them (ulimit -n).";
  return "name one on a file system that all machines share and that this user may write to.";
}
/// R38: the folder does not take what a process says. `number` is the errno of it, 0 where the system has said nothing.
[[nodiscard]] HEDDLE_COLD inline Error refused_folder(const std::filesystem::path& folder, const std::string& why, int number = 0) {
  const std::string words = number == 0 ? "" : ": " + std::generic_category().message(number);
  return Error(Code{'R', 38},
               written({"the folder '", folder.string(), "' in which processes meet ", why, words, ". Fix: ", remedy_of_folder(number)}));
}

/// A notice is written beside its place and renamed, so a reader sees the one before or this one. Names that are there are replaced and not removed:
/// a file system such as NFS may hide a new name from other machines for a while, and asks the server again for one that a process opens. Of a board
/// in /shared/run7 the notice "3.words" is the file /shared/run7/3.words.
///
/// Errors  R38 the folder cannot be made, written or read, or has a pipe, a device or a folder in the place of a notice
/// Source  sources.md#nfs
/// Tested  transport/notice_board_test
class NoticeBoard {
 public:
  explicit NoticeBoard(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::error_code problem;
    std::filesystem::create_directories(folder_, problem);
    if (std::error_code ignored; std::filesystem::is_directory(folder_, ignored)) return;
    throw refused_folder(folder_, "cannot be made", problem.value() == 0 ? ENOTDIR : problem.value());
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  void put(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) const {
    const std::string part = (folder_ / (name + '.' + std::to_string(own_))).string();
    const int file = uninterrupted([&] { return ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666); });
    int problem = file < 0 ? errno : 0;
    for (const std::span<const std::byte> bytes : parts)
      if (problem == 0) problem = write_all(file, bytes);
    if (file >= 0 && ::close(file) != 0 && problem == 0 && errno != EINTR) problem = errno;  // one that is interrupted has closed it
    if (problem == 0 && ::rename(part.c_str(), (folder_ / name).c_str()) != 0) problem = errno;
    if (problem == 0) return;
    if (file >= 0) ::unlink(part.c_str());
    throw refused_folder(folder_, "takes no file of this process", problem);
  }
  /// The bytes of the notice from `first` on, as many as there is room for; returns how many there were, 0 without such a notice.
  [[nodiscard]] std::size_t get(const std::string& name, std::span<std::byte> room, std::size_t first = 0) const {
    const std::string path = (folder_ / name).string();
    const int file = uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });  // no pipe holds it up
    if (file < 0 && (errno == ENOENT || errno == ESTALE)) return 0;
    struct stat seen {};
    int problem = file < 0 || ::fstat(file, &seen) != 0 ? errno : 0;
    const bool odd = problem == 0 && !S_ISREG(seen.st_mode);
    std::size_t got = 0;
    while (problem == 0 && !odd && got < room.size()) {
      const ssize_t count = ::pread(file, room.data() + got, room.size() - got, static_cast<off_t>(first + got));
      if (count == 0) break;
      if (count > 0) got += static_cast<std::size_t>(count);
      if (count < 0 && errno != EINTR) problem = errno;
    }
    if (file >= 0) ::close(file);
    if (odd)
      throw Error(Code{'R', 38}, written({"'", path, "' is no regular file, but processes that meet leave their notices there. Fix: remove it."}));
    if (problem != 0 && problem != ESTALE) throw refused_folder(folder_, "has a file '" + name + "' that cannot be read", problem);
    return problem == 0 ? got : 0;
  }
  void remove(const std::string& name) const noexcept {
    std::error_code ignored;
    std::filesystem::remove(folder_ / name, ignored);
  }
  /// With all notices on it: nobody reads them any more.
  void take_down() const noexcept {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  /// Returns 0, or the errno of what went wrong.
  [[nodiscard]] static int write_all(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(file, bytes.data(), bytes.size());
      if (count < 0 && errno != EINTR) return errno;
      if (count > 0) bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
    return 0;
  }
  std::filesystem::path folder_;
  std::uint64_t own_ = number_of_its_own();  // in the names of files that are not whole yet
};

}  // namespace heddle::transport_room
