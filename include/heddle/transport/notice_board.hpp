// SPDX-License-Identifier: MIT
// Room: transport. A folder in which processes leave each other notices: each has a name, and is there as a whole or not at all.
// Sees: seams/error.  Does not see: ranks, plans, what a notice says.
// In: a folder, names, bytes.  Out: NoticeBoard.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
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

/// R38: the folder does not take what a process says.
[[nodiscard]] HEDDLE_COLD inline Error refused_folder(const std::filesystem::path& folder, const std::string& why) {
  return Error(Code{'R', 38}, written({"the folder '", folder.string(), "' in which processes meet ", why,
                                       ". Fix: name one on a file system that all machines share and that this user may write to."}));
}

/// A notice is written beside its place and renamed, so a reader sees the one before or this one. Names that are there are replaced and not removed:
/// a file system such as NFS may hide a new name from other machines for a while, and asks the server again for one that a process opens. Of a board
/// in /shared/run7 the notice "3.words" is the file /shared/run7/3.words.
///
/// Errors  R38 the folder cannot be made or written
/// Source  sources.md#nfs
/// Tested  transport/notice_board_test
class NoticeBoard {
 public:
  explicit NoticeBoard(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::error_code problem;
    std::filesystem::create_directories(folder_, problem);
    if (std::error_code ignored; std::filesystem::is_directory(folder_, ignored)) return;
    throw refused_folder(folder_, "cannot be made: " + problem.message());
  }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  void put(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) const {
    const std::filesystem::path part = folder_ / (name + '.' + std::to_string(own_));
    {
      std::ofstream out{part, std::ios::binary};
      for (const std::span<const std::byte> bytes : parts)
        out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
      out.close();
      if (!out) throw refused_folder(folder_, "takes no file of this process");
    }
    std::error_code problem;
    std::filesystem::rename(part, folder_ / name, problem);
    if (problem) throw refused_folder(folder_, "takes no file of this process: " + problem.message());
  }
  /// The bytes of the notice from `first` on, as many as there is room for; returns how many there were, 0 without such a notice.
  [[nodiscard]] std::size_t get(const std::string& name, std::span<std::byte> room, std::size_t first = 0) const {
    std::ifstream in{folder_ / name, std::ios::binary};
    if (!in || (first > 0 && !in.seekg(static_cast<std::streamoff>(first)))) return 0;
    in.read(reinterpret_cast<char*>(room.data()), static_cast<std::streamsize>(room.size()));
    return static_cast<std::size_t>(in.gcount());
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
  std::filesystem::path folder_;
  std::uint64_t own_ = number_of_its_own();  // in the names of files that are not whole yet
};

}  // namespace heddle::transport_room
