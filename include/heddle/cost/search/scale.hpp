// SPDX-License-Identifier: MIT
// Room: cost. What a micro-batch costs where layers are split over so many ranks and nothing else is: bounds for every plan that splits them so.
// Sees: plan, cost/simulate, cost/search.  Does not see: processes, threads.
// In: a SearchedModel, a Machine.  Out: Scale, Scales.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <tuple>

#include "heddle/cost/layer_factors.hpp"
#include "heddle/cost/machine.hpp"
#include "heddle/cost/price_list.hpp"
#include "heddle/cost/search/searched_model.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/cost/work_time.hpp"
#include "heddle/plan/lowered.hpp"

namespace heddle::cost_room {

/// The whole model on the ranks of axis tensor alone, with one micro-batch. A model of 40,000 float32 parameters under Adam has 160,000 bytes of
/// parameters, as many of gradients and 320,000 of states.
struct Scale {
  double seconds = 0;                                      ///< of the passes of a micro-batch: without what a step does once, such as its update
  double once = 0;                                         ///< seconds of that
  std::int64_t parameters = 0, gradients = 0, states = 0;  ///< [bytes]
  std::int64_t values = 0;                                 ///< kept for the backward  [bytes]
  Diagnosis fault;

  /// No plan of the choice has a device that needs fewer bytes: parts are even, and each stage keeps the values of one micro-batch at the least.
  [[nodiscard]] std::int64_t least_bytes(const PlanChoice& c) const {
    const Sharding sliced = c.shard > 1 ? sharding_of(c.slices) : Sharding{};
    const auto of = [&](std::int64_t bytes, bool is_sliced) { return bytes / c.stages / (is_sliced ? c.shard : 1); };
    return of(parameters, sliced.parameters) + of(gradients, sliced.gradients) + of(states, sliced.states) + values / c.stages;
  }
  /// No plan of the choice takes fewer seconds. The slowest stage has at least an even part of the passes of each micro-batch. The last stage begins
  /// when the first micro-batch has passed those before it, and after its last backward that micro-batch passes them again. A last stage with less
  /// work leaves more to the others: the bound is where both are equal.
  [[nodiscard]] double least_seconds(const PlanChoice& c) const {
    if (c.stages == 1) return seconds * c.rounds;
    const double all = c.micro_batches, others = c.stages - 1.0, fill = passing(c.order);
    const double last = std::max(0.0, (all / others - fill) / (all - fill + all / others));  // share of the work
    return seconds * all * (1 - last) / others;
  }
  /// What it may take: even stages that wait as their order says, and then step. Plans are tried in this order.
  [[nodiscard]] double likely_seconds(const PlanChoice& c) const {
    const double idle = (c.stages - 1.0) / (c.order == SearchedOrder::zero_bubble_h1 ? 3 : chunks_a_device(c.order));
    const double passes = seconds * c.rounds * (c.micro_batches + idle) / c.stages;
    return std::max(least_seconds(c), passes + once / c.stages / c.shard);  // axis shard slices what is stepped
  }

 private:
  /// Share of the passes of the other stages for which the last one waits at the least. Under 1F1B it waits for all of both; of several chunks on a
  /// device for the first of each; where the backward is split not for gradients of parameters.
  [[nodiscard]] static constexpr double passing(SearchedOrder order) {
    if (order == SearchedOrder::zero_bubble_h1) return 0.5;
    return chunks_a_device(order) > 1 ? 0.6 / chunks_a_device(order) : 0.95;
  }
};

/// Scales that were made, by what they depend on: of 2 sizes of axis tensor with and without recomputation, for one number of rows, there are 4.
///
/// Tested  cost/search/scale_test
class Scales {
 public:
  Scales(const SearchedModel& model, const Machine& machine, int batch, const LayerFactors& factors = {})
      : model_(model), machine_(at_best(machine)), batch_(batch), factors_(factors) {}

  [[nodiscard]] const Scale& of(const PlanChoice& c) {
    const int rows = batch_ / c.batch_ranks() / c.rounds / c.micro_batches;
    const int chunks = c.again && c.stages > 1 ? c.stages * chunks_a_device(c.order) : 0;
    const Key key{c.tensor, c.splits_sequences, c.again, c.rounds_values, rows, chunks};
    const auto found = all_.find(key);
    if (found != all_.end()) return found->second;
    return all_.emplace(key, chunks > 0 ? of_chunks(c, chunks, rows) : make(c, rows)).first->second;
  }

