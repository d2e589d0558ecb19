// SPDX-License-Identifier: MIT
// Room: cost. What a machine costs: seconds per message, per byte, per floating-point operation, by level of its network and by device.
// Sees: core, cost/efficiency.  Does not see: plans, processes, threads.
// In: measured, published or assumed numbers.  Out: Machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "heddle/core/units.hpp"
#include "heddle/cost/efficiency.hpp"

namespace heddle::cost_room {

/// Seconds that one of something takes if there are so many in a second: each_of(50e9) is 2e-11, for a link of 50 GB/s.
[[nodiscard]] constexpr double each_of(double per_second) { return 1 / per_second; }

/// A link: a message of n bytes takes alpha + n beta. {50e-6, 1e-9} takes 51 microseconds for 1,000 bytes.
struct Link {
  double alpha = 0;  ///< seconds a message
  double beta = 0;   ///< seconds a byte
  friend constexpr bool operator==(const Link&, const Link&) = default;
};

/// So many consecutive ranks, counted from rank 0, are joined by links of their own: {8, 3.4e-6, each_of(450e9)} is a node of 8 devices. A Machine
/// lists its levels from the smallest on, each of a multiple of the ranks of the one before.
struct Level {
  int ranks = 0;  ///< 0: no level
  double alpha = 0;
  double beta = 0;
  friend constexpr bool operator==(const Level&, const Level&) = default;

  [[nodiscard]] constexpr Link link() const { return {alpha, beta}; }
};

/// Ranks that are not as fast as the machine says: {3, 3, 0.5} takes twice as long on rank 3, {4, 7, 0.7} is of four ranks.
struct RankSpeed {
  int first = 0;
  int last = -1;  ///< below `first`: of no rank
  double speed = 1;
  friend constexpr bool operator==(const RankSpeed&, const RankSpeed&) = default;
};

/// Layers of a kind that take what no curve of products says: {"GELU", 3e-9, 5e-9} takes 3 ns for each operation of its forward and 5 of its
/// backward. An element counts 1 operation in ReLU, 8 in GELU and 9 in GELUTanh: a forward of GELU then takes 24 ns an element, a backward 40. In
/// "CrossEntropy", the loss and its gradient at once, each element of the output counts as one operation; in "Adam" each element that is stepped.
///
/// Tested  cost/machine_test
struct LayerRate {
  char kind[25]{};      ///< as the layer is spelled, without its sizes; empty: no entry
  double forward = 0;   ///< seconds an operation
  double backward = 0;  ///< the same, of both gradients
  friend constexpr bool operator==(const LayerRate&, const LayerRate&) = default;

