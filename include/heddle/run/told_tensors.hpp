// SPDX-License-Identifier: MIT
// Room: run. What grains tell between the phases of a leaf: where it lies, and its sum over the grains of a micro-batch.
// Sees: graph, plan/program, run/rank_tensors.  Does not see: policies, threads, transports, any backend.
// In: an entry of a phase.  Out: pointers in its call.
#pragma once

#include <cstdint>

#include "heddle/graph/leaf.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/rank_tensors.hpp"

namespace heddle::run_room {

/// A line for each grain, phase behind phase. Of 2 grains that tell 3 floats after the first phase the second grain tells in floats 16 to 18.
///
/// Tested  run/told_tensors_test, equivalence/synchronised_test
class ToldTensors {
 public:
  explicit ToldTensors(RankTensors& tensors) : t_(tensors) {}

  /// Gives the call of a grain what it tells, and what all told before; nothing of what runs again, or makes gradients of parameters alone.
  template <class Call> void tell(Call& call, const Entry& entry, const Phases& phases, int grain) {
    if (!entry.b.set()) return;
    for (int phase = 1; phase < phases.count() && phase <= entry.phase; ++phase) {
      const std::int64_t line = told_bytes(phases.sums[phase - 1]) / float_bytes;
      float* const first = t_.at(Place{entry.b.pool, entry.b.offset + told_begin(phases, phase, t_.grains())}, line * t_.grains());
      if (phase == entry.phase) call.tells = first + grain * line;
      told_[phase - 1] = first;
    }
    call.told = told_;
  }
  /// Along the tree over the grains of a micro-batch, as gradients are summed; the first line becomes the sum.
  template <class Add> void sum_grains(const Entry& entry, Add add) {
    const std::int64_t line = told_bytes(entry.features) / float_bytes;
    float* const first = t_.at(entry.d, line * t_.grains());
    for (int width = 1; width < t_.grains(); width *= 2)
      for (int g = 0; g + width < t_.grains(); g += 2 * width) add(first + g * line, first + g * line, first + (g + width) * line, entry.features);
  }

 private:
  RankTensors& t_;
  const float* told_[Phases::most - 1]{};
};

}  // namespace heddle::run_room
