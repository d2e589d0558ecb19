// SPDX-License-Identifier: MIT
// Room: plan. What the ranks of a Program compute, read off its entries: operations of an entry, of a stage, and the share of a step that stages are
// idle if nothing but work takes time.
// Sees: plan/program, policy/cut.  Does not see: machines, processes, threads.
// In: a Program.  Out: flops_of, stage_flops, idle_percent, waiting_percent, slowest_of_balanced_cut, bubble_percent.
#pragma once

#include <cstdint>

#include "heddle/plan/program/program.hpp"
#include "heddle/policy/cut.hpp"

namespace heddle::plan_room {

/// Operations of an entry for one sample: forwards, also where they run again; of a backward what it writes. Sums of gradients count nothing.
///
/// Tested  plan/read/work_test
[[nodiscard]] constexpr std::int64_t flops_of(const Program& p, const Entry& entry) {
  if (entry.node < 0 || entry.node >= p.graph->node_count) return 0;  // a sum of gradients; the loss
  const Leaf& leaf = p.graph->leaf(entry.node);
  const std::int64_t both = entry.d.set() ? leaf.input_flops() : 0;
  const std::int64_t input = leaf.operands == 1 ? both : (both + 1 - entry.operand) / 2;  // one entry for each operand
  switch (entry.what) {
    case BodyOp::leaf_forward: return entry.d.set() ? leaf.forward_flops : 0;  // of phases the last counts all
    case BodyOp::add: return leaf.forward_flops;
    case BodyOp::leaf_backward: return input + leaf.weight_flops;
    case BodyOp::leaf_backward_input: return input;
    case BodyOp::leaf_backward_weight: return leaf.weight_flops;
    case BodyOp::load_input:
    case BodyOp::load_targets:
    case BodyOp::copy:
    case BodyOp::loss:
    case BodyOp::store_output:
    case BodyOp::reduce_start:
    case BodyOp::reduce_wait:
    case BodyOp::gather_start:
    case BodyOp::gather_wait:
    case BodyOp::reduce_value:
    case BodyOp::gather_value:
    case BodyOp::scatter_value:
    case BodyOp::slice_value:
    case BodyOp::reduce_parameter:
    case BodyOp::loss_terms:
    case BodyOp::zero_gaps:
    case BodyOp::add_slice:
    case BodyOp::sum_grains:
    case BodyOp::reduce_phase: return 0;
  }
  return 0;
}

[[nodiscard]] constexpr std::int64_t flops_of(const Program& p, const IndexRange& body) {
  std::int64_t sum = 0;
  for (int e = body.begin; e < body.end; ++e) sum += flops_of(p, p.entries[e]);
  return sum;
}

/// Operations of one sample on a rank of a stage: forward, and in training all of the backward with what runs again.
[[nodiscard]] constexpr std::int64_t stage_flops(const Program& p, int role) {
  std::int64_t sum = 0;
  for (int c = 0; c < p.chunks; ++c) {
    if (p.device_of_chunk[c] != role) continue;
    sum += flops_of(p, p.forward_bodies[c]);
    if (p.training) sum += flops_of(p, p.backward_bodies[c]);
    if (p.training && p.splits_backward) sum += flops_of(p, p.weight_bodies[c]);
  }
  return sum;
}

/// What `roles` that could each compute `most` operations leave undone if all together compute `busy`, in percent, cut to a whole number.
///
/// Two roles of at most 156,900 that compute 160,020: 49.
[[nodiscard]] constexpr int idle_percent(std::int64_t busy, std::int64_t most, int roles) {
  for (; most > std::int64_t{1} << 40; busy /= 2) most /= 2;  // hundred times the sum of all roles stays a number
  const std::int64_t all = roles * most;
  return all == 0 ? 0 : static_cast<int>(100 * (all - busy) / all);
}

/// What the stages on average have less to do than the slowest, in percent of its operations. No order makes stages less idle.
///
/// Tested  plan/read/work_test
[[nodiscard]] constexpr int waiting_percent(const Program& p) {
  std::int64_t sum = 0;
  std::int64_t most = 0;
  for (int r = 0; r < p.roles; ++r) {
    const std::int64_t own = stage_flops(p, r);
    sum += own;
    most = own > most ? own : most;
  }
  return idle_percent(sum, most, p.roles);
}

/// Operations of the slowest stage if the model of a plan were cut so, without what runs again.
[[nodiscard]] constexpr std::int64_t slowest_of_cut(const Program& p, const int* first_node, const int* device_of_chunk, int chunks) {
  const int untrained = p.training ? p.graph->last_untrained() : p.graph->node_count;
  std::int64_t most = 0;
  for (int r = 0; r < p.roles; ++r) {
    std::int64_t sum = 0;
    for (int c = 0; c < chunks; ++c)
      for (int n = first_node[c]; n < first_node[c + 1] && device_of_chunk[c] == r; ++n) sum += p.graph->work(n, untrained, first_node[c]).total();
    most = sum > most ? sum : most;
  }
  return most;
}

/// The same of the cut that Balanced would make for as many stages, or chunks of these in turn; -1 if the model cannot be cut so.
[[nodiscard]] constexpr std::int64_t slowest_of_balanced_cut(const Program& p, bool in_turns) {
  constexpr int most_nodes = 4096;
  Layout layout{*p.graph};
  layout.trains = p.training;
  const int chunks = in_turns ? p.chunks : p.roles;
  cut_balanced<most_nodes>(*p.graph, layout, chunks);
  if (!layout.fault.ok()) return -1;
  for (int c = 0; c < chunks; ++c) layout.device_of_chunk[c] = c % p.roles;
  return slowest_of_cut(p, layout.first_node, layout.device_of_chunk, chunks);
}

/// Room for a number that is known when a walk begins.
struct Numbers {
  std::int64_t* data;
  constexpr explicit Numbers(std::int64_t count) : data(new std::int64_t[static_cast<std::size_t>(count)]{}) {}
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  constexpr ~Numbers() { delete[] data; }
  constexpr std::int64_t& operator[](std::int64_t i) const { return data[i]; }
};

/// When all stages are done under OneFOneB if messages take no time. Of 2 stages that take 3 + 6 and 1 + 2 operations for 4 micro-batches it is 36:
/// the second never keeps the first waiting.
///
/// Tested  plan/read/work_test
[[nodiscard]] constexpr std::int64_t one_f_one_b_step(const Numbers& forward, const Numbers& backward, int stages, std::int64_t micro_batches) {
  const Numbers forwards(stages), backwards(stages), clock(stages);                 // how many are done, and when the last was
  const Numbers arrived(stages * micro_batches), returned(stages * micro_batches);  // 1 + when the input, the gradient is there
  std::int64_t end = 0;
  for (std::int64_t i = 0; i < micro_batches; ++i) arrived[i] = 1;
  for (bool moved = true; moved;) {
    moved = false;
    for (int s = 0; s < stages; ++s)
      while (backwards[s] < micro_batches) {
        const std::int64_t ahead = stages - s;  // forwards before their first backward
        const bool goes_on = forwards[s] < micro_batches && forwards[s] - backwards[s] < ahead;
        const std::int64_t number = goes_on ? forwards[s] : backwards[s];
        const std::int64_t ready = goes_on ? arrived[s * micro_batches + number] : s + 1 == stages ? 1 : returned[s * micro_batches + number];
        if (ready == 0) break;
        clock[s] = (clock[s] > ready - 1 ? clock[s] : ready - 1) + (goes_on ? forward[s] : backward[s]);
        ++(goes_on ? forwards : backwards)[s];
        if (goes_on && s + 1 < stages) arrived[(s + 1) * micro_batches + number] = 1 + clock[s];
        if (!goes_on && s > 0) returned[(s - 1) * micro_batches + number] = 1 + clock[s];
        moved = true;
      }
  }
  for (int s = 0; s < stages; ++s) end = clock[s] > end ? clock[s] : end;
  return end;
}

/// What `roles` stages that Balanced cuts would be idle of a step under OneFOneB, in percent; -1 if the model cannot be cut so.
///
/// Tested  plan/advice_test
[[nodiscard]] constexpr int idle_of_balanced_stages(const Program& p) {
  constexpr int most_nodes = 4096;
  Layout layout{*p.graph};
  layout.trains = p.training;
  cut_balanced<most_nodes>(*p.graph, layout, p.roles);
  if (!layout.fault.ok()) return -1;
  const int untrained = p.training ? p.graph->last_untrained() : p.graph->node_count;
  const Numbers forward(p.roles), backward(p.roles);
  std::int64_t busy = 0;
  for (int r = 0; r < p.roles; ++r) {
    for (int n = layout.first_node[r]; n < layout.first_node[r + 1]; ++n) {
      const LeafFlops work = p.graph->work(n, untrained, layout.first_node[r]);
      forward[r] += work.forward;
      backward[r] += work.total() - work.forward;
    }
    busy += forward[r] + backward[r];
  }
  const std::int64_t m = p.batch.total_micro_batches();
  return idle_percent(m * busy, one_f_one_b_step(forward, backward, p.roles, m), p.roles);
}

/// Walks all lists at once: a role computes one line after another, and a wait ends when both sides have started the transfer. So a role also waits
/// for a receiver that is busy, as the executor does: a device that has started three sends waits for the first of them.
class WorkWalk {
 public:
  constexpr explicit WorkWalk(const Program& p)
      : p_(p), at_(p.roles), clock_(p.roles), flops_(3 * p.chunks), started_(2 * p.transfer_count * micro_batches_) {
    for (int r = 0; r < p.roles; ++r) at_[r] = p.lists[r].begin;
    for (int c = 0; c < p.chunks; ++c) {
      flops_[3 * c] = flops_of(p, p.forward_bodies[c]);
      if (!p.training) continue;
      flops_[3 * c + 1] = flops_of(p, p.backward_bodies[c]);
      if (p.splits_backward) flops_[3 * c + 2] = flops_of(p, p.weight_bodies[c]);
    }
  }
  /// In operations of one sample.
  /// 2 micro-batches of 100 operations on one device have a step of 200, all of it busy.
  struct Times {
    std::int64_t step = 0;
    std::int64_t busy = 0;  ///< of all roles
  };
  /// One line of a role that computes.
  /// A forward of 27 operations that begins at 100 ends at 127.
  struct Computed {
    int role = 0;
    const Instruction* line = nullptr;
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  /// `all`, if it is given, has room for every line that computes.
  [[nodiscard]] constexpr Times run(Computed* all = nullptr) {
    Times times;
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < p_.roles; ++r)
        for (const int end = p_.lists[r].end; at_[r] < end; moved = true, ++at_[r]) {
          const Instruction& line = p_.instructions[at_[r]];
          if (!computes(line.op)) {
            if (!passes(r, line)) break;
            continue;
          }
          const std::int64_t work = work_of(line);
          if (all != nullptr) *all++ = {r, &line, clock_[r], clock_[r] + work};
          clock_[r] += work;
          times.busy += work;
        }
    }
    for (int r = 0; r < p_.roles; ++r) times.step = clock_[r] > times.step ? clock_[r] : times.step;
    return times;
  }

