// SPDX-License-Identifier: MIT
// What the programs of this folder share: the step of one small model in units, how devices are numbered, a ring that sums, and the options.
#pragma once

#include <array>
#include <cstdlib>
#include <string_view>

#include "simulated_device.hpp"

namespace nd {

// One step: eight groups of rows go forward and backward through four layers. On one device it takes 8 x 4 x (1 + 2) = 96 units, 9.6 s.
constexpr int layers = 4;
constexpr int groups = 8;
constexpr double forward = 1, backward = 2;  // units of compute of one layer for one group
constexpr double activations = 1;            // units of data that a group carries from layer to layer, and back as gradients
constexpr double gradients = 4;              // units of data of the gradients of one layer's parameters
constexpr double whole_step = groups * layers * (forward + backward);

/// What the command line says; programs print the same with the same options.
struct Settings {
  Machine machine;
  bool log = false;  ///< of all ranks, not only of those that a program chooses

  /// The same machine in virtual time, for comparisons beside the run that is shown.
  [[nodiscard]] Machine virtual_time() const {
    Machine same = machine;
    same.pause = 0;
    return same;
  }
};

/// Numbers devices by their coordinates; the last axis runs fastest. In a grid of 2 x 4 rank 6 has the coordinates 1 and 2.
template <std::size_t Axes> struct Grid {
  std::array<int, Axes> sizes;

  [[nodiscard]] int devices() const {
    int product = 1;
    for (const int size : sizes) product *= size;
    return product;
  }
  [[nodiscard]] int stride(std::size_t axis) const {
    int product = 1;
    for (std::size_t a = axis + 1; a < Axes; ++a) product *= sizes[a];
    return product;
  }
  [[nodiscard]] int coordinate(int rank, std::size_t axis) const { return rank / stride(axis) % sizes[axis]; }
  /// The ranks that differ from this one in one coordinate, in its order.
  [[nodiscard]] std::vector<int> group(int rank, std::size_t axis) const {
    std::vector<int> ranks;
    for (int c = 0; c < sizes[axis]; ++c) ranks.push_back(rank + (c - coordinate(rank, axis)) * stride(axis));
    return ranks;
  }
};

/// Sums data of all ranks of a group on each of them, as a ring: 2 (N-1) times each rank sends one chunk, an N-th of the data, to the next rank.
inline void all_reduce(Device& device, const std::vector<int>& group, double units) {
  const std::size_t n = group.size();
  const auto me = static_cast<std::size_t>(std::find(group.begin(), group.end(), device.rank()) - group.begin());
  for (std::size_t step = 0; step < 2 * (n - 1); ++step)
    device.send_and_receive(group[(me + 1) % n], units / static_cast<double>(n), group[(me + n - 1) % n]);
}
/// The same by its formula, where all links are alike.
inline double all_reduce_seconds(const Machine& machine, int n, double units) {
  return 2 * (n - 1) * (machine.latency + machine.per_unit * units / n + machine.acknowledgement);
}

/// How many times as fast; 1 where nothing takes time.
inline double times_as_fast(double before, double now) { return now > 0 ? before / now : 1; }

/// The beginning of the log of some ranks, or all that every rank did if the command line asks for it.
inline void print_log_of(const std::vector<int>& ranks, const Settings& settings, const Run& run) {
  constexpr std::size_t most = 24;
  if (settings.log) return print_log(run, {}, run.events.size());
  print_log(run, ranks, most);
  if (!ranks.empty() || run.events.size() > most) std::puts("--log prints what every rank did");
}
inline void print_speed_up(const Settings& settings, const Run& run) {
  const double alone = whole_step * settings.machine.compute;
  std::printf("makespan %.2f s on %d device%s; one device takes %.2f s: speed-up %.2f\n", run.makespan, run.devices, run.devices == 1 ? "" : "s",
              alone, times_as_fast(alone, run.makespan));
  if (settings.machine.pause > 0) std::printf("%.2f s really passed\n", run.passed);
}

inline Settings read_options(int count, char** arguments) {
  Settings settings;
  Machine& machine = settings.machine;
  double node = 0;
  const std::vector<std::pair<std::string_view, double*>> numbers{{"--compute", &machine.compute},   {"--latency", &machine.latency},
                                                                  {"--per-unit", &machine.per_unit}, {"--acknowledgement", &machine.acknowledgement},
                                                                  {"--between", &machine.between},   {"--node", &node},
                                                                  {"--scale", &machine.pause}};
  bool real = false;
  for (int i = 1; i < count; ++i) {
    const std::string_view option = arguments[i];
    const auto found = std::find_if(numbers.begin(), numbers.end(), [&](const auto& one) { return one.first == option; });
    char* end = nullptr;
    if (option == "--real") {
      real = true;
    } else if (option == "--log") {
      settings.log = true;
    } else if (found == numbers.end()) {
      throw Refused("There is no option " + std::string(option) +
                    ". Fix: --compute, --latency, --acknowledgement and --per-unit take seconds, --node devices, "
                    "--between a factor, --real runs with pauses, --scale says how long a second takes then, --log prints what every rank did.");
    } else if (i + 1 == count || (*found->second = std::strtod(arguments[i + 1], &end), end == arguments[i + 1]) || *end != '\0') {
      throw Refused(std::string(option) + " has no number behind it. Fix: write one, such as " + std::string(option) + " 1.");
    } else {
      ++i;
    }
  }
  if (!(node >= 0 && node <= 1024) || node != std::floor(node)) throw Refused("A node of " + number(node) + " devices. Fix: give 0 to 1024.");
  machine.node = static_cast<int>(node);
  if (real && machine.pause == 0) machine.pause = 1;
  if (!real) machine.pause = 0;
  return settings;
}

/// The main function of a program: what is refused is one sentence.
template <class Program> int run_main(int count, char** arguments, Program program) {
  try {
    program(read_options(count, arguments));
    return 0;
  } catch (const Refused& refused) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", refused.what());
    return 1;
  }
}

}  // namespace nd
