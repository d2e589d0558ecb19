// SPDX-License-Identifier: MIT
// Room: plan. Counts over a Program: every micro-batch passes every chunk once each way, every gradient is reduced once, then stepped.
// Sees: plan/program, plan/deadlock.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S04, S05, S06 with the numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/deadlock.hpp"
#include "heddle/plan/program.hpp"

namespace heddle::inline plan_room {

/// What has happened to one micro-batch in one chunk.
struct ChunkPass {
  std::uint8_t times[3]{};    ///< forward; backward or its input part; weight part
  std::uint8_t arrived[2]{};  ///< values and gradients that were waited for
  std::int8_t sending[2]{};   ///< values and gradients whose send is started and not waited for
};

[[nodiscard]] constexpr std::string_view name_of_pass(int pass) {
  constexpr std::string_view names[] = {"forward", "backward", "backward for its parameters"};
  return names[pass];
}

/// S04 and S05 in one pass over all lists. Each chunk lets each micro-batch pass once forward and once backward, in its two parts if it is
/// split, in that order; backwards that make gradients of parameters come in the order of micro-batches, in which these are summed. What a
/// compute reads of other chunks has been waited for, every wait has its start before it, and every send is waited for in the end.
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

  constexpr void run() {
    for (int t = 0; t < p.transfer_count; ++t)
      if (p.transfers[t].use < 0) ++needed[p.transfers[t].to_chunk][p.transfers[t].gradient ? 1 : 0];
    const Instruction* const lines = p.instructions;
    int* closing = &first_closing;
    for (int r = 0; r < p.roles; ++r) {
      const int begin = p.lists[r].begin;
      const int end = p.lists[r].end;
      int* start = first_start + r;
      for (int i = begin; i < end; ++i) {
        const Instruction line = lines[i];  // a copy: compilers read what is local faster
        const Op op = line.op;
        if (computes(op)) {
          if (!compute(r, op, line)) return;
        } else if (op == Op::send_start || op == Op::receive_start) {
          *start = of_token[begin + line.token] = i + 1;
          start = after + i;
          if (op == Op::send_start) add_sending(line, 1);
        } else if (op == Op::send_wait || op == Op::receive_wait) {
          const int started = of_token[begin + line.token];
          if (started <= begin) return void(refuse(never_started(r, i - begin)));
          starts[i] = started - 1;
          if (op == Op::send_wait)
            add_sending(line, -1);
          else
            arrive(line);
        } else {
          *closing = i + 1;
          closing = after + i;
        }
      }
    }
    finish();
  }

