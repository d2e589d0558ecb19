// SPDX-License-Identifier: MIT
// Room: run. Walks the lists and bodies of a Program for one rank: the very object that was checked, in its order, nothing else.
// Sees: plan/program, run/{device, program_walk, transport_groups}, seams/concepts.  Does not see: policies, threads, any backend.
// In: a Program, a device, an endpoint.  Out: one step on one rank, whole or in pieces.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/row_of.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/device.hpp"
#include "heddle/run/program_walk.hpp"
#include "heddle/run/transport_groups.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// Runs the list of one rank, line by line, and for each compute the body of its chunk; rank 1 of `Pipeline<Balanced<2>, ...>` runs the list of role
/// 1.
template <TransportEndpoint Endpoint, RankDevice DeviceType = HostDevice> class Executor {
 public:
  using Kernels = typename DeviceType::Kernels;
  HEDDLE_COLD Executor(const Program& training, const Program& evaluation, const Kernels& kernels, Rank rank, Endpoint& endpoint)
      : device_(made_device(training, kernels, rank, endpoint)), endpoint_(endpoint), walk_(rank, tensors().role()),
        groups_(training, evaluation, rank), tickets_(tokens(training, evaluation, tensors().role())),
        collectives_(static_cast<std::size_t>(std::max(training.collective_count, evaluation.collective_count))) {}

  /// One step. Throws what a kernel, the endpoint or an observer throws; walk() says where.
  void run(const StepInput& input) {
    begin(input);
    finish();
  }

  // ---- the same step in pieces
  /// `input` lives until the step is done.
  void begin(const StepInput& input) {
    in_ = &input;
    p_ = input.program;
    stepped_ = skipped_ = false;
    device_.begin(input);
    if constexpr (between_processes) endpoint_.begin_call(pledge_of(input));
    walk_.begin(input);
  }
  /// Does the line or the entry that is next. One that is kept has changed nothing, but it may have started what it waits for.
  Progress advance(Meeting meeting = Meeting::comes_back) {
    meeting_ = meeting;
    tensors().use(walk_.micro_batch());
    const Progress made = walk_.advance([&](const Instruction& line) { return execute(line); }, [&](const Entry& entry) { return execute(entry); });
    if (made != Progress::done) return made;
    if constexpr (requires { device_.end(); }) device_.end();
    if constexpr (between_processes) endpoint_.end_call();
    return made;
  }
  void finish() {
    while (advance(Meeting::waits) != Progress::done) {
    }
  }
  /// A device that queues a step or replays it knows at its end what it has decided and what is reported.
  void replayed(const StepOutcome& of_device) {
    skipped_ = of_device.skipped;
    stepped_ = p_->training && of_device.stepped;
    loss_sum_ = of_device.loss;
    if (stepped_) norm_ = of_device.norm;
  }
  /// What a rank that is kept waits for.
  [[nodiscard]] const Ticket& awaited() const { return awaited_; }

  [[nodiscard]] DeviceType& device() { return device_; }
  [[nodiscard]] const ProgramWalk& walk() const { return walk_; }  ///< where the rank stands
  [[nodiscard]] bool stepped() const { return stepped_; }          ///< parameters of this rank were changed in this step
  [[nodiscard]] bool skipped() const { return skipped_; }          ///< no rank stepped: a gradient overflowed on one of them
  [[nodiscard]] float loss_sum() const { return loss_sum_; }
  [[nodiscard]] float norm() const { return norm_; }  ///< of the gradients of the last step of a plan that clips

  // ---- of the device: addresses there, which device().download and device().upload take
  [[nodiscard]] Rank rank() const { return device_.tensors().rank(); }
  [[nodiscard]] int role() const { return device_.tensors().role(); }
  [[nodiscard]] const Arena& arena() const { return device_.tensors().arena(); }
  [[nodiscard]] Arena& arena() { return tensors().arena(); }
  [[nodiscard]] HeldPart held_parameter(int parameter) { return tensors().held_parameter(parameter); }
  [[nodiscard]] HeldPart held_gradient(int parameter) { return tensors().held_gradient(parameter); }

 private:
  /// A device that shares something with its transport, as a queue of the card, is given the endpoint.
  [[nodiscard]] HEDDLE_COLD static DeviceType made_device(const Program& training, const Kernels& kernels, Rank rank, Endpoint& endpoint) {
    if constexpr (std::constructible_from<DeviceType, const Program&, const Kernels&, Rank, Endpoint&>)
      return DeviceType(training, kernels, rank, endpoint);
    else
      return DeviceType(training, kernels, rank);
  }
  [[nodiscard]] RankTensors& tensors() { return device_.tensors(); }
  [[nodiscard]] HEDDLE_COLD static std::size_t tokens(const Program& training, const Program& evaluation, int role) {
    int count = 0;
    for (const Program* p : {&training, &evaluation})
      for (int i = p->lists[role].begin; i < p->lists[role].end; ++i) count = std::max<int>(count, p->instructions[i].token + 1);
    return static_cast<std::size_t>(count);
  }
  /// Whether ranks can say different things of a step, as processes can.
  static constexpr bool between_processes = requires(Endpoint & e) { e.begin_call(CallPledge{}); };

  // ---- lines
  /// False if others keep it. Every operation is named here, so the compiler warns of one that nothing runs.
  bool execute(const Instruction& line) {
    switch (line.op) {
      case ListOp::send_start: {
        const Transfer& t = p_->transfers[line.transfer];
        ticket(line) = endpoint_.send_start(peer(line), sent(t), p_->floats(t));
        break;
      }
      case ListOp::receive_start: {
        const Transfer& t = p_->transfers[line.transfer];
        ticket(line) = endpoint_.receive_start(peer(line), received(t), p_->floats(t));
        break;
      }
      case ListOp::send_wait:
        if (kept({Ticket::send, peer(line), ticket(line)})) return false;
        endpoint_.send_wait(peer(line), ticket(line));
        break;
      case ListOp::receive_wait:
        if (kept({Ticket::receive, peer(line), ticket(line)})) return false;
        endpoint_.receive_wait(peer(line), ticket(line));
        break;
      case ListOp::reduce_start:
      case ListOp::gather_start: start(line.collective); break;
      case ListOp::reduce_wait:
      case ListOp::gather_wait: return wait(line.collective);
      case ListOp::norm: device_.take_norms(); break;
      case ListOp::clip: clip(); break;
      case ListOp::unscale: device_.unscale(in_->loss_scale); break;
      case ListOp::guard: device_.guard(); break;
      case ListOp::skip: skip(); break;
      case ListOp::tie: device_.sum_ties(line.bucket); break;
      case ListOp::report: loss_sum_ = device_.loss_sum(); break;
      case ListOp::step: step(line.bucket); break;
      case ListOp::forward:
      case ListOp::backward:
      case ListOp::backward_input:
      case ListOp::backward_weight: break;  // their bodies run, entry by entry
    }
    return true;
  }
  /// Whether a rank that comes back does so here.
  [[nodiscard]] bool kept(const Ticket& ticket) {
    if (meeting_ == Meeting::waits) return false;
    awaited_ = ticket;
    return !endpoint_.passable(ticket);
  }
  [[nodiscard]] std::int64_t& ticket(const Instruction& line) { return tickets_[static_cast<std::size_t>(line.token)]; }
  [[nodiscard]] const float* sent(const Transfer& t) { return t.use < 0 ? tensors().at(t.source, p_->floats(t)) : tensors().gradient_of_use(t.use); }
  [[nodiscard]] float* received(const Transfer& t) { return t.use < 0 ? tensors().at(t.target, p_->floats(t)) : tensors().tie_room(t); }
  [[nodiscard]] int peer(const Instruction& line) const { return p_->mesh.moved(rank(), Axis::stage, line.peer).value; }

  void start(int number) {
    RankTensors& t = tensors();
    const Collective& c = p_->collectives[number];
    std::int64_t& ticket = collectives_[static_cast<std::size_t>(number)];
    const int group = groups_[c.axis];
    const std::int64_t all = c.floats();
    const std::int64_t part = all / p_->mesh.size(c.axis);
    if (c.widens()) wide_ = device_.widen(c);
    switch (c.kind) {
      case CollectiveKind::all_reduce: ticket = endpoint_.all_reduce_start(group, c.widens() ? wide_ : t.at(c.target, all), all, c.order); return;
      case CollectiveKind::reduce_scatter:
        ticket = endpoint_.reduce_scatter_start(group, c.widens() ? wide_ : t.at(c.source, all),
                                                c.widens() ? wide_ + all : t.at(adds(c) ? c.arrived : c.target, part), all, c.order);
        return;
      case CollectiveKind::all_gather: ticket = endpoint_.all_gather_start(group, t.at(c.source, part), t.at(c.target, all), all); return;
    }
  }
  /// False if others keep it.
  bool wait(int number) {
    const Collective& c = p_->collectives[number];
    const std::int64_t ticket = collectives_[static_cast<std::size_t>(number)];
    const int group = groups_[c.axis];
    switch (c.kind) {
      case CollectiveKind::all_reduce:
        if (kept({Ticket::all_reduce, group, ticket})) return false;
        endpoint_.all_reduce_wait(group, ticket);
        if (c.widens()) device_.round(c, wide_, c.elements);
        break;
      case CollectiveKind::reduce_scatter:
        if (kept({Ticket::reduce_scatter, group, ticket})) return false;
        endpoint_.reduce_scatter_wait(group, ticket);
        if (c.widens()) device_.round(c, wide_ + c.elements, c.elements / p_->mesh.size(c.axis));
        break;
      case CollectiveKind::all_gather:
        if (kept({Ticket::all_gather, group, ticket})) return false;
        endpoint_.all_gather_wait(group, ticket);
        break;
    }
    return true;
  }
  /// What the next entry reads: there is nothing to do until it is there. `before` makes what moves.
  template <class Before> bool move_now(const Entry& entry, Before before) {
    if (walk_.starts()) {
      before();
      start(entry.collective);
    }
    return wait(entry.collective);
  }
  /// The slice of the first micro-batch arrives where the sum grows; those of later ones arrive elsewhere and are added to it.
  [[nodiscard]] bool adds(const Collective& c) const { return c.accumulates && walk_.micro_batch() > 0; }

  /// The same on every rank.
  void skip() {
    skipped_ = device_.overflowed();
    if (skipped_ && in_->loss_scale <= 1) refuse_overflow(*in_);
  }
  /// The same on every rank: units are added in the order of the model.
  void clip() {
    if (skipped_) return;
    norm_ = device_.norm();
    if (!is_finite(norm_)) refuse_norm(*in_, norm_);
    factor_ = device_.clip_factor(norm_, in_->max_norm);
  }
  void step(int bucket) {
    if (skipped_) return;
    stepped_ = true;
    device_.step(bucket, factor_);
  }

  // ---- entries
  /// False if others keep it. Every operation is named here, so the compiler warns of one that nothing runs.
  bool execute(const Entry& entry) {
    const auto nothing = [] {};
    switch (entry.what) {
      case BodyOp::gather_start:
        if (const Collective& c = p_->collectives[entry.collective]; c.type != ElementType::float32) device_.round_slice(entry.bucket, c);
        start(entry.collective);
        break;
      case BodyOp::reduce_start: start(entry.collective); break;
      case BodyOp::reduce_wait:
      case BodyOp::gather_wait: return wait(entry.collective);
      case BodyOp::reduce_value:
      case BodyOp::reduce_parameter:
      case BodyOp::reduce_phase: return move_now(entry, nothing);
      case BodyOp::gather_value:
        if (!move_now(entry, nothing)) return false;
        device_.gather(entry);
        break;
      case BodyOp::scatter_value: return move_now(entry, [&] { device_.scatter(entry); });
      case BodyOp::load_input:
      case BodyOp::load_targets:
      case BodyOp::leaf_forward:
      case BodyOp::leaf_backward:
      case BodyOp::leaf_backward_input:
      case BodyOp::leaf_backward_weight:
      case BodyOp::add:
      case BodyOp::copy:
      case BodyOp::loss_terms:
      case BodyOp::loss:
      case BodyOp::store_output:
      case BodyOp::slice_value:
      case BodyOp::zero_gaps:
      case BodyOp::add_slice:
      case BodyOp::sum_grains:
        if (!entry.fused || !runs_with_next(entry)) device_.compute(entry);
    }
    return true;
  }
  /// Two fused entries at once, if the device can. An observer is told of each entry when it has run, so where one watches each runs by itself.
  bool runs_with_next([[maybe_unused]] const Entry& entry) {
    if constexpr (requires(bool& runs) {
                    { device_.compute(entry, entry, runs) } -> std::same_as<bool>;
                  }) {
      if (in_->observer != nullptr || !device_.compute(entry, p_->entries[walk_.entry() + 1], walk_.next_runs())) return false;
      walk_.pass_entry();
      return true;
    }
    return false;
  }

  DeviceType device_;
  Endpoint& endpoint_;
  ProgramWalk walk_;
  RankGroups groups_;
  const StepInput* in_ = nullptr;
  const Program* p_ = nullptr;
  Meeting meeting_ = Meeting::waits;
  Ticket awaited_;
  bool stepped_ = false;
  bool skipped_ = false;
  float loss_sum_ = 0;
  float norm_ = 0;
  float factor_ = 1;
  float* wide_ = nullptr;            // on the device, of a sum that is under way: at most one is
  RowOf<std::int64_t> tickets_;      // by token
  RowOf<std::int64_t> collectives_;  // tickets as well, by the number of the collective
};

/// Of the ranks of a session.
template <class Session> using ExecutorOf = Executor<typename Session::Endpoint, typename DeviceOfSession<Session>::type>;

}  // namespace heddle::run_room
