// SPDX-License-Identifier: MIT
// Ranks that meet in a folder, as threads of one test: each has files of its own, as a process has.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace folder_ranks {

namespace fs = std::filesystem;

/// A folder of a test, new at its begin and gone at its end.
struct Folder {
  fs::path path;
  explicit Folder(const std::string& name) : path(fs::temp_directory_path() / ("heddle_" + name + "_" + std::to_string(::getpid()))) {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
  [[nodiscard]] std::string text() const { return path.string(); }
  /// Without those that a process has locked until it ends.
  [[nodiscard]] long files() const {
    return static_cast<long>(std::count_if(fs::recursive_directory_iterator{path}, fs::recursive_directory_iterator{},
                                           [](const auto& file) { return file.path().extension() != ".held"; }));
  }
};
/// What each rank has thrown, in their order; "" of one that has not.
template <class Body> std::vector<std::string> said_by(int ranks, Body body) {
  std::vector<std::string> said(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&said, &body, rank] {
      try {
        body(rank);
      } catch (const std::exception& error) {
        said[static_cast<std::size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return said;
}
inline std::vector<std::string> nothing(int ranks) { return std::vector<std::string>(static_cast<std::size_t>(ranks)); }
inline bool begins(const std::string& text, const std::string& with) { return text.rfind(with, 0) == 0; }
inline bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

}  // namespace folder_ranks
