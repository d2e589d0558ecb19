// SPDX-License-Identifier: MIT
// Room: plan. Counts over a Program: every gradient is reduced once, one axis after another, then stepped; the loss likewise, then reported.
// Sees: plan/program, plan/check/deadlock, plan/check/line_check.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S06 with the numbers.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/deadlock.hpp"
#include "heddle/plan/check/line_check.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What the lists and bodies do with one gradient bucket, or with the loss. Starts and waits are counted by axis.
/// A bucket of DataParallel<2> has 1 start and 1 wait along axis data, and 1 step.
struct BucketCounts {
  int started[axis_count]{};  ///< while no other reduction of it is in flight
  int waited[axis_count]{};   ///< when in flight, before the step or the report
  int steps = 0;              ///< reports of the loss
  int gathers = 0;            ///< started after the step
  int gathered = 0;           ///< of those, waited for
  int in_flight = -1;         ///< axis of a reduction that is started and not waited for
  int unpaired = 0;           ///< starts while another is in flight, waits for what is not

  constexpr void start(Axis axis, int times) {
    if (in_flight >= 0) ++unpaired;
    in_flight = static_cast<int>(axis);
    started[in_flight] += times;
  }
  constexpr void wait(Axis axis, int times) {
    if (in_flight != static_cast<int>(axis)) ++unpaired;
    in_flight = -1;
    waited[static_cast<int>(axis)] += times;
  }
};

/// Starts in one backward body. One that stands before the backward of the bucket's lowest layer sums too little and does not count;
/// one that is not kept for the last micro-batch counts once for each.
constexpr void count_body(const Program& p, const IndexRange& body, BucketCounts* counts) {
  int done = p.graph->node_count;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    if (entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_weight) done = entry.node;
    if (entry.what != BodyOp::reduce_start && entry.what != BodyOp::reduce_wait) continue;
    if (done > p.buckets[entry.bucket].lowest_node) continue;
    BucketCounts& bucket = counts[entry.bucket];
    const int times = entry.when == When::last_micro_batch ? 1 : p.batch.total_micro_batches();
    if (entry.what == BodyOp::reduce_start)
      bucket.start(entry.axis, times);
    else
      bucket.wait(entry.axis, times);
  }
}

constexpr void count_line(const Program& p, const Instruction& line, BucketCounts* counts, BucketCounts& loss) {
  const bool of_loss = line.op == ListOp::report || p.moves(line, Purpose::loss);
  if (line.bucket < 0 && !of_loss) return;
  BucketCounts& bucket = of_loss ? loss : counts[line.bucket];
  if (line.op == ListOp::reduce_start) bucket.start(line.axis, 1);
  if (line.op == ListOp::reduce_wait) bucket.wait(line.axis, bucket.steps == 0 ? 1 : 0);
  if (line.op == ListOp::step || line.op == ListOp::report) ++bucket.steps;
  if (line.op == ListOp::gather_start) bucket.gathers += bucket.steps == 1 ? 1 : 0;
  if (line.op == ListOp::gather_wait) bucket.gathered += bucket.gathers > bucket.gathered ? 1 : 2;
}

/// One pass over bodies, and over those lines that neither compute nor transfer: a chain, as LineCheck leaves it. `counts` has one zeroed entry a
/// bucket.
constexpr void count_reductions(const Program& p, BucketCounts* counts, BucketCounts& loss, const int* after, int first_closing) {
  for (int c = 0; c < p.chunks && p.training; ++c) {
    count_body(p, p.backward_bodies[c], counts);
    if (p.splits_backward) count_body(p, p.weight_bodies[c], counts);
  }
  for (int i = first_closing; i > 0; i = after[i - 1]) count_line(p, p.instructions[i - 1], counts, loss);
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
  if (loss.unpaired != 0) return wrong("reduced over one axis while it is over another", "", loss.unpaired);
  if (loss.steps != 1) return wrong("reported", "", loss.steps);
  return {};
}

