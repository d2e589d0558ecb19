// SPDX-License-Identifier: MIT
// Room: run. What this machine lets the process use: cores, memory, GPUs; read from files, so that a test can lay out a machine of its own.
// Sees: core, run/world, seams/system_limits.  Does not see: plans, threads, CUDA, any backend.
// In: Surroundings.  Out: MachineFacts.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/system_limits.hpp"

namespace heddle::run_room {

/// How long nvidia-smi has to list the cards: it takes seconds where it wakes the driver, and may never end where a card is lost.
inline constexpr std::chrono::seconds patience_with_nvidia_smi{20};

/// What comes out of a pipe until its other end is closed; nothing if that takes longer.
[[nodiscard]] inline std::optional<std::string> text_of_pipe(int pipe, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::string text;
  std::array<char, 256> part{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd look{pipe, POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&look, 1, static_cast<int>(left));
    if (ready == 0) return std::nullopt;
    const ssize_t count = ready < 0 ? -1 : ::read(pipe, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(part.data(), static_cast<std::size_t>(count));
  }
}

/// What `nvidia-smi -L` prints: "" where there is no such program, nothing if it has not ended in time. Then it is killed, and waited for
/// one second: one that is stuck in the driver ends no sooner.
[[nodiscard]] inline std::optional<std::string> ask_nvidia_smi(std::chrono::milliseconds limit = patience_with_nvidia_smi) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_adddup2(&files, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  std::array<char, 11> program{"nvidia-smi"};
  std::array<char, 3> list{"-L"};
  const std::array<char*, 3> words{program.data(), list.data(), nullptr};
  pid_t child = 0;
  const bool started = ::posix_spawnp(&child, program.data(), &files, nullptr, words.data(), environ) == 0;
  ::posix_spawn_file_actions_destroy(&files);
  ::close(ends[1]);
  std::optional<std::string> text = started ? text_of_pipe(ends[0], limit) : "";
  ::close(ends[0]);
  if (started && !text) ::kill(child, SIGKILL);
  for (int looks = 0; started && looks < 100 && ::waitpid(child, nullptr, WNOHANG) == 0; ++looks) ::usleep(10'000);
  return text;
}

/// Where facts are read from.
struct Surroundings {
  std::filesystem::path root = "/";
  Environment environment = process_environment;
  std::function<std::optional<std::string>()> nvidia_smi = [] { return ask_nvidia_smi(); };  ///< nothing: it has not answered in time
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
  bool nvidia_smi_hangs = false;                       ///< it was asked, and has not answered in time
  std::vector<std::pair<std::string, int>> instances;  ///< of MIG, if CUDA_VISIBLE_DEVICES names one: UUIDs, and of which GPU each is a part
  std::vector<int> visible_gpus;                       ///< as CUDA counts them
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
  const bool listed = !folders.empty();
  if (listed && from.environment("CUDA_VISIBLE_DEVICES").value_or("").find("MIG-") == std::string::npos) return;
  const std::optional<std::string> text = from.nvidia_smi();
  facts.nvidia_smi_hangs = !text;
  std::istringstream lines{text.value_or("")};  // "GPU 0: NVIDIA H200 (UUID: GPU-8f...)", "  MIG 1g.18gb     Device  0: (UUID: MIG-4c...)"
  int card = -1;
  for (std::string line; std::getline(lines, line);) {
    const auto colon = line.find(": "), uuid = line.find("(UUID: ");
    if (colon == std::string::npos || uuid == std::string::npos || uuid < colon) continue;
    const std::string name = line.substr(uuid + 7, line.find(')', uuid) - uuid - 7);
    if (line.find_first_not_of(' ') == line.find("MIG ") && card >= 0) facts.instances.emplace_back(name, card);
    if (!line.starts_with("GPU ")) continue;
    if (!listed && uuid > colon + 2) facts.gpus.push_back({line.substr(colon + 2, uuid - colon - 3), name});
    const auto of_name = [&](const Gpu& gpu) { return gpu.uuid == name; };
    const auto found = std::find_if(facts.gpus.begin(), facts.gpus.end(), of_name);
    card = found == facts.gpus.end() ? -1 : static_cast<int>(found - facts.gpus.begin());
  }
}

/// CUDA_VISIBLE_DEVICES as CUDA reads it: numbers or beginnings of UUIDs; what follows the first that names no GPU is not seen, and a GPU named
/// twice leaves none. A process has one instance of MIG: the first that is named.
///
/// Source  sources.md#mig
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
    if (part.starts_with("MIG-")) {
      for (const auto& [uuid, card] : facts.instances)
        if (found < 0 && uuid.starts_with(part)) found = card;
      if (found >= 0 && facts.visible_gpus.empty()) facts.visible_gpus.push_back(found);
      return;
    }
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