 private:
  constexpr bool refuse(const Diagnosis& diagnosis) {
    found = diagnosis;
    return false;
  }
  constexpr void add_sending(const Instruction& line, int change) {
    const Transfer& t = p.transfers[line.transfer];
    std::int8_t& sending = passes[t.from_chunk * micro_batches + line.micro_batch].sending[t.gradient ? 1 : 0];
    sending = static_cast<std::int8_t>(sending + change);
  }
  constexpr void arrive(const Instruction& line) {
    const Transfer& t = p.transfers[line.transfer];
    ++passes[t.to_chunk * micro_batches + line.micro_batch].arrived[t.gradient ? 1 : 0];
  }
  constexpr bool compute(int role, Op op, const Instruction& line) {
    const int pass = op == Op::forward ? 0 : op == Op::backward_weight ? 2 : 1;
    const int chunk = line.chunk;
    ChunkPass& at = passes[chunk * micro_batches + line.micro_batch];
    if (pass > 0 && (op == Op::backward) == p.splits_backward) return refuse(other_kind(line));
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
    return true;
  }
  [[nodiscard]] static constexpr Diagnosis never_started(int role, int instruction) {
    return Diagnosis{Code{'S', 4}, ""} << "role " << role << " waits at instruction " << instruction
                                       << " for a transfer that it never starts. Fix: start it before.";
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

/// What the lists and bodies do with one gradient bucket, or with the loss. Starts and waits are counted by axis.
struct BucketCounts {
  int started[axis_count]{};
  int waited[axis_count]{};  ///< before the step, or the report
  int steps = 0;             ///< reports of the loss
  int gathered = 0;          ///< after the step, started and waited for
  bool gathering = false;
};

/// Starts in one backward body. One that stands before the backward of the bucket's lowest layer sums too little and does not count;
/// one that is not kept for the last micro-batch counts once for each.
constexpr void count_body(const Program& p, const IndexRange& body, BucketCounts* counts) {
  int done = p.graph->node_count;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    if (entry.what == Do::leaf_backward || entry.what == Do::leaf_backward_weight) done = entry.node;
    if (entry.what != Do::reduce_start && entry.what != Do::reduce_wait) continue;
    if (done > p.buckets[entry.bucket].lowest_node) continue;
    BucketCounts& bucket = counts[entry.bucket];
    int* const count = entry.what == Do::reduce_start ? bucket.started : bucket.waited;
    count[static_cast<int>(entry.axis)] += entry.when == When::last_micro_batch ? 1 : p.batch.total_micro_batches();
  }
}

constexpr void count_line(const Instruction& line, BucketCounts* counts, BucketCounts& loss) {
  if (line.bucket < 0 && line.bucket != loss_bucket) return;
  BucketCounts& bucket = line.bucket == loss_bucket ? loss : counts[line.bucket];
  if (line.op == Op::reduce_start) ++bucket.started[static_cast<int>(line.axis)];
  if (line.op == Op::reduce_wait) bucket.waited[static_cast<int>(line.axis)] += bucket.steps == 0 ? 1 : 0;
  if (line.op == Op::step || line.op == Op::report) ++bucket.steps;
  if (line.op == Op::gather_start) bucket.gathering = bucket.steps == 1;
  if (line.op == Op::gather_wait && bucket.gathering) ++bucket.gathered;
}

/// One pass over lists and bodies. `counts` has one zeroed entry a bucket. Of the lists, all lines, or those of a chain as LineCheck leaves it,
/// the lines that neither compute nor transfer; first_closing below 0 is no chain.
constexpr void count_reductions(const Program& p, BucketCounts* counts, BucketCounts& loss, const int* after, int first_closing) {
  for (int c = 0; c < p.chunks && p.training; ++c) {
    count_body(p, p.backward_bodies[c], counts);
    if (p.splits_backward) count_body(p, p.weight_bodies[c], counts);
  }
  if (first_closing >= 0) {
    for (int i = first_closing; i > 0; i = after[i - 1]) count_line(p.instructions[i - 1], counts, loss);
    return;
  }
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) count_line(p.instructions[i], counts, loss);
}

/// How often a bucket is reduced over an axis in one step: once, or in every backward where the gradient passes through a ring.
[[nodiscard]] constexpr int reductions_wanted(const Program& p, Axis a) {
  return p.storage.gradients && a == p.storage.axis ? p.batch.total_micro_batches() : 1;
}

/// S06. The loss is reduced once over every axis that splits the batch and reported once after that.
[[nodiscard]] constexpr Diagnosis check_loss(const Program& p, const BucketCounts& loss) {
  const auto wrong = [](std::string_view what, std::string_view where, int times) {
    return Diagnosis{Code{'S', 6}, ""} << "the loss is " << what << where << ' ' << times
                                       << " times, not once. Fix: reduce the loss once before its report.";
  };
  for (int k = 0; k < p.mesh.count; ++k) {
    const int a = static_cast<int>(p.mesh.axes[k]);
    if (!p.batch_split[a] || p.mesh.sizes[k] == 1) continue;
    if (loss.started[a] != 1) return wrong("reduced over axis ", name_of(p.mesh.axes[k]), loss.started[a]);
    if (loss.waited[a] != 1) return wrong("waited for before the report over axis ", name_of(p.mesh.axes[k]), loss.waited[a]);
  }
  if (loss.steps != 1) return wrong("reported", "", loss.steps);
  return {};
}

