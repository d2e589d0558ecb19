// SPDX-License-Identifier: MIT
// Room: plan. Clipping: the norm is of reduced gradients, is itself reduced over exactly the axes on which parameters are split, before any step.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S12 with the device and what is wrong; the walk that S13 takes too.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Words for what one role's list does wrong with a fact about the gradients of all ranks; those with "over" end where the axis is named.
struct FactWords {
  std::string_view early;        ///< found over a gradient that is not reduced
  std::string_view unfinished;   ///< found before the last compute or transfer
  std::string_view twice;        ///< found twice
  std::string_view unmade_over;  ///< reduced before it is found
  std::string_view unknown;      ///< a step before it is known
  std::string_view without;      ///< acted on and never found
  std::string_view again;        ///< acted on twice
  std::string_view partial_over;
  std::string_view several_over;
  std::string_view never;
};

/// Where a list breaks the rule; nothing if it does not.
struct FactFault {
  std::string_view what;
  std::string_view axis;
  [[nodiscard]] constexpr bool ok() const { return what.empty(); }
};

/// What one role's list has done so far about a fact that each rank finds in its own gradients (line `find`), that is then summed over every axis
/// along which ranks hold different ones, and is acted on (line `act`) before any step.
/// A plan of Sharded<2> that clips has 1 start and 1 wait along axis shard between `find` and `act`.
struct FactWalk {
  const Program& p;
  const FactWords& words;
  ListOp find;
  ListOp act;
  int place;  // of its first float, among those that ranks tell each other
  bool (*is_term_along)(const Program&, Axis) = norm_is_term_along;
  bool found = false;
  bool known = false;
  int started[axis_count]{};
  int waited[axis_count]{};
  bool decided = false;  // whether to skip, where a flag says so
  int in_flight = -1;    // axis of the reduction that is not waited for yet
  int mixed = -1;        // axis of a line that is out of turn: reductions over several axes are in one place

  constexpr FactFault visit(const Instruction& line) {
    const int a = static_cast<int>(line.axis);
    const bool reduces = line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait;
    if (found && reduces && line.bucket >= 0) return {words.early, name_of(line.axis)};
    if (found && (computes(line.op) || line.transfer >= 0)) return {words.unfinished, ""};
    if (reduces && tells(p, line, place)) {
      if (!found) return {words.unmade_over, name_of(line.axis)};
      const bool starts = line.op == ListOp::reduce_start;
      if (in_flight != (starts ? -1 : a)) mixed = a;
      in_flight = starts ? a : -1;
      ++(starts ? started : waited)[a];
    }
    if (line.op == find) {
      if (found) return {words.twice, ""};
      found = true;
    }
    if (line.op == ListOp::step && !known) return {words.unknown, ""};
    if (line.op == ListOp::skip) decided = true;
    if (line.op == ListOp::clip && (p.scales_loss || p.guards) && !decided) return {" clips before it is known whether to skip", ""};
    return line.op == act ? acted() : FactFault{};
  }
  constexpr FactFault acted() {
    if (!found) return {words.without, ""};
    if (known) return {words.again, ""};
    known = true;
    for (int k = 0; k < p.mesh.count; ++k) {
      const Axis axis = p.mesh.axes[k];
      const int wanted = is_term_along(p, axis) ? 1 : 0;
      const int a = static_cast<int>(axis);
      if (started[a] < wanted || waited[a] < wanted) return {words.partial_over, name_of(axis)};
      if (started[a] > wanted || waited[a] > wanted) return {words.several_over, name_of(axis)};
    }
    if (mixed >= 0) return {words.partial_over, name_of(static_cast<Axis>(mixed))};
    return {};
  }
  constexpr FactFault list(int role) {
    for (int i = p.lists[role].begin; i < p.lists[role].end; ++i)
      if (const FactFault fault = visit(p.instructions[i]); !fault.ok()) return fault;
    return known ? FactFault{} : FactFault{words.never, ""};
  }
};

/// S12, for a Program that clips. Where the loss is scaled, squares are summed as gradients are unscaled.
/// Source  sources.md#clip-grad-norm
/// Tested  plan/check/clipping_test
[[nodiscard]] constexpr Diagnosis check_clipping(const Program& p) {
  constexpr FactWords words{" sums squares before a gradient is reduced over axis ",
                            " sums squares before its last compute or transfer",
                            " sums squares twice",
                            " reduces a norm that is not summed, over axis ",
                            " steps before the norm is known",
                            " clips without a norm",
                            " clips twice",
                            " clips by a norm that is not reduced over axis ",
                            " counts squares several times over axis ",
                            " never clips"};
  if (!p.clips || !p.training) return {};
  for (int r = 0; r < p.roles; ++r)
    if (const FactFault fault = FactWalk{p, words, p.scales_loss ? ListOp::unscale : ListOp::norm, ListOp::clip, place_of_squares()}.list(r);
        !fault.ok())
      return Diagnosis{Code{'S', 12}, ""} << "device " << r << fault.what << fault.axis
                                          << ". Fix: reduce gradients, sum their squares, reduce that over the axes on which parameters are split, "
                                             "then step.";
  return {};
}

}  // namespace heddle::plan_room
