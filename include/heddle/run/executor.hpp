// SPDX-License-Identifier: MIT
// Room: run. Walks the lists and bodies of a Program for one rank: the very object that was checked, in its order, nothing else.
// Sees: plan/program, run/body_runner, seams/concepts.  Does not see: policies, threads, any backend.
// In: a Program, kernels, an endpoint.  Out: one step on one rank.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/body_runner.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// Runs the list of one rank, line by line, and for each compute the body of its chunk; rank 1 of `Pipeline<Balanced<2>, ...>` runs the list of role
/// 1.
template <TransportEndpoint Endpoint> class Executor : public BodyRunner {
 public:
  HEDDLE_COLD Executor(const Program& training, const Program& evaluation, const KernelTable& kernels, Rank rank, Endpoint& endpoint)
      : BodyRunner(training, kernels, rank), endpoint_(endpoint), tickets_(tokens(training, evaluation, role_)),
        collectives_(static_cast<std::size_t>(std::max(training.collective_count, evaluation.collective_count))),
        states_(static_cast<std::size_t>(kernels.states)) {}

  /// One step. Throws what a kernel, the endpoint or an observer throws, with the position kept in instruction().
  void run(const StepInput& input) {
    in_ = &input;
    p_ = input.program;
    stepped_ = false;
    skipped_ = false;
    in_observer_ = false;
    entry_ = -1;
    const IndexRange list = p_->lists[role_];
    if constexpr (between_processes) endpoint_.begin_call(pledge_of(input));
    for (int i = list.begin; i < list.end; ++i) {
      const Instruction& line = p_->instructions[i];
      if (line.when == When::reporting && !input.reporting) continue;
      instruction_ = i;
      micro_batch_ = line.micro_batch;
      observed(-1, [&] { execute(line); });
    }
    if constexpr (between_processes) endpoint_.end_call();
  }

  [[nodiscard]] const Program* program() const { return in_ == nullptr ? nullptr : p_; }  ///< of the last run; null before the first
  [[nodiscard]] int instruction() const { return instruction_; }
  [[nodiscard]] int entry() const { return entry_; }               ///< of the body that runs; -1 outside of one
  [[nodiscard]] bool in_observer() const { return in_observer_; }  ///< what was thrown was thrown by the observer
  [[nodiscard]] bool stepped() const { return stepped_; }          ///< parameters of this rank were changed in this step
  [[nodiscard]] bool skipped() const { return skipped_; }          ///< no rank stepped: a gradient overflowed on one of them
  [[nodiscard]] float loss_sum() const { return loss_sum_; }
  [[nodiscard]] float norm() const { return norm_; }  ///< of the gradients of the last step of a plan that clips

 private:
  [[nodiscard]] HEDDLE_COLD static std::size_t tokens(const Program& training, const Program& evaluation, int role) {
    int count = 0;
    for (const Program* p : {&training, &evaluation})
      for (int i = p->lists[role].begin; i < p->lists[role].end; ++i) count = std::max<int>(count, p->instructions[i].token + 1);
    return static_cast<std::size_t>(count);
  }
  /// Whether ranks can say different things of a step, as processes can.
  static constexpr bool between_processes = requires(Endpoint & e) { e.begin_call(CallPledge{}); };

  template <class Work> void observed(int entry, Work work) {
    if (in_->observer == nullptr) return work();
    Observation seen{rank_, p_, instruction_, entry, static_cast<std::int16_t>(micro_batch_), in_->step, std::chrono::steady_clock::now(), {}};
    in_observer_ = true;
    in_->observer->started(seen);
    in_observer_ = false;
    work();
    seen.end = std::chrono::steady_clock::now();
    in_observer_ = true;
    in_->observer->finished(seen);
    in_observer_ = false;
  }

  void execute(const Instruction& line) {
    switch (line.op) {
      case ListOp::forward:
      case ListOp::backward:
      case ListOp::backward_input:
      case ListOp::backward_weight: return run_body(p_->body(line));
      case ListOp::send_start: {
        const Transfer& t = p_->transfers[line.transfer];
        ticket(line) = endpoint_.send_start(peer(line), sent(t), p_->floats(t));
        return;
      }
      case ListOp::send_wait: return endpoint_.send_wait(peer(line), ticket(line));
      case ListOp::receive_start: {
        const Transfer& t = p_->transfers[line.transfer];
        ticket(line) = endpoint_.receive_start(peer(line), received(t), p_->floats(t));
        return;
      }
      case ListOp::receive_wait: return endpoint_.receive_wait(peer(line), ticket(line));
      case ListOp::reduce_start:
      case ListOp::gather_start: return start(line.collective);
      case ListOp::reduce_wait:
      case ListOp::gather_wait: return finish(line.collective);
      case ListOp::norm: return sum_squares([](const float*, std::int64_t) {});
      case ListOp::clip: return clip();
      case ListOp::unscale: return unscale(in_->loss_scale);
      case ListOp::skip: return skip();
      case ListOp::tie: return sum_ties(line.bucket);
      case ListOp::report: loss_sum_ = *losses(p_->batch.rank_grains()); return;
      case ListOp::step: return step(line.bucket);
    }
  }
  [[nodiscard]] std::int64_t& ticket(const Instruction& line) { return tickets_[static_cast<std::size_t>(line.token)]; }
  [[nodiscard]] const float* sent(const Transfer& t) { return t.use < 0 ? at(t.source, p_->floats(t)) : gradient_of_use(t.use); }
  [[nodiscard]] float* received(const Transfer& t) { return t.use < 0 ? at(t.target, p_->floats(t)) : tie_room(t); }
  [[nodiscard]] int peer(const Instruction& line) const { return p_->mesh.moved(rank_, Axis::stage, line.peer).value; }

  void start(int number) {
    const Collective& c = p_->collectives[number];
    std::int64_t& ticket = collectives_[static_cast<std::size_t>(number)];
    const int group = transport_group(*p_, rank_, c.axis);
    const std::int64_t part = c.elements / p_->mesh.size(c.axis);
    switch (c.kind) {
      case CollectiveKind::all_reduce: ticket = endpoint_.all_reduce_start(group, at(c.target, c.elements), c.elements); return;
      case CollectiveKind::reduce_scatter:
        ticket = endpoint_.reduce_scatter_start(group, at(c.source, c.elements), at(adds(c) ? c.arrived : c.target, part), c.elements);
        return;
      case CollectiveKind::all_gather: ticket = endpoint_.all_gather_start(group, at(c.source, part), at(c.target, c.elements), c.elements); return;
    }
  }
  void finish(int number) {
    const Collective& c = p_->collectives[number];
    const std::int64_t ticket = collectives_[static_cast<std::size_t>(number)];
    const int group = transport_group(*p_, rank_, c.axis);
    switch (c.kind) {
      case CollectiveKind::all_reduce: return endpoint_.all_reduce_wait(group, ticket);
      case CollectiveKind::reduce_scatter: return endpoint_.reduce_scatter_wait(group, ticket);
      case CollectiveKind::all_gather: return endpoint_.all_gather_wait(group, ticket);
    }
  }
  /// What the next entry reads: there is nothing to do until it is there.
  void move_now(const Entry& entry) {
    start(entry.collective);
    finish(entry.collective);
  }
  /// The first micro-batch's slice is the sum so far; those of later ones arrive elsewhere and are added to it.
  [[nodiscard]] bool adds(const Collective& c) const { return c.accumulates && micro_batch_ > 0; }
  void add_slice(const Collective& c) {
    const std::int64_t part = c.elements / p_->mesh.size(c.axis);
    kernels_.add(at(c.target, part), at(c.target, part), at(c.arrived, part), part);
  }

  /// The same on every rank. A smaller scale mends an overflow that the scale has made, and no other.
  void skip() {
    skipped_ = overflow_flag() > 0;
    if (skipped_ && in_->loss_scale <= 1)
      throw NonFinite(in_->step, written({"gradients of step ", in_->step, " are not finite, and the loss scale is down to ",
                                          short_number(static_cast<double>(in_->loss_scale))}));
  }
  /// The same on every rank: units are added in the order of the model.
  void clip() {
    if (skipped_) return;
    norm_ = arithmetic_.norm(norms(), p_->unit_count);
    if (!is_finite(norm_))
      throw NonFinite(in_->step, written({"the norm of the gradients of step ", in_->step, " is ", (is_nan(norm_) ? "NaN" : "infinite")}));
    factor_ = arithmetic_.clip_factor(norm_, in_->max_norm);
  }
  /// All uses in the order of the model, on every owner, into the gradient that is stepped. Until its own turn the sum grows where the first arrived.
  void sum_ties(int bucket) {
    const FlatBucket& b = p_->buckets[bucket];
    int own = 0;
    while (p_->uses[own].bucket != bucket) ++own;
    int first = own;
    while (first > 0 && p_->uses[first - 1].owner == p_->uses[own].owner) --first;
    float* sum = gradient_of_use(first);
    for (int u = first + 1; u < p_->use_count && p_->uses[u].owner == p_->uses[own].owner; ++u) {
      float* const to = u < own ? sum : gradient_of_use(own);
      kernels_.add(to, sum, gradient_of_use(u), slice_elements(b));
      sum = to;
    }
  }
  void step(int bucket) {
    if (skipped_) return;
    const FlatBucket& b = p_->buckets[bucket];
    const std::int64_t all = slice_elements(b);
    for (OtherRange range = trained_from(b, 0); range.elements > 0 && p_->clips; range = trained_from(b, range.end()))
      arithmetic_.clip(gradient_slice(b) + range.first, range.elements, factor_);
    stepped_ = true;
    tracked_.fold(slice_begin(b), all, parameter_slice(b), gradient_slice(b), in_->rows, arithmetic_);
    if (!p_->groups.any()) return step_range(b, 0, all, 0);
    const StepPiece* const end = p_->pieces + p_->piece_count;
    const StepPiece* piece = std::lower_bound(p_->pieces, end, bucket, [](const StepPiece& of, int wanted) { return of.bucket < wanted; });
    for (; piece != end && piece->bucket == bucket; ++piece) {
      const std::int64_t from = std::max(piece->begin - slice_ * all, std::int64_t{0});
      const std::int64_t to = std::min(piece->end() - slice_ * all, all);
      if (from < to) step_range(b, from, to, piece->group);
    }
  }
  /// Elements of this rank's slice, with the constants of one group.
  void step_range(const FlatBucket& b, std::int64_t from, std::int64_t to, int group) {
    const void* const constants = static_cast<const std::byte*>(in_->constants) + static_cast<std::size_t>(group) * in_->constants_bytes;
    for (OtherRange range = trained_from(b, from); range.first < to && range.elements > 0; range = trained_from(b, range.end())) {
      for (std::size_t s = 0; s < states_.size(); ++s) states_[s] = state_slice(static_cast<int>(s), b) + range.first;
      kernels_.step(constants, std::min(range.end(), to) - range.first, parameter_slice(b) + range.first, gradient_slice(b) + range.first,
                    states_.begin());
    }
  }

  void run_body(const IndexRange& body) {
    const int last = p_->batch.total_micro_batches() - 1;
    for (int e = body.begin; e < body.end; ++e) {
      const Entry& entry = p_->entries[e];
      if (entry.when == When::last_micro_batch && micro_batch_ != last) continue;
      if (entry.when == When::first_micro_batch && micro_batch_ != 0) continue;
      if (entry.when == When::later_micro_batches && micro_batch_ == 0) continue;
      if (entry.when == When::reporting && !in_->reporting) continue;
      entry_ = e;
      observed(e, [&] { execute(entry); });
    }
    entry_ = -1;
  }
  void execute(const Entry& entry) {
    switch (entry.what) {
      case BodyOp::reduce_start:
      case BodyOp::gather_start: return start(entry.collective);
      case BodyOp::reduce_wait:
      case BodyOp::gather_wait: return finish(entry.collective);
      case BodyOp::zero_gaps: return zero_gaps(p_->buckets[entry.bucket]);
      case BodyOp::add_slice: return add_slice(p_->collectives[entry.collective]);
      case BodyOp::reduce_value:
      case BodyOp::reduce_parameter: return move_now(entry);
      case BodyOp::gather_value: move_now(entry); return lay(entry, entry.b, entry.d, Lay::together);
      case BodyOp::scatter_value: lay(entry, entry.b, entry.a, Lay::apart); return move_now(entry);
      case BodyOp::slice_value: return lay(entry, entry.d, entry.a, Lay::own_part);
      default: return compute(entry);
    }
  }

  Endpoint& endpoint_;
  int instruction_ = 0;
  int entry_ = -1;
  bool in_observer_ = false;
  bool stepped_ = false;
  bool skipped_ = false;
  float loss_sum_ = 0;
  float norm_ = 0;
  float factor_ = 1;
  RowOf<std::int64_t> tickets_;      // by token
  RowOf<std::int64_t> collectives_;  // tickets as well, by the number of the collective
  RowOf<float*> states_;
};

}  // namespace heddle::run_room
