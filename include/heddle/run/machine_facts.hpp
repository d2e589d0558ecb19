// SPDX-License-Identifier: MIT
// Room: run. What this machine lets the process use: cores, memory, GPUs; read from files, so that a test can lay out a machine of its own.
// Sees: core, run/world.  Does not see: plans, threads, CUDA, any backend.
// In: Surroundings.  Out: MachineFacts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/run/world.hpp"

namespace heddle::inline run_room {

/// What `nvidia-smi -L` prints; nothing where there is no such program.
[[nodiscard]] inline std::string ask_nvidia_smi() {
  std::string text;
  const auto close = [](std::FILE* pipe) { pclose(pipe); };
  const std::unique_ptr<std::FILE, decltype(close)> pipe{popen("nvidia-smi -L 2>/dev/null", "r"), close};
  std::array<char, 256> part{};
  while (pipe && std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

/// Where facts are read from.
struct Surroundings {
  std::filesystem::path root = "/";
  Environment environment = process_environment;
  std::function<std::string()> nvidia_smi = ask_nvidia_smi;
};

struct Gpu {
  std::string name;
  std::string uuid;
};

/// 0 stands for what the system does not say.
struct MachineFacts {
  int cores_online = 0;
  std::vector<int> allowed_cores;  ///< by affinity
  double quota_cores = 0;          ///< processor time by cgroup, in cores; 0: no quota
  Bytes memory, available_memory;
  Bytes memory_limit, used_memory;  ///< by cgroup; a limit of 0 is none
  std::vector<Gpu> gpus;
  std::vector<int> visible_gpus;  ///< as CUDA counts them
  std::optional<std::string> visible_devices;

  /// Cores' worth of work that the process gets.
  [[nodiscard]] double usable_cores() const {
    const auto allowed = static_cast<double>(allowed_cores.empty() ? cores_online : static_cast<int>(allowed_cores.size()));
    return quota_cores > 0 ? std::min(allowed, quota_cores) : allowed;
  }
  [[nodiscard]] Bytes usable_memory() const {
    if (memory_limit.value == 0) return available_memory;
    const Bytes left{std::max<std::int64_t>(0, memory_limit.value - used_memory.value)};
    return available_memory.value == 0 ? left : std::min(available_memory, left);
  }
};

[[nodiscard]] inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream file{path};
  std::ostringstream all;
  all << file.rdbuf();
  return file ? all.str() : std::string{};
}

/// The rest of the line that begins with `key`, without blanks around it.
[[nodiscard]] inline std::string line_after(const std::string& text, std::string_view key) {
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t", key.size());
    return begin == std::string::npos ? std::string{} : line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin);
  }
  return {};
}

/// The first number of a text, or 0: "max", an empty file and what is larger than any memory count as none.
[[nodiscard]] inline std::int64_t first_number(const std::string& text) {
  std::istringstream in{text};
  std::int64_t number = 0;
  constexpr std::int64_t none = std::int64_t{1} << 60;  // cgroup v1 writes a multiple of the page size near 2^63
  return in >> number && number > 0 && number < none ? number : 0;
}

/// "0-3,8" -> 0, 1, 2, 3, 8
[[nodiscard]] inline std::vector<int> numbers_of_list(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream parts{list};
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0;
    int last = 0;
    const int found = std::sscanf(part.c_str(), "%d-%d", &first, &last);
    if (found < 1) continue;
    for (int n = first; n <= (found == 2 ? last : first); ++n) numbers.push_back(n);
  }
  return numbers;
}

/// Folders of this process's control group for one controller, from its own up to the root of the mount: a limit of any of them holds.
[[nodiscard]] inline std::vector<std::filesystem::path> cgroup_folders(const Surroundings& from, std::string_view controller) {
  std::vector<std::filesystem::path> folders;
  std::istringstream lines{file_text(from.root / "proc/self/cgroup")};
  for (std::string line; std::getline(lines, line);) {  // "0::/a/b" for version 2, "4:cpu,cpuacct:/a/b" for version 1
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    if (!names.empty() && (',' + names + ',').find(',' + std::string{controller} + ',') == std::string::npos) continue;
    const std::filesystem::path mount = from.root / "sys/fs/cgroup" / (names.empty() ? "" : std::string{controller});
    std::filesystem::path group = std::filesystem::path{line.substr(second + 1)}.relative_path();
    for (; !group.empty(); group = group.parent_path()) folders.push_back(mount / group);
    folders.push_back(mount);
  }
  return folders;
}

