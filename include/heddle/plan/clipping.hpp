// SPDX-License-Identifier: MIT
// Room: plan. Clipping: the norm is of reduced gradients, is itself reduced over exactly the axes on which parameters are split, before any step.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S12 with the device and what is wrong.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/plan/program.hpp"

namespace heddle::inline plan_room {

/// What one role's list has done about its norm so far.
struct NormWalk {
  const Program& p;
  int role = 0;
  bool summed = false;
  bool known = false;
  int started[axis_count]{};
  int waited[axis_count]{};

  constexpr Diagnosis refuse(std::string_view what, std::string_view axis = "") const {
    return Diagnosis{Code{'S', 12}, ""} << "device " << role << what << axis
                                        << ". Fix: reduce gradients, sum their squares, reduce that over the axes on which parameters are split, "
                                           "then step.";
  }
  constexpr Diagnosis visit(const Instruction& line) {
    const int a = static_cast<int>(line.axis);
    const bool reduces = line.op == Op::reduce_start || line.op == Op::reduce_wait;
    if (summed && reduces && line.bucket >= 0) return refuse(" sums squares before a gradient is reduced over axis ", name_of(line.axis));
    if (reduces && line.bucket == norm_bucket) {
      if (!summed) return refuse(" reduces a norm that is not summed, over axis ", name_of(line.axis));
      ++(line.op == Op::reduce_start ? started : waited)[a];
    }
    if (line.op == Op::norm) {
      if (summed) return refuse(" sums squares twice");
      summed = true;
    }
    if (line.op == Op::step && !known) return refuse(" steps before the norm is known");
    return line.op == Op::clip ? clip() : Diagnosis{};
  }
  constexpr Diagnosis clip() {
    if (!summed) return refuse(" clips without a norm");
    if (known) return refuse(" clips twice");
    known = true;
    for (int k = 0; k < p.mesh.count; ++k) {
      const Axis axis = p.mesh.axes[k];
      const int wanted = p.reduces_norm_along(axis) ? 1 : 0;
      const int a = static_cast<int>(axis);
      if (started[a] < wanted || waited[a] < wanted) return refuse(" clips by a norm that is not reduced over axis ", name_of(axis));
      if (started[a] > wanted || waited[a] > wanted) return refuse(" counts squares several times over axis ", name_of(axis));
    }
    return {};
  }
};

/// S12, for a Program that clips.
/// Source  sources.md#clip-grad-norm
/// Tested  plan/clipping_test
[[nodiscard]] constexpr Diagnosis check_clipping(const Program& p) {
  if (!p.clips || !p.training) return {};
  for (int r = 0; r < p.roles; ++r) {
    NormWalk walk{p, r};
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i)
      if (const Diagnosis found = walk.visit(p.instructions[i]); !found.ok()) return found;
    if (!walk.known) return walk.refuse(" never clips");
  }
  return {};
}

}  // namespace heddle::inline plan_room
