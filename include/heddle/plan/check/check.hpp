// SPDX-License-Identifier: MIT
// Room: plan. The checks at run time, by the same code as at build: on a Program, and on lists that a person writes.
// Sees: plan/check but for what needs more than a Program, plan/program.  Does not see: lowering, policies, processes, threads.
// In: a Program or HandWrittenLists.  Out: Diagnosis.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heddle/plan/check/clipping.hpp"
#include "heddle/plan/check/collectives.hpp"
#include "heddle/plan/check/coverage.hpp"
#include "heddle/plan/check/data_flow.hpp"
#include "heddle/plan/check/deadlock.hpp"
#include "heddle/plan/check/gradient_flow.hpp"
#include "heddle/plan/check/guarding.hpp"
#include "heddle/plan/check/line_check.hpp"
#include "heddle/plan/check/loss_scaling.hpp"
#include "heddle/plan/check/placements.hpp"
#include "heddle/plan/check/ranges.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/check/rules.hpp"
#include "heddle/plan/check/same_on_ranks.hpp"
#include "heddle/plan/check/slices.hpp"
#include "heddle/plan/check/slots.hpp"
#include "heddle/plan/check/tied_check.hpp"

namespace heddle::plan_room {

/// Communication lists written by hand, one per rank: a blocking call is its start and its wait.
class HandWrittenLists {
 public:
  explicit HandWrittenLists(int ranks) : lists_(static_cast<std::size_t>(ranks)) {}

  /// Posts and goes on; the number is what wait() takes.
  int send_start(int rank, int to, std::int64_t elements) { return append(rank, EventKind::send_start, to, -1, elements); }
  int receive_start(int rank, int from, std::int64_t elements) { return append(rank, EventKind::receive_start, from, -1, elements); }
  void wait(int rank, int start) {
    const Event& e = lists_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(start)];
    append(rank, e.kind == EventKind::send_start ? EventKind::send_wait : EventKind::receive_wait, e.peer, start, e.elements);
  }
  /// Blocks until the other side has posted too.
  void send(int rank, int to, std::int64_t elements) { wait(rank, send_start(rank, to, elements)); }
  void receive(int rank, int from, std::int64_t elements) { wait(rank, receive_start(rank, from, elements)); }

  [[nodiscard]] int ranks() const { return static_cast<int>(lists_.size()); }
  [[nodiscard]] const std::vector<std::vector<Event>>& lists() const { return lists_; }

 private:
  int append(int rank, EventKind kind, int peer, int start, std::int64_t elements) {
    auto& list = lists_.at(static_cast<std::size_t>(rank));
    list.push_back(Event{kind, peer, start, elements});
    return static_cast<int>(list.size()) - 1;
  }
  std::vector<std::vector<Event>> lists_;
};

namespace run_time {

template <class Lists> [[nodiscard]] Diagnosis rendezvous(const Lists& lists, Lanes lanes) {
  const auto events = static_cast<std::size_t>(lists.roles > 0 ? lists.end(lists.roles - 1) : 0) + 1;
  const auto roles = static_cast<std::size_t>(lists.roles);
  std::vector<int> position(roles), head(2 * roles * roles), unmet(2 * roles * roles), in_lane(events), partner(events);
  const auto complete = std::make_unique<bool[]>(events);
  const auto active = std::make_unique<bool[]>(roles);
  return check_rendezvous(lists, lanes,
                          RendezvousState{position.data(), head.data(), unmet.data(), in_lane.data(), partner.data(), complete.get(), active.get()});
}

[[nodiscard]] inline Diagnosis slots(const Program& p) {
  const auto micro_batches = static_cast<std::size_t>(p.chunks * pool_kinds * p.batch.total_micro_batches());
  const auto bodies = static_cast<std::size_t>(3 * p.chunks);
  const auto transfers = static_cast<std::size_t>(p.transfer_count) + 1;
  std::vector<std::int16_t> owner(micro_batches);
  std::vector<int> named(1 + bodies * static_cast<std::size_t>(pool_kinds + p.chunks + 1)), sent_from(transfers), received_to(transfers);
  const auto touched = std::make_unique<bool[]>(micro_batches);
  ShownSlotNotes notes{owner.data(), touched.get(), named.data(), sent_from.data(), received_to.data()};
  SlotCheck<ShownSlotNotes> check{p, notes};
  check.run(p.instructions, p.entries, p.slots);
  return check.found;
}

/// S17, of values and their gradients.
[[nodiscard]] inline Diagnosis value_flow(const Program& p) {
  const auto nodes = static_cast<std::size_t>(p.graph->node_count) + 1;
  int entries = 0;
  for (int c = 0; c < p.chunks; ++c)
    for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
      entries = bodies[c].end > entries ? bodies[c].end : entries;
  std::vector<std::uint64_t> values(nodes), gradients(nodes), terms(nodes);
  std::vector<FlowPool> pools(static_cast<std::size_t>(p.chunks * pool_kinds) + 2);
  std::vector<FlowLeaf> leaves(static_cast<std::size_t>(p.graph->leaf_count));
  std::vector<FlowTensor> tensors(2 * static_cast<std::size_t>(entries) + static_cast<std::size_t>(p.transfer_count) + 2);
  std::vector<int> made(nodes);
  DataFlow flow{{{p,
                  {values.data(), gradients.data(), terms.data()},
                  {pools.data(), tensors.data(), p.batch.grain_rows, grains_of(p.batch), FlowBytes{*p.graph}},
                  leaves.data(),
                  made.data()}}};
  flow.run();
  return flow.fault;
}

/// S17, of gradients of parameters, after S05: `lines` are of LineCheck.
[[nodiscard]] inline Diagnosis gradient_flow(const Program& p, const LastLines& lines) {
  std::vector<BucketFlow> buckets(static_cast<std::size_t>(p.bucket_count) + 1);
  std::vector<std::int16_t> bucket_of(static_cast<std::size_t>(p.graph->node_count) + 1);
  std::vector<std::int8_t> arrived(static_cast<std::size_t>(p.use_count) + 1), sending(static_cast<std::size_t>(p.use_count) + 1);
  GradientFlow flow{p, buckets.data(), bucket_of.data(), arrived.data(), sending.data(), lines};
  flow.run();
  return flow.fault;
}

}  // namespace run_time