inline void read_cores(const Surroundings& from, MachineFacts& facts) {
  facts.cores_online = static_cast<int>(numbers_of_list(file_text(from.root / "sys/devices/system/cpu/online")).size());
  facts.allowed_cores = numbers_of_list(line_after(file_text(from.root / "proc/self/status"), "Cpus_allowed_list:"));
  for (const auto& folder : cgroup_folders(from, "cpu")) {
    std::istringstream both{file_text(folder / "cpu.max")};  // "150000 100000" or "max 100000"
    double quota = 0;
    double period = 0;
    if (!(both >> quota >> period)) {
      quota = static_cast<double>(first_number(file_text(folder / "cpu.cfs_quota_us")));
      period = static_cast<double>(first_number(file_text(folder / "cpu.cfs_period_us")));
    }
    if (quota > 0 && period > 0 && (facts.quota_cores == 0 || quota / period < facts.quota_cores)) facts.quota_cores = quota / period;
  }
}

inline void read_memory(const Surroundings& from, MachineFacts& facts) {
  const std::string info = file_text(from.root / "proc/meminfo");
  facts.memory = Bytes{1024 * first_number(line_after(info, "MemTotal:"))};
  facts.available_memory = Bytes{1024 * first_number(line_after(info, "MemAvailable:"))};
  for (const auto& folder : cgroup_folders(from, "memory")) {
    const bool second = std::filesystem::exists(folder / "memory.max");
    const Bytes limit{first_number(file_text(folder / (second ? "memory.max" : "memory.limit_in_bytes")))};
    const std::int64_t charged = first_number(file_text(folder / (second ? "memory.current" : "memory.usage_in_bytes")));
    const std::int64_t cached = first_number(line_after(file_text(folder / "memory.stat"), second ? "inactive_file " : "total_inactive_file "));
    const Bytes used{charged > cached ? charged - cached : 0};  // the cache of files is given back when memory is short
    if (limit.value == 0 || (facts.memory_limit.value > 0 && facts.memory_limit - facts.used_memory <= limit - used)) continue;
    facts.memory_limit = limit;
    facts.used_memory = used;
  }
}

/// GPUs by the driver's files, or by nvidia-smi where it has none. One whose device file is not there (a container's choice) does not count.
inline void read_gpus(const Surroundings& from, MachineFacts& facts) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator{from.root / "proc/driver/nvidia/gpus", problem}) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());  // by bus address
  for (const fs::path& folder : folders) {
    const std::string text = file_text(folder / "information");
    const std::string minor = line_after(text, "Device Minor:");
    if (minor.empty() || fs::exists(from.root / "dev" / ("nvidia" + minor), problem))
      facts.gpus.push_back({line_after(text, "Model:"), line_after(text, "GPU UUID:")});
  }
  if (!folders.empty()) return;
  std::istringstream lines{from.nvidia_smi()};  // "GPU 0: NVIDIA H200 (UUID: GPU-8f...)"
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": ");
    const auto uuid = line.find(" (UUID: ");
    if (!line.starts_with("GPU ") || colon == std::string::npos || uuid == std::string::npos) continue;
    facts.gpus.push_back({line.substr(colon + 2, uuid - colon - 2), line.substr(uuid + 8, line.find(')', uuid) - uuid - 8)});
  }
}

/// CUDA_VISIBLE_DEVICES as CUDA reads it: numbers or beginnings of UUIDs; what follows the first that names no GPU is not seen, and a GPU named
/// twice leaves none.
inline void read_visible_devices(const Surroundings& from, MachineFacts& facts) {
  facts.visible_devices = from.environment("CUDA_VISIBLE_DEVICES");
  const int count = static_cast<int>(facts.gpus.size());
  if (!facts.visible_devices) {
    for (int g = 0; g < count; ++g) facts.visible_gpus.push_back(g);
    return;
  }
  std::istringstream parts{*facts.visible_devices};
  for (std::string part; std::getline(parts, part, ',');) {
    part.erase(0, part.find_first_not_of(' '));
    int found = -1;
    if (part.find_first_not_of("0123456789 ") == std::string::npos && !part.empty()) {
      found = part.size() < 6 ? std::stoi(part) : count;
    } else {
      for (int g = 0; g < count && found < 0; ++g)
        if (!part.empty() && facts.gpus[static_cast<std::size_t>(g)].uuid.starts_with(part)) found = g;
    }
    if (found < 0 || found >= count) return;
    if (std::find(facts.visible_gpus.begin(), facts.visible_gpus.end(), found) != facts.visible_gpus.end()) {
      facts.visible_gpus.clear();
      return;
    }
    facts.visible_gpus.push_back(found);
  }
}

/// Errors  none: what cannot be read is unknown
/// Tested  run/machine_facts_test
[[nodiscard]] inline MachineFacts read_machine(const Surroundings& from = {}) {
  MachineFacts facts;
  read_cores(from, facts);
  read_memory(from, facts);
  read_gpus(from, facts);
  read_visible_devices(from, facts);
  return facts;
}

}  // namespace heddle::inline run_room
