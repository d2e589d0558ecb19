// SPDX-License-Identifier: MIT
// Room: plan. Tied weights are summed over their owners: every use reduced, every slice exchanged, all added once, then stepped.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S09 with the device and the layer.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What one role does about tied parameters after its last compute.
/// Of a table on role 0 and its head on role 1 each role sends 1 gradient, receives 1, and adds up both in 1 line.
struct TieCheck {
  const Program& p;
  int role = 0;
  int begin = p.lists[role].end;  // behind the last compute

  /// How often a line stands in a list, and where: of lines 4 and 9 times is 2, first 4 and last 9.
  struct Seen {
    int times = 0;
    int first = INT32_MAX;
    int last = -1;
  };
  template <class Match> [[nodiscard]] constexpr Seen seen(Match match) const {
    Seen found;
    for (int i = begin; i < p.lists[role].end; ++i) {
      if (!match(p.instructions[i])) continue;
      if (found.times++ == 0) found.first = i;
      found.last = i;
    }
    return found;
  }
  [[nodiscard]] constexpr Seen seen(ListOp op, int bucket) const {
    return seen([&](const Instruction& line) { return line.op == op && line.bucket == bucket; });
  }
  [[nodiscard]] constexpr Seen transferred(ListOp op, int transfer) const {
    return seen([&](const Instruction& line) { return line.op == op && line.transfer == transfer; });
  }
  [[nodiscard]] constexpr Diagnosis refuse(std::string_view what, int use) const {
    return Diagnosis{Code{'S', 9}, ""} << "device " << role << what << p.graph->describe(p.uses[use].node).view()
                                       << ", which uses the parameters of '" << p.graph->name(p.uses[use].owner).view()
                                       << "'. Fix: reduce the gradient of every use, exchange the slices between their owners, add all of them once, "
                                          "then step.";
  }
  /// The one transfer of a use to a role, -1 if there is none or another number.
  [[nodiscard]] constexpr int transfer_of(int use, int to) const {
    int found = -1;
    int times = 0;
    for (int t = 0; t < p.transfer_count; ++t) {
      const Transfer& transfer = p.transfers[t];
      if (transfer.use != use || transfer.to_role != to) continue;
      const bool whole = transfer.from_role == p.uses[use].role && transfer.elements == slice(use);
      found = whole ? t : -1;
      ++times;
    }
    return times == 1 ? found : -1;
  }
  [[nodiscard]] constexpr std::int64_t slice(int use) const {
    return p.buckets[p.uses[use].bucket].elements / slices_of(p.storage, p.storage.states);
  }
  /// The role keeps the parameters for this use, and others of the role read them there.
  [[nodiscard]] constexpr bool keeps(int use) const { return p.buckets[p.uses[use].bucket].steps(); }

  /// A use of this role is reduced, then sent to every other owner, all before the sum overwrites it.
  [[nodiscard]] constexpr Diagnosis check_own(int use, int sum) const {
    const int bucket = p.uses[use].bucket;
    const Seen reduced =
        seen([&](const Instruction& line) { return (line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait) && line.bucket == bucket; });
    if (reduced.last > sum) return refuse(" adds up before it has reduced the gradient of ", use);
    for (int u = 0; u < p.use_count; ++u) {
      if (p.uses[u].owner != p.uses[use].owner || p.uses[u].role == role || !keeps(u)) continue;
      const int t = transfer_of(use, p.uses[u].role);
      const Seen start = transferred(ListOp::send_start, t);
      const Seen wait = transferred(ListOp::send_wait, t);
      if (start.times != 1 || wait.times != 1) return refuse(" does not send once, to every other owner, the gradient of ", use);
      if (start.first < reduced.last) return refuse(" sends before it has reduced the gradient of ", use);
      if (wait.first > sum) return refuse(" adds up before it has sent the gradient of ", use);
    }
    return {};
  }
  /// A use of another role arrives before the sum.
  [[nodiscard]] constexpr Diagnosis check_other(int use, int sum) const {
    const int t = transfer_of(use, role);
    const Seen wait = transferred(ListOp::receive_wait, t);
    if (transferred(ListOp::receive_start, t).times != 1 || wait.times != 1) return refuse(" does not receive once the gradient of ", use);
    return wait.first > sum ? refuse(" adds up before it has received the gradient of ", use) : Diagnosis{};
  }
  /// All uses of the parameters that this role keeps for `own`.
  [[nodiscard]] constexpr Diagnosis check_sum(int own) const {
    const Seen sum = seen(ListOp::tie, p.uses[own].bucket);
    if (sum.times == 0) return refuse(" does not add up the gradients of all leaves that share with ", own);
    for (int u = 0; u < p.use_count; ++u) {
      if (p.uses[u].owner != p.uses[own].owner) continue;
      if (const Diagnosis found = p.uses[u].role == role ? check_own(u, sum.first) : check_other(u, sum.first); !found.ok()) return found;
    }
    if (seen(ListOp::step, p.uses[own].bucket).first < sum.first)
      return refuse(" steps before it adds up the gradients of all leaves that share with ", own);
    if (seen([](const Instruction& line) { return line.op == ListOp::norm || line.op == ListOp::unscale; }).first < sum.first)
      return refuse(" looks at norms or overflows before it adds up the gradients of all leaves that share with ", own);
    return {};
  }
  [[nodiscard]] constexpr Diagnosis run() {
    while (begin > p.lists[role].begin && !computes(p.instructions[begin - 1].op)) --begin;
    int sums = 0;
    for (int u = 0; u < p.use_count; ++u) {
      if (p.uses[u].role != role || !keeps(u)) continue;
      ++sums;
      if (const Diagnosis found = check_sum(u); !found.ok()) return found;
    }
    const Seen ties = seen([](const Instruction& line) { return line.op == ListOp::tie; });
    return ties.times == sums ? Diagnosis{} : refuse(" adds up more than what it steps, once, beside ", 0);
  }
};

/// S09, for a Program whose leaves share parameters.
///
/// Tested  plan/check/tied_check_test
[[nodiscard]] constexpr Diagnosis check_ties(const Program& p) {
  for (int role = 0; role < p.roles && p.training && p.use_count > 0; ++role)
    if (const Diagnosis found = TieCheck{p, role}.run(); !found.ok()) return found;
  return {};
}

}  // namespace heddle::plan_room
