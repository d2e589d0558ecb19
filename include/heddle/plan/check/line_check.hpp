// SPDX-License-Identifier: MIT
// Room: plan. One pass over all lists: what a line reads or sends is there, every wait has its start, every micro-batch passes once each way.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S04, S05, S06 with the numbers; the chain of starts of each role.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What has happened to one micro-batch in one chunk.
/// After its forward and its whole backward `times` is {1, 1, 0}.
struct ChunkPass {
  std::uint8_t times[3]{};    ///< forward; backward or its input part; weight part
  std::uint8_t arrived[2]{};  ///< values and gradients that were waited for
  std::int8_t sending[2]{};   ///< values and gradients whose send is started and not waited for
};

[[nodiscard]] constexpr std::string_view name_of_pass(int pass) {
  constexpr std::string_view names[] = {"forward", "backward", "backward for its parameters"};
  return names[pass];
}

/// S04, S05 and a part of S06 in one pass over all lists. Each chunk lets each micro-batch pass once forward and once backward, in its two parts if
/// it is split, in that order; backwards that make gradients of parameters come in the order of micro-batches, in which these are summed. What a
/// compute reads of other chunks has been waited for, what is sent has been made, every wait has its start before it, of the same transfer, and
/// every send is waited for in the end. A gradient or the loss is reduced, stepped or reported when all micro-batches are in it.
/// What it notes is in tables of another owner, each a pointer or a reference to the array that it is: compilers read an array several times faster.
/// In training 2 chunks and 4 micro-batches have 8 forwards and 8 backwards.
template <class Passes, class Tokens, class Chain, class Firsts> struct LineCheck {
  const Program& p;
  Passes passes;       ///< (chunks x micro-batches), zeroed
  int* starts;         ///< (instructions), zeroed: by wait, the instruction that started it; null: nobody asks
  Tokens of_token;     ///< (instructions and, behind a role's first, its tokens), zeroed: 1 + the start of a token
  Chain after;         ///< (instructions), zeroed: by start, 1 + the next start of its list; by a closing line, 1 + the next closing line
  Firsts first_start;  ///< (roles), zeroed: 1 + the first start of a list
  Diagnosis found{};
  int first_closing = 0;     ///< 1 + the first line that neither computes nor transfers
  bool conditional = false;  ///< a line that computes or transfers runs on a condition, or is of a bucket
  int micro_batches = p.batch.total_micro_batches();
  int needed[Layout::most_chunks][2]{};  // transfers that a forward and a backward read
  int summed[Layout::most_chunks]{};     // the next micro-batch whose gradients of parameters are due
  int losses = 0;                        // micro-batches that have passed the last chunk
  int computed[3]{};                     // passes of all chunks and micro-batches
  int open_sends = 0;                    // started and not waited for
  bool twice = false;                    // a pass or a send came twice

  constexpr void run() { run(p.instructions); }
  /// `lines`: the instructions of the Program, as a pointer or as the array that they are.
  template <class Lines> constexpr void run(const Lines& lines) {
    const Transfer* const transfers = p.transfers;
    for (int t = 0; t < p.transfer_count; ++t)
      if (transfers[t].use < 0) ++needed[transfers[t].to_chunk][transfers[t].gradient ? 1 : 0];
    auto& by_token = of_token;  // what is local is read faster
    auto& next_of = after;
    auto& pass_of = passes;
    int closing = -1;  // the last line so far that neither computes nor transfers
    for (int r = 0; r < p.roles; ++r) {
      const int begin = p.lists[r].begin;
      const int end = p.lists[r].end;
      int start = -1;  // the last start of the list so far
      for (int i = begin; i < end; ++i) {
        const Instruction line = lines[i];  // a copy: compilers read what is local faster
        const ListOp op = line.op;
        if (computes(op)) {
          if (line.when != When::always || line.bucket != -1) conditional = true;
          if (!compute(r, op, line)) return;
          continue;
        }
        if (op > ListOp::receive_wait) {
          if (!all_made(r, line)) return;
          (closing < 0 ? first_closing : next_of[closing]) = i + 1;
          closing = i;
          continue;
        }
        if (line.when != When::always || line.bucket != -1) conditional = true;
        int& token = by_token[begin + line.token];
        if (op == ListOp::send_start || op == ListOp::receive_start) {
          token = i + 1;
          (start < 0 ? first_start[r] : next_of[start]) = i + 1;
          start = i;
          if (op == ListOp::receive_start) continue;
        } else {
          const int started = token;
          if (started <= begin) return void(refuse(never_started(r, i - begin)));
          const Instruction begun = lines[started - 1];
          if (begun.micro_batch != line.micro_batch || begun.transfer != line.transfer || begun.peer != line.peer)
            return void(refuse(other_start(r, i - begin)));
          if (starts != nullptr) starts[i] = started - 1;
        }
        const Transfer& t = transfers[line.transfer];
        const int pass = t.gradient ? 1 : 0;
        ChunkPass& at = pass_of[(op == ListOp::receive_wait ? t.to_chunk : t.from_chunk) * micro_batches + line.micro_batch];
        if (op == ListOp::receive_wait) {
          ++at.arrived[pass];
        } else if (op == ListOp::send_wait) {
          if (--at.sending[pass] != 0) twice = true;
          --open_sends;
        } else {
          if (++at.sending[pass] != 1) twice = true;
          ++open_sends;
          if (at.times[pass] == 0 && t.use < 0) return void(refuse(too_soon(r, line)));
        }
      }
    }
    finish();
  }

 private:
  /// What is sent was made before. Gradients of tied parameters are the matter of another rule.
  [[nodiscard]] constexpr Diagnosis too_soon(int role, const Instruction& line) const {
    const Transfer& t = p.transfers[line.transfer];
    return Diagnosis{Code{'S', 4}, ""} << "role " << role << " sends what chunk " << t.from_chunk << " makes of micro-batch " << line.micro_batch
                                       << " before its " << name_of_pass(t.gradient ? 1 : 0)
                                       << ". Fix: start the send after the compute that makes it.";
  }
  /// A line about a bucket, or about the loss, stands behind the last compute that adds to it.
  constexpr bool all_made(int role, const Instruction& line) {
    const bool loss = line.op == ListOp::report || p.moves(line, Purpose::loss);
    if (line.bucket < 0 && !loss) return true;
    for (int c = loss ? p.chunks - 1 : 0; c < p.chunks; ++c) {
      if (!loss && (p.device_of_chunk[c] != role || p.buckets[line.bucket].lowest_node >= p.first_node[c + 1] ||
                    p.buckets[line.bucket].highest_node < p.first_node[c]))
        continue;
      if ((loss ? losses : summed[c]) == micro_batches) continue;
      return refuse(Diagnosis{Code{'S', 6}, ""} << "role " << role << (loss ? " reduces or reports the loss" : " reduces or steps a gradient")
                                                << " after " << (loss ? losses : summed[c]) << " of the " << micro_batches
                                                << " micro-batches of chunk " << c << ". Fix: let all of them pass before.");
    }
    return true;
  }
  constexpr bool refuse(const Diagnosis& diagnosis) {
    found = diagnosis;
    return false;
  }
  constexpr bool compute(int role, ListOp op, const Instruction& line) {
    const int pass = op == ListOp::forward ? 0 : op == ListOp::backward_weight ? 2 : 1;
    const int chunk = line.chunk;
    ChunkPass& at = passes[chunk * micro_batches + line.micro_batch];
    if (pass > 0 && (op == ListOp::backward) == p.splits_backward) return refuse(other_kind(line));
    if (p.device_of_chunk[chunk] != role)
      return refuse(Diagnosis{Code{'S', 5}, ""} << "device " << role << " runs chunk " << chunk << ", which lives on device "
                                                << p.device_of_chunk[chunk] << ". Fix: run a chunk where its parameters are.");
    if (pass > 0) {
      if (at.times[pass - 1] == 0) return refuse(too_early(line, pass));
      if (pass == (p.splits_backward ? 2 : 1) && at.times[pass] == 0 && line.micro_batch != summed[chunk]++)
        return refuse(out_of_sequence(line, pass));
    }
    if (pass < 2 && at.arrived[pass] != needed[chunk][pass])
      return refuse(Diagnosis{Code{'S', 4}, ""} << "chunk " << chunk << " runs micro-batch " << line.micro_batch << ' ' << name_of_pass(pass)
                                                << " after " << static_cast<int>(at.arrived[pass]) << " of the " << needed[chunk][pass]
                                                << " transfers that it reads. Fix: wait for each receive before the compute that reads it.");
    if (++at.times[pass] != 1) twice = true;
    ++computed[pass];
    if (pass == 0 && chunk == p.chunks - 1 && ++losses < micro_batches && line.micro_batch == micro_batches - 1)
      return refuse(Diagnosis{Code{'S', 6}, ""} << "the last micro-batch adds up the loss after " << losses << " of " << micro_batches
                                                << " micro-batches. Fix: let it pass the last chunk after all others.");
    return true;
  }
  [[nodiscard]] static constexpr Diagnosis never_started(int role, int instruction) {
    return Diagnosis{Code{'S', 4}, ""} << "role " << role << " waits at instruction " << instruction
                                       << " for a transfer that it never starts. Fix: start it before.";
  }
  [[nodiscard]] static constexpr Diagnosis other_start(int role, int instruction) {
    return Diagnosis{Code{'S', 4}, ""} << "role " << role << " waits at instruction " << instruction
                                       << " for another transfer, micro-batch or role than its start names. Fix: let both name the same.";
  }
  constexpr void finish() {
    const int wanted[] = {1, p.training ? 1 : 0, p.training && p.splits_backward ? 1 : 0};
    bool each_once = !twice && open_sends == 0;  // and then nothing is to be looked for
    for (int pass = 0; pass < 3; ++pass) each_once = each_once && computed[pass] == wanted[pass] * p.chunks * micro_batches;
    if (each_once) return;
    for (int c = 0; c < p.chunks; ++c)
      for (int m = 0; m < micro_batches; ++m) {
        const ChunkPass& at = passes[c * micro_batches + m];
        for (int pass = 0; pass < 3; ++pass)
          if (at.times[pass] != wanted[pass])
            return void(refuse(Diagnosis{Code{'S', 5}, ""} << "micro-batch " << m << " passes chunk " << c << ' ' << static_cast<int>(at.times[pass])
                                                           << " times " << name_of_pass(pass) << ", not " << wanted[pass]
                                                           << ". Fix: schedule each once."));
        if (at.sending[0] != 0 || at.sending[1] != 0)
          return void(refuse(Diagnosis{Code{'S', 4}, ""} << "chunk " << c << " sends of micro-batch " << m
                                                         << (at.sending[0] != 0 ? " a value" : " a gradient")
                                                         << " whose start and wait are not one each. Fix: wait once for each send."));
      }
  }
  [[nodiscard]] constexpr Diagnosis other_kind(const Instruction& line) const {
    return Diagnosis{Code{'S', 5}, ""} << "chunk " << line.chunk << " runs " << (p.splits_backward ? "a whole backward" : "a part of a backward")
                                       << " of micro-batch " << line.micro_batch << ", but backwards of this program are "
                                       << (p.splits_backward ? "in two parts" : "whole") << ". Fix: schedule them so.";
  }
  [[nodiscard]] static constexpr Diagnosis too_early(const Instruction& line, int pass) {
    return Diagnosis{Code{'S', 5}, ""} << "chunk " << line.chunk << " runs the " << name_of_pass(pass) << " of micro-batch " << line.micro_batch
                                       << " before its " << name_of_pass(pass - 1) << ". Fix: order the " << name_of_pass(pass - 1) << " first.";
  }
  [[nodiscard]] constexpr Diagnosis out_of_sequence(const Instruction& line, int pass) const {
    return Diagnosis{Code{'S', 5}, ""} << "chunk " << line.chunk << " runs the " << name_of_pass(pass) << " of micro-batch " << line.micro_batch
                                       << " out of sequence, but gradients are summed in the order of micro-batches. Fix: order micro-batch "
                                       << summed[line.chunk] - 1 << " first.";
  }
};
LineCheck(const Program&, ChunkPass*, int*, int*, int*, int*)->LineCheck<ChunkPass*, int*, int*, int*>;

}  // namespace heddle::plan_room
