// SPDX-License-Identifier: MIT
// Room: plan. The lines of a device that gradients of parameters pass: what the last micro-batch computes, and what neither computes nor transfers.
// Sees: plan/program.  Does not see: lowering, policies, processes, threads.
// In: a Program, the chain of closing lines that LineCheck leaves.  Out: these lines, in their order.
#pragma once

#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Of a list of 1,200 lines it meets the few at the end without a look at the others. The devices are opened one after another.
/// Tested  plan/check/last_lines_test
struct LastLines {
  const Program& p;
  const int* after;     ///< of LineCheck: by closing line, 1 + the next one
  int chain = 0;        ///< 1 + the first of them
  int early_loss = -1;  ///< the last forward of the last chunk, if it is of another micro-batch than the last, in which the loss is added up
  int role = 0;
  int closing = 0;
  int computes_left = 0;
  int last_computes[2 * Layout::most_chunks + 1]{};  // the last first

  constexpr void open(int of_role) {
    role = of_role;
    find_computes();
    closing = next_closing(p.lists[role].begin - 1);
  }
  /// -1 after the last.
  constexpr int next() {
    const int end = p.lists[role].end;
    if (computes_left > 0 && last_computes[computes_left - 1] < closing) return last_computes[--computes_left];
    if (closing >= end) return -1;
    const int line = closing;
    closing = next_closing(line);
    return line;
  }

 private:
  /// Of plans with tied parameters also their transfers, which are in no chain.
  constexpr int next_closing(int line) {
    const int end = p.lists[role].end;
    if (p.use_count == 0) {
      if (line >= p.lists[role].begin) chain = after[line];
      return chain == 0 || chain > end ? end : chain - 1;
    }
    do ++line;
    while (line < end && (computes(p.instructions[line].op) || (p.instructions[line].bucket == -1 && p.instructions[line].transfer >= 0)));
    return line;
  }
  /// From behind: the backwards of the last micro-batch, and the last forward of the last chunk.
  constexpr void find_computes() {
    int wanted = role == p.loss_role() ? 1 : 0;
    for (int c = 0; c < p.chunks && p.training; ++c)
      if (p.device_of_chunk[c] == role) wanted += p.splits_backward ? 2 : 1;
    const int last = p.batch.total_micro_batches() - 1;
    bool loss_found = false;
    computes_left = 0;
    for (int i = p.lists[role].end - 1; i >= p.lists[role].begin && computes_left < wanted; --i) {
      const Instruction& line = p.instructions[i];
      if (!computes(line.op)) continue;
      const bool makes_loss = line.op == ListOp::forward && line.chunk + 1 == p.chunks && !loss_found;
      if (makes_loss) {
        loss_found = true;
        if (line.micro_batch != last) early_loss = i;
      }
      if (makes_loss || (line.op != ListOp::forward && line.micro_batch == last)) last_computes[computes_left++] = i;
    }
  }
};

}  // namespace heddle::plan_room
