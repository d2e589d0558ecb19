// SPDX-License-Identifier: MIT
// Room: cost. Seconds of what a device does for itself: the entries of bodies, and the lines that close a step.
// Sees: graph, plan/program, plan/read/work, cost/machine.  Does not see: processes, threads, kernels.
// In: a Machine, a Program, rows.  Out: seconds and bytes of an entry, of a line.
#pragma once

#include <cstdint>

#include "heddle/cost/machine.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/work.hpp"

namespace heddle::cost_room {

/// Bytes of the parameters that one call of a leaf reads: of a table the rows that are looked up.
[[nodiscard]] constexpr std::int64_t parameter_bytes(const Leaf& leaf, std::int64_t rows) {
  std::int64_t elements = 0;
  for (int k = 0; k < leaf.parameter_count; ++k) elements += leaf.parameters[k].shape.elements();
  const std::int64_t looked_up = rows * leaf.out.elements();
  return float_bytes * (leaf.vocabulary > 0 && looked_up < elements ? looked_up : elements);
}

/// Bytes that a call of a leaf moves between its device and the device's memory: values and parameters once each, gradients of parameters once more
/// where they are added to those before. Linear<4, 3> reads 16 + 60 bytes and writes 12 for one row.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr std::int64_t leaf_bytes(const Program& p, const Entry& entry, std::int64_t rows) {
  const Leaf& leaf = p.graph->leaf(entry.node);
  const std::int64_t in = rows * leaf.in.elements() * bytes_of(leaf.in.type);
  const std::int64_t out = rows * leaf.out.elements() * bytes_of(leaf.out.type);
  const std::int64_t second = leaf.operands == 2 ? rows * leaf.other.elements() * bytes_of(leaf.other.type) : 0;
  const std::int64_t parameters = parameter_bytes(leaf, rows);
  if (entry.what == BodyOp::leaf_forward || entry.what == BodyOp::add) return in + second + (entry.d.set() ? out : 0) + parameters;
  std::int64_t bytes = out;  // the gradient of the output
  if (entry.a.set()) bytes += in;
  if (entry.b.set()) bytes += leaf.operands == 2 ? second : out;
  if (entry.d.set()) bytes += (entry.operand == 0 ? in : second) + parameters;
  if (entry.what != BodyOp::leaf_backward_input) bytes += (p.batch.rank_grains() > 1 ? 2 : 1) * parameters;
  return bytes;
}

/// The same of any entry, for rows of one call.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr std::int64_t moved_bytes(const Program& p, const Entry& entry, std::int64_t rows) {
  const std::int64_t value = rows * entry.features * bytes_of(entry.type);
  switch (entry.what) {
    case BodyOp::leaf_forward:
    case BodyOp::leaf_backward:
    case BodyOp::leaf_backward_input:
    case BodyOp::leaf_backward_weight: return leaf_bytes(p, entry, rows);
    case BodyOp::load_input:
    case BodyOp::load_targets:
    case BodyOp::copy:
    case BodyOp::store_output:
    case BodyOp::loss_terms:
    case BodyOp::slice_value:
    case BodyOp::gather_value:
    case BodyOp::scatter_value: return 2 * value;  // read and written
    case BodyOp::add:
    case BodyOp::loss: return 3 * rows * entry.features * bytes_of(p.graph->values);  // two operands are read, one result is written
    case BodyOp::sum_grains: return entry.features * float_bytes;
    case BodyOp::add_slice: return 3 * p.buckets[entry.bucket].elements / p.storage.gradient_parts() * float_bytes;
    case BodyOp::reduce_start:
    case BodyOp::reduce_wait:
    case BodyOp::gather_start:
    case BodyOp::gather_wait:
    case BodyOp::reduce_value:
    case BodyOp::reduce_parameter:
    case BodyOp::reduce_phase:
    case BodyOp::zero_gaps: return 0;
  }
  return 0;
}