 private:
  using Key = std::tuple<int, bool, bool, bool, int, int>;
  /// Of a model that runs blocks again, cut into chunks: one that ends inside a block leaves out at most what that block would run again.
  [[nodiscard]] Scale of_chunks(const PlanChoice& c, int chunks, int rows) {
    const auto cached = [&](bool again) -> const Scale& {
      PlanChoice whole = c;
      whole.again = again;
      const Key key{c.tensor, c.splits_sequences, again, c.rounds_values, rows, 0};
      const auto found = all_.find(key);
      return found != all_.end() ? found->second : all_.emplace(key, make(whole, rows)).first->second;
    };
    Scale made = cached(true);
    const Scale& kept = cached(false);
    if (kept.fault.ok()) made.seconds -= std::min(1.0, chunks * largest_block()) * std::max(0.0, made.seconds - kept.seconds);
    return made;
  }
  /// Share of the operations of all blocks that the largest one has.
  [[nodiscard]] double largest_block() const {
    const Graph& graph = *model_.graph;
    std::map<int, double> blocks;
    double all = 0;
    for (int n = 0; n < graph.node_count; ++n)
      if (graph.nodes[n].block >= 0) {
        blocks[graph.nodes[n].block] += static_cast<double>(graph.leaf(n).forward_flops);
        all += static_cast<double>(graph.leaf(n).forward_flops);
      }
    double most = 0;
    for (const auto& [block, operations] : blocks) most = std::max(most, operations);
    return all > 0 ? most / all : 1;
  }
  [[nodiscard]] Scale make(const PlanChoice& c, int rows) const {
    PlanChoice alone;
    alone.tensor = c.tensor;
    alone.splits_sequences = c.splits_sequences;
    alone.again = c.again;
    alone.rounds_values = c.rounds_values;
    Scale out;
    const LoweringRequest request = request_for(model_, alone, rows, Bytes{0});
    if (out.fault = request.layout.fault; !out.fault.ok()) return out;
    const LoweredPlan plan = lower(request);
    if (out.fault = plan.fault(); !out.fault.ok()) return out;
    const ArenaMap& arena = plan.training().arenas[0];
    out.parameters = arena.bytes(RegionKind::parameters, RegionKind::gradients);
    out.gradients = arena.bytes(RegionKind::gradients, RegionKind::states);
    out.states = arena.bytes(RegionKind::states, RegionKind::losses);
    out.values = arena[RegionKind::pools].bytes();
    out.once = closing_seconds(plan.training()) + last_seconds(plan.training());
    out.seconds = std::max(0.0, simulate(plan.training(), machine_, factors_).step.value - out.once);
    return out;
  }
  /// Of entries that only the last micro-batch runs, such as sums of gradients that the ranks of axis tensor have terms of.
  [[nodiscard]] double last_seconds(const Program& p) const {
    const PriceList prices{p, machine_, false, factors_};
    double sum = 0;
    for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies})
      for (int e = bodies[0].begin; e < bodies[0].end; ++e) {
        const Entry& entry = p.entries[e];
        if (entry.when != When::last_micro_batch) continue;
        sum += prices.entry(0, e) + machine_.per_message + (entry.collective >= 0 ? prices.collective(entry.collective).seconds : 0);
      }
    return sum;
  }
  /// Of the lines behind all passes: on the ranks of axis tensor alone they move nothing.
  [[nodiscard]] double closing_seconds(const Program& p) const {
    double sum = 0;
    for (int i = p.lists[0].begin; i < p.lists[0].end; ++i)
      if (!computes(p.instructions[i].op)) sum += line_seconds(machine_, p, 0, p.instructions[i]);
    return sum;
  }
  /// The machine as the fastest of its devices, and as a part of a model in its caches, sees it: no part of a plan takes less.
  [[nodiscard]] static Machine at_best(Machine machine) {
    double speed = 1, cached = 1;
    for (const RankSpeed& s : machine.speeds) speed = std::max(speed, s.speed);
    for (int i = 0; i < machine.cached.count(); ++i) cached = std::max(cached, machine.cached.points[i].share);
    constexpr Machine plain{};
    std::copy(std::begin(plain.speeds), std::end(plain.speeds), std::begin(machine.speeds));
    machine.cached = plain.cached;  // g++ 12 fails on a temporary here
    machine.per_memory_byte /= cached * speed;
    machine.per_flop /= speed;
    machine.per_bfloat16_flop /= speed;
    machine.per_call /= speed;
    for (int l = machine.level_count() - 1; l >= 0; --l) {  // in a plan the same group may lie on levels further out
      machine.levels[l].alpha = std::min(machine.levels[l].alpha, machine.link(l + 1).alpha);
      machine.levels[l].beta = std::min(machine.levels[l].beta, machine.link(l + 1).beta);
    }
    for (LayerRate& rate : machine.layers) rate.forward /= speed, rate.backward /= speed;
    return machine;
  }

  const SearchedModel& model_;
  Machine machine_;
  int batch_;
  LayerFactors factors_;
  std::map<Key, Scale> all_;
};

}  // namespace heddle::cost_room
