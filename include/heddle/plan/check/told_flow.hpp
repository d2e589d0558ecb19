// SPDX-License-Identifier: MIT
// Room: plan. What one device has done about what ranks tell each other before a step: what is found, over which axes it is summed, what is decided.
// Sees: plan/check/bucket_flow, plan/program.  Does not see: lowering, policies, processes, threads.
// In: lines, one after another.  Out: what is wrong with one, in words.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/plan/check/bucket_flow.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What is wrong with a line: {" skips ", "another time"}, or words that end with an axis, as with 0 for axis data.
struct ToldFault {
  std::string_view doing{}, what{};
  int axis = -1;
  [[nodiscard]] constexpr bool ok() const { return what.empty(); }
};

/// Squares and the flag of an overflow are of gradients and summed together, the flag of the loss goes over other axes.
/// A guarded plan of DataParallel<2> that clips has no term of the norm along any axis, and one of the flag of the loss along axis data.
///
/// Tested  plan/check/gradient_flow_test, plan/check/guarding_test
struct ToldFlow {
  const Program* program = nullptr;  ///< a reference that a default initializer of who has this one hands on is no constant to nvcc 13
  FlowSum of_gradients{};
  FlowSum of_loss{};
  bool looked = false;   ///< at gradients: squares or the flag of an overflow are there
  bool guarded = false;  ///< the flag of the loss is there
  bool skipped = false;  ///< all ranks know whether to step
  bool clipped = false;

  /// Another device of a Program.
  constexpr void open(const Program& p) {
    program = &p;
    of_gradients = of_loss = FlowSum{};
    looked = guarded = skipped = clipped = false;
    for (int k = 0; k < p.mesh.count; ++k) {
      const Axis a = p.mesh.axes[k];
      const auto bit = static_cast<std::uint8_t>(1U << static_cast<unsigned>(a));
      if (norm_is_term_along(p, a)) of_gradients.along |= bit;
      if (guard_is_term_along(p, a)) of_loss.along |= bit;
    }
  }
  [[nodiscard]] constexpr bool moving() const { return of_gradients.moving >= 0 || of_loss.moving >= 0; }
  /// Whether a line reduces the flag of the loss, and whether it reduces what is found in gradients.
  [[nodiscard]] constexpr bool tells_of_loss(const Instruction& line) const {
    return program->guards && tells(*program, line, place_of_guard(*program));
  }
  [[nodiscard]] constexpr bool tells_of_gradients(const Instruction& line) const {
    return !tells_of_loss(line) || ((program->clips || program->scales_loss) && tells(*program, line, 0));
  }

  /// `makes_loss`: losses are made on this device, and `made`: all of them are.
  constexpr ToldFault guard(bool makes_loss, bool made) {
    if (guarded || !program->guards) return {" looks at its losses ", "another time"};
    if (makes_loss && !made) return {" looks at its losses ", "before they are made"};
    guarded = true;
    return {};
  }
  constexpr ToldFault skip() {
    if (const ToldFault unknown = known(" skips "); !unknown.ok()) return unknown;
    if (skipped || !(program->scales_loss || program->guards)) return {" skips ", "another time"};
    skipped = true;
    return {};
  }
  constexpr ToldFault clip() {
    if (const ToldFault unknown = known(" clips "); !unknown.ok()) return unknown;
    if (clipped || !program->clips) return {" clips ", "another time"};
    if (!decided()) return {" clips ", "before it knows whether to skip: a norm of what overflows is no number"};
    clipped = true;
    return {};
  }
  [[nodiscard]] constexpr bool decided() const { return skipped || !(program->scales_loss || program->guards); }

 private:
  [[nodiscard]] constexpr ToldFault known(std::string_view doing) const {
    const Program& p = *program;
    const bool asks_gradients = p.clips || p.scales_loss;
    if ((asks_gradients && !looked) || (p.guards && !guarded) || !(asks_gradients || p.guards)) return {doing, "by what is not known of all ranks"};
    if (asks_gradients && !of_gradients.whole())
      return {doing, "by what is not known of all ranks: of the norm or flag each rank has a term along axis ",
              static_cast<int>(of_gradients.next_axis())};
    if (p.guards && !of_loss.whole())
      return {doing, "by what is not known of all ranks: of the flag of the loss each rank has a term along axis ",
              static_cast<int>(of_loss.next_axis())};
    return {};
  }
};

}  // namespace heddle::plan_room
