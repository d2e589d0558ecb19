// SPDX-License-Identifier: MIT
// Room: tests. A machine laid out as files in a folder of its own, and an environment as a map.
// Sees: run/machine_facts.  Does not see: plans.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "heddle/run/machine_facts.hpp"

namespace heddle::tests {

class FakeMachine {
 public:
  FakeMachine() {
    std::string name = (std::filesystem::temp_directory_path() / "heddle-machine-").string() + std::string(6, 'X');  // mkdtemp fills in the end
    root_ = mkdtemp(name.data());
  }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;
  ~FakeMachine() {
    std::error_code problem;
    std::filesystem::remove_all(root_, problem);
  }

  FakeMachine& file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    std::ofstream{root_ / path} << text;
    return *this;
  }
  FakeMachine& variable(const std::string& name, const std::string& value) {
    variables_[name] = value;
    return *this;
  }
  /// Online cores 0 to n - 1, of which the process may use `allowed`; memory in KiB.
  FakeMachine& plain(int cores, const std::string& allowed, long total_kib, long available_kib) {
    file("sys/devices/system/cpu/online", "0-" + std::to_string(cores - 1) + "\n");
    file("proc/self/status", "Name:\ttest\nCpus_allowed:\tff\nCpus_allowed_list:\t" + allowed + "\n");
    return file("proc/meminfo",
                "MemTotal:       " + std::to_string(total_kib) + " kB\nMemFree: 1 kB\nMemAvailable:   " + std::to_string(available_kib) + " kB\n");
  }
  /// The n-th GPU as the driver shows it; `device_file` says whether the process may open it.
  FakeMachine& gpu(int n, const std::string& model, const std::string& uuid, bool device_file = true) {
    file("proc/driver/nvidia/gpus/0000:0" + std::to_string(n) + ":00.0/information",
         "Model: \t\t " + model + "\nIRQ:   \t\t 1\nGPU UUID: \t " + uuid + "\nDevice Minor: \t " + std::to_string(n) + "\n");
    return device_file ? file("dev/nvidia" + std::to_string(n), "") : *this;
  }
  [[nodiscard]] Environment environment() const {
    return [this](const char* name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional<std::string>{found->second};
    };
  }
  [[nodiscard]] Surroundings surroundings() const {
    return {root_, environment(), [this] { return nvidia_smi; }};
  }

  std::optional<std::string> nvidia_smi = "";  ///< what that program prints; nothing: it does not end

 private:
  std::filesystem::path root_;
  std::map<std::string, std::string> variables_;
};

}  // namespace heddle::tests