/// S06. Every parameter lies in one bucket; along every axis that splits the batch the bucket is reduced once, after the backward of its
/// lowest layer for the last micro-batch, and stepped once after that. `counts` has one zeroed entry a bucket.
[[nodiscard]] constexpr Diagnosis check_reductions(const Program& p, BucketCounts* counts, const int* after = nullptr, int first_closing = -1) {
  const auto wrong = [&](int bucket, std::string_view what, std::string_view where, int times, int wanted) {
    Diagnosis found{Code{'S', 6}, ""};
    found << "gradient bucket " << bucket << " of device " << static_cast<int>(p.buckets[bucket].role) << " is " << what << where << ' ' << times
          << " times, not ";
    if (wanted == 1) return found << "once. Fix: reduce each gradient once before its step.";
    return found << wanted << ". Fix: reduce each gradient as often as it is made, before its step.";
  };
  BucketCounts loss;
  count_reductions(p, counts, loss, after, first_closing);
  if (const Diagnosis found = check_loss(p, loss); !found.ok() || !p.training) return found;
  std::int64_t covered = 0;
  for (int b = 0; b < p.bucket_count; ++b) {
    for (int k = 0; k < p.mesh.count; ++k) {
      const int a = static_cast<int>(p.mesh.axes[k]);
      if (!p.batch_split[a] || p.mesh.sizes[k] == 1) continue;
      const int wanted = reductions_wanted(p, p.mesh.axes[k]);
      if (counts[b].started[a] != wanted) return wrong(b, "reduced over axis ", name_of(p.mesh.axes[k]), counts[b].started[a], wanted);
      if (counts[b].waited[a] != wanted)
        return wrong(b, "waited for before the step over axis ", name_of(p.mesh.axes[k]), counts[b].waited[a], wanted);
    }
    const int steps = p.buckets[b].steps() ? 1 : 0;  // tied parameters are stepped where they are kept
    if (counts[b].steps != steps) return wrong(b, "stepped", "", counts[b].steps, steps);
    if (p.storage.gathers_after_step() && counts[b].gathered != steps) return wrong(b, "gathered after its step", "", counts[b].gathered, steps);
    covered += p.buckets[b].payload;
  }
  std::int64_t all = 0;  // each use of tied parameters has a gradient
  for (int n = 0; n < p.graph->node_count; ++n) all += p.graph->parameter_elements(n);
  if (covered != all)
    return Diagnosis{Code{'S', 6}, ""} << "the buckets hold " << covered << " of " << all << " parameters. Fix: put every parameter into one bucket.";
  return {};
}

/// The lists of a Program as the rendezvous check reads them; every instruction that is no send or receive counts as a compute.
///
/// Reductions are left out, also those that a body waits for, because they cannot add a deadlock. Their groups are ranks of one role, which run
/// one list; what is possible for one of them is possible for all, so all come to a reduction or none does. On free lanes it then completes. On one
/// lane it waits for what its device started before and holds up what is started after. But of two starts of one device the second never completes
/// before the first: a cycle through the reduction leads from the completion of an earlier start to that of a later one, and is a cycle without it.
/// Norms and flags are reduced over stages too, by ranks of several roles, but after the last compute and transfer of each of them (S12, S13).
/// Tested  oracle/rendezvous_reductions_test
struct ProgramLists {
  const Program* program = nullptr;
  const int* starts = nullptr;  ///< by wait: the instruction that started it
  int roles = 0;

  static constexpr int first_transfer = static_cast<int>(Op::send_start);
  static_assert(static_cast<int>(Op::receive_wait) - first_transfer == 3 &&
                static_cast<int>(EventKind::receive_wait) - static_cast<int>(EventKind::send_start) == 3);

  [[nodiscard]] constexpr int begin(int role) const { return program->lists[role].begin; }
  [[nodiscard]] constexpr int end(int role) const { return program->lists[role].end; }
  [[nodiscard]] constexpr EventKind kind(int index) const {
    const int op = static_cast<int>(program->instructions[index].op) - first_transfer;  // both name them in one order
    return op < 0 || op > 3 ? EventKind::compute : static_cast<EventKind>(static_cast<int>(EventKind::send_start) + op);
  }
  [[nodiscard]] constexpr int peer(int index) const { return program->instructions[index].peer; }
  [[nodiscard]] constexpr int start(int index) const { return starts[index]; }
  [[nodiscard]] constexpr std::int64_t elements(int index) const { return program->transfers[program->instructions[index].transfer].elements; }
  /// What a transfer carries, in the words of a sentence.
  [[nodiscard]] constexpr std::string_view payload(int index) const {
    const Transfer& transfer = program->transfers[program->instructions[index].transfer];
    return transfer.use >= 0 ? "tied gradients" : transfer.gradient ? "gradients" : "activations";
  }
};

}  // namespace heddle::inline plan_room
