// SPDX-License-Identifier: MIT
// Room: tests. Ranks of the emulated NCCL that are processes: each puts what it comes with into a folder that all of them see.
// Sees: nothing of the emulator.  Does not see: streams, memory of cards.
// In: a name, bytes.  Out: Folder.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace cuda_emulator {

/// What ranks of one communicator tell each other: "all.3.1" is what rank 1 brings to the fourth collective. Each name is written once, and is there
/// whole or not at all.
class Folder {
 public:
  Folder() = default;
  explicit Folder(std::string path);
  /// A new one, which goes when this process ends.
  [[nodiscard]] static Folder made();
  [[nodiscard]] bool is() const { return !path_.empty(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  void put(const std::string& name, const std::vector<char>& bytes) const;
  [[nodiscard]] bool has(const std::string& name) const;
  [[nodiscard]] std::vector<char> get(const std::string& name) const;

 private:
  std::string path_;
};

}  // namespace cuda_emulator
