// SPDX-License-Identifier: MIT
// Room: seams. What the system lets this process have: cores, memory, threads. One reading for doctor, for waits and for refusals.
// Sees: core/units.  Does not see: plans, launchers, GPUs, any backend.
// In: the files of a system under a root folder.  Out: CoreLimits, MemoryLimits, thread_limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sys/resource.h>
#endif

#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"

namespace heddle::seams_room {

/// Empty where there is no such file.
[[nodiscard]] HEDDLE_COLD inline std::string file_text(const std::string& path) {
  const auto close = [](std::FILE* file) { std::fclose(file); };
  const std::unique_ptr<std::FILE, decltype(close)> file{std::fopen(path.c_str(), "rb"), close};
  std::string text;
  char part[4096];
  while (file) {
    const std::size_t count = std::fread(part, 1, sizeof part, file.get());
    text.append(part, count);
    if (count < sizeof part) break;
  }
  return text;
}

/// Takes the first line off a text.
[[nodiscard]] HEDDLE_COLD inline std::string_view next_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The rest of the line that begins with `key`, without blanks around it.
[[nodiscard]] HEDDLE_COLD inline std::string line_after(const std::string& text, std::string_view key) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = next_line(rest);
    if (!line.starts_with(key)) continue;
    const auto begin = line.find_first_not_of(" \t", key.size());
    return begin == std::string_view::npos ? std::string{} : std::string{line.substr(begin, line.find_last_not_of(" \t\r") + 1 - begin)};
  }
  return {};
}

/// The first number of a text, or 0: "max", an empty file and what is larger than any memory count as none.
[[nodiscard]] HEDDLE_COLD inline std::int64_t first_number(const std::string& text) {
  long long number = 0;
  constexpr std::int64_t none = std::int64_t{1} << 60;  // cgroup v1 writes a multiple of the page size near 2^63
  return std::sscanf(text.c_str(), "%lld", &number) == 1 && number > 0 && number < none ? number : 0;
}

/// "0-3,8" -> 0, 1, 2, 3, 8
[[nodiscard]] HEDDLE_COLD inline std::vector<int> numbers_of_list(const std::string& list) {
  std::vector<int> numbers;
  for (std::size_t at = 0; at < list.size(); at = std::min(list.find(',', at), list.size() - 1) + 1) {
    int first = 0;
    int last = 0;
    const int found = std::sscanf(list.c_str() + at, "%d-%d", &first, &last);
    if (found < 1) continue;
    for (int n = first; n <= (found == 2 ? last : first); ++n) numbers.push_back(n);
  }
  return numbers;
}

/// Folders of this process's control group for one controller, from its own up to the root of the mount: a limit of any of them holds. Each ends in a
/// slash.
[[nodiscard]] HEDDLE_COLD inline std::vector<std::string> cgroup_folders(const std::string& root, std::string_view controller) {
  std::vector<std::string> folders;
  const std::string groups = file_text(root + "/proc/self/cgroup");  // "0::/a/b" for version 2, "4:cpu,cpuacct:/a/b" for version 1
  for (std::string_view rest = groups; !rest.empty();) {
    const std::string_view line = next_line(rest);
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    if (!names.empty() && written({',', names, ','}).find(written({',', controller, ','})) == std::string::npos) continue;
    const std::string mount = written({root, "/sys/fs/cgroup/", names.empty() ? "" : controller, names.empty() ? "" : "/"});
    std::string_view group = line.substr(second + 1);
    group.remove_prefix(std::min(group.find_first_not_of('/'), group.size()));
    for (; !group.empty(); group = group.substr(0, group.find_last_of('/') == std::string_view::npos ? 0 : group.find_last_of('/')))
      folders.push_back(written({mount, group, '/'}));
    folders.push_back(mount);
  }
  return folders;
}

/// 0 stands for what the system does not say.
struct CoreLimits {
  int online = 0;
  std::vector<int> allowed;  ///< by affinity, of the calling thread
  double quota = 0;          ///< processor time by control group, in cores; 0: no quota

  /// Cores' worth of work that the process gets.
  [[nodiscard]] double usable() const {
    const auto there = static_cast<double>(allowed.empty() ? online : static_cast<int>(allowed.size()));
    return quota > 0 ? std::min(there, quota) : there;
  }
};