/// S06. Every parameter lies in one bucket; along every axis that splits the batch the bucket is reduced once, after the backward of its
/// lowest layer for the last micro-batch, and stepped once after that. `counts` has one zeroed entry a bucket; the chain is of LineCheck.
[[nodiscard]] constexpr Diagnosis check_reductions(const Program& p, BucketCounts* counts, const int* after, int first_closing) {
  const auto wrong = [&](int bucket, std::string_view what, std::string_view where, int times, int wanted) {
    Diagnosis found{Code{'S', 6}, ""};
    found << "gradient bucket " << bucket << " of device " << static_cast<int>(p.buckets[bucket].role) << " is " << what << where << ' ' << times
          << " times, not ";
    if (wanted == 0) return found << "0. Fix: wait for each reduction before the next one starts.";
    if (wanted == 1) return found << "once. Fix: reduce each gradient once before its step.";
    return found << wanted << ". Fix: reduce each gradient as often as it is made, before its step.";
  };
  BucketCounts loss;
  count_reductions(p, counts, loss, after, first_closing);
  if (const Diagnosis found = check_loss(p, loss); !found.ok() || !p.training) return found;
  std::int64_t covered = 0;
  for (int b = 0; b < p.bucket_count; ++b) {
    covered += p.buckets[b].payload;
    for (int k = 0; k < p.mesh.count; ++k) {
      const int a = static_cast<int>(p.mesh.axes[k]);
      if (!p.batch_split[a] || p.mesh.sizes[k] == 1) continue;
      const int wanted = reductions_wanted(p, p.mesh.axes[k]);
      if (counts[b].started[a] != wanted) return wrong(b, "reduced over axis ", name_of(p.mesh.axes[k]), counts[b].started[a], wanted);
      if (counts[b].waited[a] != wanted)
        return wrong(b, "waited for before the step over axis ", name_of(p.mesh.axes[k]), counts[b].waited[a], wanted);
    }
    if (counts[b].unpaired != 0) return wrong(b, "reduced over one axis while it is over another", "", counts[b].unpaired, 0);
    const int steps = p.buckets[b].steps() ? 1 : 0;  // tied parameters are stepped where they are kept
    if (counts[b].steps != steps) return wrong(b, "stepped", "", counts[b].steps, steps);
    if (!gathers_what_is_stepped(p.storage)) continue;
    for (const int gathered : {counts[b].gathers, counts[b].gathered})
      if (gathered != steps) return wrong(b, "gathered after its step", "", gathered, steps);
  }
  std::int64_t all = 0;  // each use of tied parameters has a gradient
  for (int n = 0; n < p.graph->node_count; ++n) all += p.graph->frozen(n) ? 0 : p.graph->parameter_elements(n);
  if (covered != all)
    return Diagnosis{Code{'S', 6}, ""} << "the buckets hold " << covered << " of " << all
                                       << " trained parameters. Fix: put every one of them into one bucket.";
  return {};
}

/// The lists of a Program as the rendezvous check reads them; every instruction that is no send or receive counts as a compute.
///
/// Reductions are left out, also those that a body waits for, because they cannot add a deadlock. Their groups are ranks of one role, which run
/// one list; what is possible for one of them is possible for all, so all come to a reduction or none does. On free lanes it then completes. On one
/// lane it waits for what its device started before and holds up what is started after. But of two starts of one device the second never completes
/// before the first: a cycle through the reduction leads from the completion of an earlier start to that of a later one, and is a cycle without it.
/// Norms and flags are reduced over stages too, by ranks of several roles, but after the last compute and transfer of each of them (S12, S13).
/// Of 2 stages the sends of role 0 have peer 1, and its reductions count as computes.
/// Tested  oracle/rendezvous_reductions_test
struct ProgramLists {
  const Program* program = nullptr;
  const int* starts = nullptr;  ///< by wait: the instruction that started it
  int roles = 0;

  static constexpr int first_transfer = static_cast<int>(ListOp::send_start);
  static_assert(static_cast<int>(ListOp::receive_wait) - first_transfer == 3 &&
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
  /// Whether two starts are the ends of one transfer of one micro-batch.
  [[nodiscard]] constexpr bool same(int a, int b) const {
    const Instruction& one = program->instructions[a];
    const Instruction& other = program->instructions[b];
    return one.transfer == other.transfer && one.micro_batch == other.micro_batch;
  }
  /// What a transfer carries, in the words of a sentence.
  [[nodiscard]] constexpr std::string_view payload(int index) const {
    const Transfer& transfer = program->transfers[program->instructions[index].transfer];
    return transfer.use >= 0 ? "tied gradients" : transfer.gradient ? "gradients" : "activations";
  }
};

}  // namespace heddle::plan_room
