// SPDX-License-Identifier: MIT
// Room: run. What this machine lets the process use: cores, memory, GPUs; read from files, so that a test can lay out a machine of its own.
// Sees: core, run/world, seams/system_limits.  Does not see: plans, threads, CUDA, any backend.
// In: Surroundings.  Out: MachineFacts.
#pragma once

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/system_limits.hpp"

namespace heddle::run_room {

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

/// A GPU as nvidia-smi names it: "NVIDIA H200", and a UUID that no other has.
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
  [[nodiscard]] double usable_cores() const { return CoreLimits{cores_online, allowed_cores, quota_cores}.usable(); }
  [[nodiscard]] Bytes usable_memory() const { return MemoryLimits{memory, available_memory, memory_limit, used_memory}.usable(); }
};

/// GPUs by the driver's files, or by nvidia-smi where it has none. One whose device file is not there (a container's choice) does not count.
inline void read_gpus(const Surroundings& from, MachineFacts& facts) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator{from.root / "proc/driver/nvidia/gpus", problem}) folders.push_back(entry.path());
  std::sort(folders.begin(), folders.end());  // by bus address
  for (const fs::path& folder : folders) {
    const std::string text = file_text((folder / "information").string());
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
  CoreLimits cores = read_core_limits(from.root.string());
  facts.cores_online = cores.online;
  facts.allowed_cores = std::move(cores.allowed);
  facts.quota_cores = cores.quota;
  const MemoryLimits memory = read_memory_limits(from.root.string());
  facts.memory = memory.memory;
  facts.available_memory = memory.available;
  facts.memory_limit = memory.limit;
  facts.used_memory = memory.used;
  read_gpus(from, facts);
  read_visible_devices(from, facts);
  return facts;
}

}  // namespace heddle::run_room