/// Errors  S03 deadlock with a witness, S04 a transfer without its other end, with another payload, or to a rank that is not there
/// Tested  plan/check/check_test
[[nodiscard]] inline Diagnosis check(const HandWrittenLists& written, Lanes lanes = Lanes::free) {
  std::vector<Event> events;
  std::vector<int> begins{0};
  for (int r = 0; r < written.ranks(); ++r) {
    const int first = static_cast<int>(events.size());
    for (Event e : written.lists()[static_cast<std::size_t>(r)]) {
      if (e.peer < 0 || e.peer >= written.ranks() || e.peer == r)
        return Diagnosis{Code{'S', 4}, ""} << "rank " << r << " names rank " << e.peer << " as its peer, but there are " << written.ranks()
                                           << " ranks and none sends to itself. Fix: name another rank.";
      if (e.start >= 0) e.start += first;
      events.push_back(e);
    }
    begins.push_back(static_cast<int>(events.size()));
  }
  return run_time::rendezvous(EventLists{events.data(), begins.data(), written.ranks()}, lanes);
}

/// Answers for each rule of one Program; what the check of lines notes is read by those that come after it.
/// Of a Program with lists of 20 lines it notes 20 starts.
class ProgramRules {
 public:
  ProgramRules(const Program& program, Lanes lanes) : p_(program), lanes_(lanes) {}

  const Diagnosis& operator()(Rule rule) { return found_ = find(rule); }

 private:
  Diagnosis find(Rule rule) {
    switch (rule) {
      case Rule::ranges: return ranges();
      case Rule::lines: return lines();
      case Rule::reductions: return reductions();
      case Rule::slices: return check_slices(p_);
      case Rule::clipping: return check_clipping(p_);
      case Rule::loss_scaling: return check_loss_scaling(p_);
      case Rule::guarding: return check_guarding(p_);
      case Rule::ties: return check_ties(p_);
      case Rule::placements: return check_placements(p_);
      case Rule::slots: return run_time::slots(p_);
      case Rule::same_on_ranks: return check_same_on_ranks(p_, after_.data(), conditional_ ? -1 : first_closing_);
      case Rule::values: return run_time::value_flow(p_);
      case Rule::steps: return run_time::gradient_flow(p_, {p_, after_.data(), first_closing_});
      case Rule::rendezvous: return run_time::rendezvous(ProgramLists{&p_, starts_.data(), p_.roles}, lanes_);
      case Rule::collectives: return collectives();
    }
    return {};
  }
  [[nodiscard]] Diagnosis ranges() const {
    RangeCheck check{p_};
    check.run();
    return check.fault;
  }
  Diagnosis lines() {
    const auto lines = static_cast<std::size_t>(p_.lists[p_.roles - 1].end);
    int tokens = 0;
    for (std::size_t i = 0; i < lines; ++i) tokens = p_.instructions[i].token >= tokens ? p_.instructions[i].token + 1 : tokens;
    starts_.resize(lines);
    after_.resize(lines);
    std::vector<int> first_start(static_cast<std::size_t>(p_.roles)), of_token(lines + static_cast<std::size_t>(tokens));
    std::vector<ChunkPass> passes(static_cast<std::size_t>(p_.chunks * p_.batch.total_micro_batches()));
    LineCheck each{p_, passes.data(), starts_.data(), of_token.data(), after_.data(), first_start.data()};
    each.run();
    first_closing_ = each.first_closing;
    conditional_ = each.conditional;
    return each.found;
  }
  [[nodiscard]] Diagnosis collectives() const {
    std::vector<int> started(2 * static_cast<std::size_t>(p_.bucket_count + p_.frozen_count) + 1);
    CollectiveCheck check{p_, started.data()};
    check.run(after_.data(), first_closing_);
    return check.fault;
  }
  [[nodiscard]] Diagnosis reductions() const {
    std::vector<BucketCounts> counts(static_cast<std::size_t>(p_.bucket_count));
    return check_reductions(p_, counts.data(), after_.data(), first_closing_);
  }

  Diagnosis found_;
  const Program& p_;
  Lanes lanes_;
  std::vector<int> starts_, after_;
  int first_closing_ = 0;
  bool conditional_ = false;
};

/// All rules that need no more than a Program, in the order of Rule. S19, C01 and S18 of all but collectives need more: what the Program was made
/// from, the Program of the other mode, a budget. check(LoweredPlan) asks them too.
///
/// Errors  the code of the first broken rule
/// Tested  plan/check/check_test, mutants.table
[[nodiscard]] inline Diagnosis check(const Program& p, Lanes lanes = Lanes::one_per_device) {
  ProgramRules rules{p, lanes};
  const Diagnosis* const broken = first_broken(rules);
  return broken == nullptr ? Diagnosis{} : *broken;
}

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::check;
}  // namespace heddle