/// Tested  seams/system_limits_test, run/machine_facts_test
[[nodiscard]] HEDDLE_COLD inline CoreLimits read_core_limits(const std::string& root = "") {
  CoreLimits cores;
  cores.online = static_cast<int>(numbers_of_list(file_text(root + "/sys/devices/system/cpu/online")).size());
  std::string status = file_text(root + "/proc/thread-self/status");
  if (status.empty()) status = file_text(root + "/proc/self/status");
  cores.allowed = numbers_of_list(line_after(status, "Cpus_allowed_list:"));
  for (const std::string& folder : cgroup_folders(root, "cpu")) {
    double quota = 0;
    double period = 0;
    if (std::sscanf(file_text(folder + "cpu.max").c_str(), "%lf %lf", &quota, &period) != 2) {  // "150000 100000" or "max 100000"
      quota = static_cast<double>(first_number(file_text(folder + "cpu.cfs_quota_us")));
      period = static_cast<double>(first_number(file_text(folder + "cpu.cfs_period_us")));
    }
    if (quota > 0 && period > 0 && (cores.quota == 0 || quota / period < cores.quota)) cores.quota = quota / period;
  }
  return cores;
}

/// Whether so many threads that wait for each other have a core each, by affinity and by the quota of the control group.
[[nodiscard]] inline bool have_a_core_each(int threads, const CoreLimits& cores) {
  const double usable = cores.usable();
  return threads <= (usable > 0 ? usable : static_cast<double>(std::thread::hardware_concurrency()));
}

/// What the machine and a control group leave: of 16 GiB with 10 available, under a limit of 8 with 3 used, 5 GiB are usable.
struct MemoryLimits {
  Bytes memory, available;
  Bytes limit, used;  ///< by control group; a limit of 0 is none

  [[nodiscard]] Bytes usable() const {
    if (limit.value == 0) return available;
    const Bytes left{std::max<std::int64_t>(0, limit.value - used.value)};
    return available.value == 0 ? left : std::min(available, left);
  }
};

/// Tested  seams/system_limits_test, run/machine_facts_test
[[nodiscard]] HEDDLE_COLD inline MemoryLimits read_memory_limits(const std::string& root = "") {
  MemoryLimits memory;
  const std::string info = file_text(root + "/proc/meminfo");
  memory.memory = Bytes{1024 * first_number(line_after(info, "MemTotal:"))};
  memory.available = Bytes{1024 * first_number(line_after(info, "MemAvailable:"))};
  for (const std::string& folder : cgroup_folders(root, "memory")) {
    const bool second = !file_text(folder + "memory.max").empty();
    const Bytes limit{first_number(file_text(folder + (second ? "memory.max" : "memory.limit_in_bytes")))};
    const std::int64_t charged = first_number(file_text(folder + (second ? "memory.current" : "memory.usage_in_bytes")));
    const std::int64_t cached = first_number(line_after(file_text(folder + "memory.stat"), second ? "inactive_file " : "total_inactive_file "));
    const Bytes used{charged > cached ? charged - cached : 0};  // the cache of files is given back when memory is short
    if (limit.value == 0 || (memory.limit.value > 0 && memory.limit - memory.used <= limit - used)) continue;
    memory.limit = limit;
    memory.used = used;
  }
  return memory;
}

/// Threads that the process may have by the limit of its user and by its control groups, whichever is less; 0 if neither says.
[[nodiscard]] HEDDLE_COLD inline std::int64_t thread_limit(const std::string& root = "") {
  std::int64_t least = 0;
  const auto take = [&](std::int64_t limit) { least = limit > 0 && (least == 0 || limit < least) ? limit : least; };
#if defined(__linux__)
  rlimit of_user{};
  if (root.empty() && getrlimit(RLIMIT_NPROC, &of_user) == 0 && of_user.rlim_cur != RLIM_INFINITY) take(static_cast<std::int64_t>(of_user.rlim_cur));
#endif
  for (const std::string& folder : cgroup_folders(root, "pids")) take(first_number(file_text(folder + "pids.max")));
  return least;
}

}  // namespace heddle::seams_room