/// Seconds of so many operations at the share of the peak that one call of them reaches: 2e9 operations at 1e-12 s and a share of 0.5 take 4 ms.
///
/// Source  sources.md#roofline
[[nodiscard]] constexpr double computing_seconds(const Machine& m, bool in_bfloat16, const Efficiency& curve, double flops) {
  const double per_flop = in_bfloat16 && m.per_bfloat16_flop > 0 ? m.per_bfloat16_flop : m.per_flop;
  return flops > 0 ? flops * per_flop / curve.share(flops) : 0;
}

/// One call of a kernel: as long as it computes or as its memory takes, whichever is longer, and of the other what does not pass meanwhile.
///
/// Source  sources.md#roofline
/// Tested  cost/work_time_test
[[nodiscard]] constexpr double call_seconds(const Machine& m, double computing, double bytes) {
  const double moving = bytes * m.per_memory_byte;
  const double longer = computing > moving ? computing : moving, shorter = computing > moving ? moving : computing;
  return (computing > 0 || bytes > 0 ? m.per_call : 0) + longer + (1 - m.memory_aside) * shorter;
}

/// Operations of an entry for one row, product by product: a backward that makes both gradients is two, each as efficient as its own operations.
/// In Linear<4, 3> the gradient of the input is a product of 24 operations. Those of weight and bias are 27, under NoBias 24.
///
/// Tested  cost/work_time_test
struct EntryProducts {
  std::int64_t first = 0;
  std::int64_t second = 0;

  [[nodiscard]] static constexpr EntryProducts of(const Program& p, const Entry& entry) {
    const std::int64_t all = flops_of(p, entry);
    if (all == 0 || entry.what != BodyOp::leaf_backward) return {all, 0};
    const std::int64_t weight = p.graph->leaf(entry.node).weight_flops;
    return {all - weight, weight};
  }
};

/// Whether the loss reads class numbers: fewer targets than outputs.
[[nodiscard]] constexpr bool of_classes(const Program& p, const Entry& loss) {
  const IndexRange& body = p.forward_bodies[p.chunks - 1];
  for (int e = body.begin; e < body.end; ++e)
    if (p.entries[e].what == BodyOp::load_targets) return p.entries[e].features < loss.features;
  return false;
}

/// Seconds in which an entry computes for one row, of kinds of layers that have a rate of their own; below 0 of all others. With {"GELU", 3, 5} a
/// GELU of 10 elements counts 80 operations: its forward computes for 240, its backward for 400.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr double rated_seconds(const Machine& m, const Program& p, const Entry& entry) {
  if (m.layers[0].kind[0] == '\0') return -1;
  if (entry.what == BodyOp::loss) {
    const LayerRate* const rate = of_classes(p, entry) ? m.rate_of("CrossEntropy") : nullptr;
    return rate != nullptr ? rate->forward * static_cast<double>(entry.features) : -1;
  }
  const std::int64_t flops = flops_of(p, entry);
  const LayerRate* const rate = flops > 0 ? m.rate_of(p.graph->leaf(entry.node).kind.view()) : nullptr;
  if (rate == nullptr) return -1;
  return static_cast<double>(flops) * (entry.what == BodyOp::leaf_forward || entry.what == BodyOp::add ? rate->forward : rate->backward);
}

/// The smallest extent of the products of a layer for so many rows; 0: it has none that its first parameter says. Linear<784, 50> for 64 rows of one
/// position multiplies (64, 784) by (784, 50): 50. For 16 rows it is 16.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr std::int64_t smallest_extent(const Leaf& leaf, std::int64_t rows) {
  if (leaf.parameter_count == 0 || leaf.parameters[0].shape.dimensions != 2 || leaf.vocabulary > 0) return 0;
  const std::int64_t out = leaf.parameters[0].shape.sizes[0], in = leaf.parameters[0].shape.elements() / out;
  if (leaf.forward_flops / 2 < out * in) return 0;  // it adds its parameter, or looks it up
  const std::int64_t positions = in > 0 && leaf.in.elements() % in == 0 ? rows * (leaf.in.elements() / in) : 0;
  const std::int64_t narrower = out < in ? out : in;
  return positions < narrower ? positions : narrower;
}