 private:
  [[nodiscard]] constexpr std::int64_t work_of(const Instruction& line) const {
    return flops_[3 * line.chunk + (line.op == ListOp::forward ? 0 : passes_gradients(line.op) ? 1 : 2)];
  }
  /// False if the role must wait for another first.
  constexpr bool passes(int role, const Instruction& line) {
    if (line.op > ListOp::receive_wait) return true;
    std::int64_t& now = clock_[role];
    std::int64_t* const started = started_.data + 2 * (line.transfer * micro_batches_ + line.micro_batch);
    if (line.op == ListOp::send_start)
      started[0] = 1 + now;
    else if (line.op == ListOp::receive_start)
      started[1] = 1 + now;
    else if (started[0] == 0 || started[1] == 0)
      return false;
    else
      now = latest(now, started[0] - 1, started[1] - 1);
    return true;
  }
  [[nodiscard]] static constexpr std::int64_t latest(std::int64_t a, std::int64_t b, std::int64_t c) {
    const std::int64_t later = a > b ? a : b;
    return later > c ? later : c;
  }

  const Program& p_;
  const int micro_batches_ = p_.batch.total_micro_batches();
  Numbers at_;
  Numbers clock_;
  Numbers flops_;    // by chunk: forward, backward or its input part, weight part
  Numbers started_;  // by transfer, micro-batch and side: 1 + when; 0 before
};

/// Share of a step that the stages of a plan are idle if nothing but work takes time, in percent, cut to a whole number: what simulate() gives for
/// a machine of zero latency and infinite links. Stages may be unequal; the chunks' real operations count. Replicas are one: no rows count.
///
/// Linear<1000, 2000> and Linear<2000, 1000> on two devices under 1F1B with 4 micro-batches: 28, though equal stages would be idle 20.
/// Tested  plan/read/work_test
[[nodiscard]] constexpr int bubble_percent(const Program& p) {
  const auto [step, busy] = WorkWalk{p}.run();
  return idle_percent(busy, step, p.roles);
}

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::bubble_percent;
}  // namespace heddle

namespace heddle::extending {
using plan_room::stage_flops;
}  // namespace heddle::extending
