// SPDX-License-Identifier: MIT
// Room: cost. Machines that others have described: the tutorial's toy, nodes of H100, H200 and B200.
// Sees: cost/machine.  Does not see: plans, processes, threads.
// In: datasheets and published constants.  Out: toy_machine, h100_nodes, h200_nodes, b200_nodes, measured_b200_nodes.
#pragma once

#include "heddle/cost/machine.hpp"

namespace heddle::cost_room {

/// The machine of the tutorial on N-dimensional parallelism: 0.1 s for a unit of compute, 0.05 s for a message and 0.05 s for its acknowledgement,
/// 0.01 s for a unit of data. The plan says what a unit is: toy_machine(1000, 4) takes 0.1 s for 1,000 operations and 0.01 s for 4 bytes.
///
/// Source  sources.md#nd-toy
/// Tested  cost/presets_test
[[nodiscard]] constexpr Machine toy_machine(double flops_a_unit, double bytes_a_unit) {
  Machine toy;
  toy.alpha = 0.05;
  toy.acknowledgement = 0.05;
  toy.beta = 0.01 / bytes_a_unit;
  toy.per_flop = 0.1 / flops_a_unit;
  return toy;
}

/// Nodes of 8 devices: latencies as NCCL's tuning has them for rings under the protocol Simple, 3.4 microseconds over NVLink, 9.6 over the network
/// and 8.4 for a collective as such; 400 Gbit/s a device between nodes. A collective takes the algorithm that is fastest.
///
/// Source  sources.md#nccl-tuning, sources.md#dgx
[[nodiscard]] constexpr Machine nodes_of_eight(double nvlink_bytes_a_second) {
  Machine nodes;
  nodes.alpha = 9.6e-6;
  nodes.beta = each_of(50e9);
  nodes.per_collective = 8.4e-6;
  nodes.collectives = CollectiveAlgorithm::fastest;
  nodes.levels[0] = {8, 3.4e-6, each_of(nvlink_bytes_a_second)};
  return nodes;
}

/// H100 SXM: 67 TFLOP/s in float32 and 989 in bfloat16 without sparsity, 3.35 TB/s, 80 GB, 450 GB/s of NVLink each way. Peaks: name an Efficiency
/// for what products reach.
///
/// Source  sources.md#h100
/// Tested  cost/presets_test
[[nodiscard]] constexpr Machine h100_nodes() {
  Machine h100 = nodes_of_eight(450e9);
  h100.per_flop = each_of(67e12);
  h100.per_bfloat16_flop = each_of(989e12);
  h100.per_memory_byte = each_of(3.35e12);
  h100.memory = Bytes{80'000'000'000};
  return h100;
}

/// H200 SXM: the same with 4.8 TB/s and 141 GB.
///
/// Source  sources.md#h200
/// Tested  cost/presets_test
[[nodiscard]] constexpr Machine h200_nodes() {
  Machine h200 = h100_nodes();
  h200.per_memory_byte = each_of(4.8e12);
  h200.memory = Bytes{141'000'000'000};
  return h200;
}

/// B200: 75 TFLOP/s in float32 (assumed: sources have 75 and 80) and 2,250 in bfloat16 without sparsity, of which products reached 0.49 on average in
/// published steps; 7.7 TB/s, 180 GB, 900 GB/s of NVLink each way.
///
/// Source  sources.md#b200, sources.md#simumax
/// Tested  cost/presets_test
[[nodiscard]] constexpr Machine b200_nodes() {
  Machine b200 = nodes_of_eight(900e9);
  b200.per_flop = each_of(75e12);
  b200.per_bfloat16_flop = each_of(2250e12);
  b200.efficiency.points[0] = {0, 0.49};
  b200.per_memory_byte = each_of(7.7e12);
  b200.memory = Bytes{180'000'000'000};
  return b200;
}

/// B200 as kernels and links were measured one by one, not as whole steps were: products reach 0.59 of the peak where they are small and 0.48 where
/// they are large, attention 0.16 to 0.50 by the operations that a causal mask leaves; 5.72 TB/s of memory. Collectives in a node are rings at 650
/// GB/s, and wait 24.3 microseconds and 8.6 for each rank but one: 33, 50 and 85 in all for 2, 4 and 8. Messages between two devices of a node use
/// the same link: 8.6 microseconds and 650 GB/s (assumed: the source has 16.1 and 1,403).
///
/// Source  sources.md#b200, sources.md#simumax
/// Tested  cost/presets_test, oracle/b200_steps_test
[[nodiscard]] constexpr Machine measured_b200_nodes() {
  Machine b200 = b200_nodes();
  b200.efficiency = {{{0x1p36, 0.590},
                      {0x1p37, 0.581},
                      {0x1p38, 0.506},
                      {0x1p39, 0.506},
                      {0x1p40, 0.484},
                      {0x1p41, 0.483},
                      {0x1p42, 0.480},
                      {0x1p43, 0.481},
                      {0x1p44, 0.485}}};
  b200.attention = {{{3.4e10, 0.155},
                     {6.9e10, 0.289},
                     {8.6e10, 0.329},
                     {1.37e11, 0.366},
                     {1.72e11, 0.378},
                     {2.75e11, 0.436},
                     {3.44e11, 0.398},
                     {5.5e11, 0.498},
                     {6.87e11, 0.365},
                     {1.37e12, 0.416}}};
  b200.per_memory_byte = each_of(5.72e12);
  b200.collectives = CollectiveAlgorithm::ring;
  b200.per_collective = 24.3e-6;
  b200.levels[0] = {8, 8.6e-6, each_of(650e9)};
  return b200;
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::b200_nodes, cost_room::h100_nodes, cost_room::h200_nodes, cost_room::measured_b200_nodes, cost_room::toy_machine;
}  // namespace heddle::extending