/// An entry of a body for so many rows of a micro-batch: a call for each grain.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr double entry_seconds(const Machine& m, const Program& p, const Entry& entry, std::int64_t rows) {
  const EntryProducts flops = EntryProducts::of(p, entry);
  const double rated = rated_seconds(m, p, entry);
  const bool works = flops.first + flops.second > 0 || rated > 0;
  const bool in_bfloat16 = p.graph->values == ElementType::bfloat16;
  const bool counts_bytes = m.per_memory_byte > 0 || m.per_call > 0;
  if (!works && !counts_bytes) return 0;
  const Efficiency& curve =
      rated < 0 && works && m.attention.count() > 0 && p.graph->leaf(entry.node).parameter_count == 0 ? m.attention : m.efficiency;
  const auto call = [&](std::int64_t of) -> double {
    if (of == 0) return 0;
    const auto times = static_cast<double>(of);
    const std::int64_t extent = rated < 0 && works && m.narrow.count() > 0 ? smallest_extent(p.graph->leaf(entry.node), of) : 0;
    const double computing = rated >= 0 ? times * rated
                                        : (computing_seconds(m, in_bfloat16, curve, times * static_cast<double>(flops.first)) +
                                           computing_seconds(m, in_bfloat16, curve, times * static_cast<double>(flops.second))) /
                                              (extent > 0 ? m.narrow.share(static_cast<double>(extent)) : 1);
    return call_seconds(m, computing, counts_bytes ? static_cast<double>(moved_bytes(p, entry, of)) : 0);
  };
  const std::int64_t grain = p.batch.grain_rows;
  const std::int64_t whole = rows / grain;
  return static_cast<double>(whole) * call(grain) + call(rows % grain);
}

/// Elements of a bucket that one rank steps.
[[nodiscard]] constexpr std::int64_t stepped_elements(const Program& p, const Instruction& line) {
  return p.buckets[line.bucket].elements / p.storage.state_parts();
}

/// Bytes that a closing line moves between a device and its memory. A step reads the gradient and reads and writes the parameter and each state: SGD
/// takes 12 bytes an element, Adam 28. A norm reads the gradients; where the loss is scaled they are divided as well.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr std::int64_t line_bytes_moved(const Program& p, int role, const Instruction& line) {
  const ArenaMap& map = p.arenas[role];
  switch (line.op) {
    case ListOp::step: return stepped_elements(p, line) * float_bytes * (3 + 2 * map[RegionKind::states].copies);
    case ListOp::tie: return 3 * stepped_elements(p, line) * float_bytes;
    case ListOp::norm:
    case ListOp::unscale: {
      std::int64_t elements = 0;
      for (int b = 0; b < p.bucket_count; ++b)
        if (p.buckets[b].role == role && p.buckets[b].steps()) elements += p.buckets[b].elements / p.storage.state_parts();
      return elements * float_bytes * (line.op == ListOp::norm ? 1 : 2);
    }
    default: return 0;
  }
}

/// Seconds in which a step computes, where "Adam" has a rate: that of an optimizer of two states for each element.
[[nodiscard]] constexpr double stepping_seconds(const Machine& m, const Program& p, int role, const Instruction& line) {
  if (line.op != ListOp::step || p.arenas[role][RegionKind::states].copies != 2) return 0;
  const LayerRate* const rate = m.rate_of("Adam");
  return rate != nullptr ? rate->forward * static_cast<double>(stepped_elements(p, line)) : 0;
}

/// A closing line: its memory, what it computes, and a call of a kernel where it has any.
///
/// Tested  cost/work_time_test
[[nodiscard]] constexpr double line_seconds(const Machine& m, const Program& p, int role, const Instruction& line) {
  const double computing = stepping_seconds(m, p, role, line);
  if (m.per_memory_byte == 0 && m.per_call == 0) return computing;
  return call_seconds(m, computing, static_cast<double>(line_bytes_moved(p, role, line)));
}

}  // namespace heddle::cost_room
