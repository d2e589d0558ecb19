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
/// In training 2 chunks and 4 micro-batches have 8 forwards and 8 backwards.
struct LineCheck {
  const Program& p;
  ChunkPass* passes;  ///< (chunks x micro-batches), zeroed
  int* starts;        ///< (instructions), zeroed: by wait, the instruction that started it
  int* of_token;      ///< (instructions and, behind a role's first, its tokens), zeroed: 1 + the start of a token
  int* after;         ///< (instructions), zeroed: by start, 1 + the next start of its list; by a closing line, 1 + the next closing line
  int* first_start;   ///< (roles), zeroed: 1 + the first start of a list
  Diagnosis found{};
  int first_closing = 0;  ///< 1 + the first line that neither computes nor transfers
  int micro_batches = p.batch.total_micro_batches();
  int needed[Layout::most_chunks][2]{};  // transfers that a forward and a backward read
  int summed[Layout::most_chunks]{};     // the next micro-batch whose gradients of parameters are due
  int losses = 0;                        // micro-batches that have passed the last chunk

  constexpr void run() {
    for (int t = 0; t < p.transfer_count; ++t)
      if (p.transfers[t].use < 0) ++needed[p.transfers[t].to_chunk][p.transfers[t].gradient ? 1 : 0];
    const Instruction* const lines = p.instructions;
    int* const by_token = of_token;  // what is local is read faster
    int* const next_of = after;
    int* closing = &first_closing;
    for (int r = 0; r < p.roles; ++r) {
      const int begin = p.lists[r].begin;
      const int end = p.lists[r].end;
      int* start = first_start + r;
      for (int i = begin; i < end; ++i) {
        const Instruction line = lines[i];  // a copy: compilers read what is local faster
        const ListOp op = line.op;
        if (computes(op)) {
          if (!compute(r, op, line)) return;
        } else if (op == ListOp::send_start || op == ListOp::receive_start) {
          *start = by_token[begin + line.token] = i + 1;
          start = next_of + i;
          if (op == ListOp::send_start && !send(r, line)) return;
        } else if (op == ListOp::send_wait || op == ListOp::receive_wait) {
          const int started = by_token[begin + line.token];
          if (started <= begin) return void(refuse(never_started(r, i - begin)));
          const Instruction& begun = lines[started - 1];
          if (begun.micro_batch != line.micro_batch || begun.transfer != line.transfer || begun.peer != line.peer)
            return void(refuse(other_start(r, i - begin)));
          starts[i] = started - 1;
          if (op == ListOp::send_wait)
            end_sending(line);
          else
            arrive(line);
        } else {
          if (!all_made(r, line)) return;
          *closing = i + 1;
          closing = next_of + i;
        }
      }
    }
    finish();
  }

 private:
  /// What is sent was made before. Gradients of tied parameters are the matter of another rule.
  constexpr bool send(int role, const Instruction& line) {
    const Transfer& t = p.transfers[line.transfer];
    const int pass = t.gradient ? 1 : 0;
    ChunkPass& at = passes[t.from_chunk * micro_batches + line.micro_batch];
    ++at.sending[pass];
    if (at.times[pass] > 0 || t.use >= 0) return true;
    return refuse(Diagnosis{Code{'S', 4}, ""} << "role " << role << " sends what chunk " << t.from_chunk << " makes of micro-batch "
                                              << line.micro_batch << " before its " << name_of_pass(pass)
                                              << ". Fix: start the send after the compute that makes it.");
  }
  /// A line about a bucket, or about the loss, stands behind the last compute that adds to it.
  constexpr bool all_made(int role, const Instruction& line) {
    const bool loss = line.bucket == loss_bucket;
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
  constexpr void end_sending(const Instruction& line) {
    const Transfer& t = p.transfers[line.transfer];
    --passes[t.from_chunk * micro_batches + line.micro_batch].sending[t.gradient ? 1 : 0];
  }
  constexpr void arrive(const Instruction& line) {
    const Transfer& t = p.transfers[line.transfer];
    ++passes[t.to_chunk * micro_batches + line.micro_batch].arrived[t.gradient ? 1 : 0];
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
    ++at.times[pass];
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

}  // namespace heddle::plan_room