  [[nodiscard]] constexpr std::string_view name() const {
    std::size_t length = 0;
    while (length < sizeof kind && kind[length] != '\0') ++length;
    return {kind, length};
  }
  /// The rate of a kind whose name is known when a program runs; one of more than 24 letters is cut.
  [[nodiscard]] static constexpr LayerRate of(std::string_view name, double forward, double backward) {
    LayerRate rate{.forward = forward, .backward = backward};
    for (std::size_t i = 0; i + 1 < sizeof rate.kind && i < name.size(); ++i) rate.kind[i] = name[i];
    return rate;
  }
};

/// How the ranks of a group move what they sum or gather.
enum class CollectiveAlgorithm : std::uint8_t {
  ring,                ///< neighbours pass parts on
  recursive_doubling,  ///< pairs at distance 1, 2, 4, ... exchange all that they have
  halving_doubling,    ///< pairs exchange half of what is left, then twice of what they have
  hierarchical,        ///< rings inside the smallest level, then between its blocks, and so on
  fastest,             ///< of these, for each collective by itself
  shared_memory        ///< nobody sends: each rank reads the memory of all for an equal share of the elements, as threads of one process do
};

/// The alpha-beta model with what a device does for itself; all in seconds. A machine of zero latency and infinite links shows the shape of a
/// schedule alone: what is 0 takes no time. With alpha 50e-6 and beta 1e-9 a message of 1,000 bytes takes 51 microseconds.
///
/// Source  sources.md#collectives, sources.md#roofline
/// Tested  cost/machine_test, cost/machine_check_test
struct Machine {
  double alpha = 0;              ///< per message, between ranks that no level joins
  double beta = 0;               ///< per byte, between the same
  double per_flop = 1;           ///< per floating-point operation of one device
  double per_bfloat16_flop = 0;  ///< the same where values are kept as bfloat16; 0: as per_flop
  double per_memory_byte = 0;    ///< per byte that a device reads from its memory or writes to it
  double per_call = 0;           ///< per call of a kernel
  double per_message = 0;        ///< of the device's own time, for each message and each collective that it starts
  double per_collective = 0;     ///< once for each collective, before its first message
  double gamma = 0;              ///< per byte that a collective adds
  double acknowledgement = 0;    ///< from the end of a message until its sender knows of it
  double memory_aside = 1;       ///< share of the shorter of computing and memory that passes during the longer: 1 a roofline, 0 one by one
  bool overlaps = true;          ///< what is summed and gathered moves while devices compute; false: while one of them waits for it
  Efficiency efficiency{};       ///< share of the peak, by the operations of a call
  Efficiency narrow{};           ///< times this share, by the smallest of the three extents of a product of matrices; without points 1
  Efficiency attention{};        ///< the same of layers without parameters, as SelfAttention is one; without points as efficiency
  Efficiency cached{};           ///< how many times as fast memory is, by the bytes that a device has in all; without points once
  CollectiveAlgorithm collectives = CollectiveAlgorithm::ring;
  static constexpr int most_levels = 3;
  static constexpr int most_speeds = 16;
  static constexpr int most_layers = 24;
  Level levels[most_levels]{};      ///< from the innermost on
  RankSpeed speeds[most_speeds]{};  ///< of those that differ; a later entry counts for its ranks
  LayerRate layers[most_layers]{};  ///< of kinds that have a rate of their own; an empty entry ends the list
  Bytes memory{};                   ///< of one device; 0: not known
  int devices = 0;                  ///< 0: as many as a plan asks for
  friend constexpr bool operator==(const Machine&, const Machine&) = default;

  [[nodiscard]] constexpr int level_count() const {
    int n = 0;
    while (n < most_levels && levels[n].ranks > 0) ++n;
    return n;
  }
  /// Of level number `level`; the number behind the last level is that of what no level joins.
  [[nodiscard]] constexpr Link link(int level) const { return level < level_count() ? levels[level].link() : Link{alpha, beta}; }
  /// Null: such layers compute as `efficiency`, or `attention`, says.
  [[nodiscard]] constexpr const LayerRate* rate_of(std::string_view kind) const {
    for (const LayerRate& rate : layers) {
      if (rate.kind[0] == '\0') return nullptr;
      if (rate.name() == kind) return &rate;
    }
    return nullptr;
  }
  [[nodiscard]] constexpr bool unequal() const {
    for (const RankSpeed& s : speeds)
      if (s.speed != 1) return true;
    return false;
  }
  [[nodiscard]] constexpr double speed(int rank) const {
    double found = 1;
    for (const RankSpeed& s : speeds)
      if (s.first <= rank && rank <= s.last) found = s.speed;
    return found;
  }
};

/// The same machine for devices that have so many bytes in all: what fits a cache is read and written faster.
/// With cached {{{1e6, 4}, {1e8, 1}}} and 2e-10 s a byte a device of 1 MB takes 5e-11.
///
/// Tested  cost/machine_test
[[nodiscard]] constexpr Machine with_working_set(Machine machine, Bytes bytes) {
  machine.per_memory_byte /= machine.cached.share(static_cast<double>(bytes.value));
  return machine;
}

/// The same machine with ranks `first` to `last` at a share of its speed: with_speed(machine, 3, 3, 0.5) has a straggler, rank 3.
///
/// Errors  M16 by check(machine) where there is no room for another entry: the last one then names rank -1
/// Tested  cost/machine_test
[[nodiscard]] constexpr Machine with_speed(Machine machine, int first, int last, double speed) {
  int at = 0;
  while (at < Machine::most_speeds && machine.speeds[at] != RankSpeed{}) ++at;
  machine.speeds[at < Machine::most_speeds ? at : at - 1] = at < Machine::most_speeds ? RankSpeed{first, last, speed} : RankSpeed{-1, -1, 0};
  return machine;
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::CollectiveAlgorithm, cost_room::LayerRate, cost_room::Level, cost_room::Link, cost_room::Machine, cost_room::RankSpeed,
    cost_room::each_of, cost_room::with_speed, cost_room::with_working_set;
}  // namespace heddle::extending
