// SPDX-License-Identifier: MIT
// Room: run. Float32 copies of what an entry reads and writes, where a plan keeps values as bfloat16 and its kernel computes with floats.
// Sees: graph, plan/program, run/arena, run/kernel_functions.  Does not see: policies, threads, transports, any backend.
// In: tensors where they lie.  Out: floats, and rounded tensors once the entry has run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "heddle/core/bfloat16.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/kernel_functions.hpp"

namespace heddle::run_room {

[[nodiscard]] constexpr bool keeps_bfloat16(const Program& p) { return p.graph->values == ElementType::bfloat16; }

/// Whether the parameters of a node are rounded together with all others of a rank, once a step, for kernels that take bfloat16: those that are
/// trained, and lie whole on the rank. Those that are gathered before use, or frozen, are rounded for each use.
[[nodiscard]] constexpr bool rounded_together(const Program& p, int node) { return !p.storage.parameters && p.graph->nodes[node].frozen_count == 0; }
/// The bytes of all parameters of a role in bfloat16, if some kernel reads them there: of Linear<64, 1024> 133,120.
///
/// Tested  run/wide_tensors_test
template <class Space = HostMemory> [[nodiscard]] constexpr Bytes rounded_bytes(const Program& p, const LeafKernelsIn<Space>* leaves, int role) {
  if (!keeps_bfloat16(p) || leaves == nullptr) return Bytes{0};
  bool reads = false;
  for (int n = 0; n < p.graph->node_count; ++n)
    reads = reads || (p.graph->leaf(n).parameter_count > 0 && leaves[p.graph->nodes[n].leaf].takes_bfloat16 && rounded_together(p, n));
  return reads ? Bytes{p.arenas[role].flat_elements() * bytes_of(ElementType::bfloat16)} : Bytes{0};
}

/// The most that one entry has wide: parameters of a layer, what it takes and gives and the gradients of both for the rows of a grain; or the terms
/// of a sum over ranks, and its own part of it. Of a layer whose kernel takes bfloat16 only its parameters, rounded, unless all of the rank are
/// rounded together; in another memory than the host's nothing of sums within a rank, and of outputs only what a loss reads that takes none. Of a
/// plan without Mixed nothing.
///
/// Tested  run/wide_tensors_test, equivalence/mixed_test
template <class Space = HostMemory>
[[nodiscard]] constexpr Bytes wide_bytes(const Program& p, const LeafKernelsIn<Space>* leaves = nullptr, bool takes_outputs = false) {
  if (!keeps_bfloat16(p)) return Bytes{0};
  std::int64_t most = 0;
  const auto row = [&](std::int64_t elements) { return rounded_up(p.batch.grain_rows * elements, line_elements); };
  for (int n = 0; n < p.graph->node_count; ++n) {
    const Leaf& leaf = p.graph->leaf(n);
    const bool takes = leaves != nullptr && leaves[p.graph->nodes[n].leaf].takes_bfloat16, is_last = n + 1 == p.graph->node_count;
    std::int64_t floats = 2 * (row(leaf.in.elements()) + row(leaf.out.elements()) + row(leaf.operands == 2 ? leaf.other.elements() : 0));
    if (takes) floats = 0;
    for (int k = 0; k < leaf.parameter_count && !(takes && rounded_together(p, n)); ++k) {
      const std::int64_t elements = leaf.parameters[k].shape.elements();
      floats += rounded_up(takes ? (elements + 1) / 2 : elements, line_elements);
    }
    if (std::is_same_v<Space, HostMemory> || (is_last && !takes_outputs)) floats = std::max(floats, 3 * row(p.graph->spec(n + 1).elements()));
    most = std::max(most, floats);
  }
  for (int i = 0; i < p.collective_count; ++i)
    if (const Collective& c = p.collectives[i]; c.widens()) most = std::max(most, 2 * c.elements);
  return Bytes{float_bytes * most};
}

inline void widen(float* to, const float* lies, std::int64_t elements) {
  const auto* const from = reinterpret_cast<const BFloat16*>(lies);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = widened(from[i]);
}
inline void round(float* lies, const float* from, std::int64_t elements) {
  auto* const to = reinterpret_cast<BFloat16*>(lies);
  for (std::int64_t i = 0; i < elements; ++i) to[i] = rounded(from[i]);
}

/// Of one rank, whose memory `Work` reads and writes (run/host_work.hpp). Where values are float32 all calls hand on what they are given.
/// An entry that reads 16 rows of 50 features and gives 10 has 800 and 160 floats here.
///
/// Tested  run/wide_tensors_test
template <class Work> class WideTensors {
 public:
  WideTensors(const Program& p, Work& work) : WideTensors(p, work, wide_bytes(p)) {}
  WideTensors(const Program& p, Work& work, Bytes room) : work_(work), room_(work.room(room.value)), on_(keeps_bfloat16(p)) {}

  [[nodiscard]] bool on() const { return on_; }
  /// Forgets all copies but the first `keep` floats.
  void clear(std::int64_t keep = 0) {
    used_ = keep;
    written_ = 0;
  }
  [[nodiscard]] std::int64_t used() const { return used_; }

  /// What lies there as floats. Null stays null.
  [[nodiscard]] float* read(float* lies, std::int64_t elements) {
    if (!on_ || lies == nullptr) return lies;
    float* const to = take(elements);
    work_.widen(to, lies, elements);
    return to;
  }
  /// Room for what is written there, once put_back() is called.
  [[nodiscard]] float* write(float* lies, std::int64_t elements) {
    if (!on_ || lies == nullptr) return lies;
    float* const to = take(elements);
    pending_[written_++] = {lies, to, elements};
    return to;
  }
  /// The same of what is read before.
  [[nodiscard]] float* update(float* lies, std::int64_t elements) {
    float* const to = write(lies, elements);
    if (to != lies) work_.widen(to, lies, elements);
    return to;
  }
  /// A parameter as layers read it: rounded, and the floats themselves where values are float32.
  [[nodiscard]] const float* parameter(const float* floats, std::int64_t elements) {
    if (!on_ || floats == nullptr) return floats;
    float* const to = take(elements);
    work_.round_floats(to, floats, elements);
    return to;
  }
  /// The same for a kernel that takes bfloat16.
  [[nodiscard]] const float* rounded_parameter(const float* floats, std::int64_t elements) {
    if (floats == nullptr) return floats;
    float* const to = take((elements + 1) / 2);
    work_.round(to, floats, elements);
    return to;
  }
  void put_back() {
    for (int i = 0; i < written_; ++i) work_.round(pending_[i].lies, pending_[i].floats, pending_[i].elements);
    written_ = 0;
  }
  [[nodiscard]] float* take(std::int64_t elements) {
    float* const to = room_.floats(float_bytes * used_, elements);
    used_ += rounded_up(elements, line_elements);
    return to;
  }

 private:
  /// Floats that are to be rounded: {place, copy, 160}.
  struct Pending {
    float* lies;
    const float* floats;
    std::int64_t elements;
  };
  Work& work_;
  Arena room_;
  bool on_;
  std::int64_t used_ = 0;
  Pending pending_[2]{};
  int written_ = 0;
};

}  // namespace heddle::run_room
