// SPDX-License-Identifier: MIT
// Room: cost. What a micro-batch costs where layers are split over so many ranks and nothing else is: bounds for every plan that splits them so.
// Sees: plan, cost/simulate, cost/search.  Does not see: processes, threads.
// In: a SearchedModel, a Machine.  Out: Scale, Scales.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>

#include "heddle/cost/machine.hpp"
#include "heddle/cost/search/searched_model.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/plan/lowered.hpp"

namespace heddle::cost_room {

/// The whole model on the ranks of axis tensor alone, with one micro-batch. A model of 40,000 float32 parameters under Adam has 160,000 bytes of
/// parameters, as many of gradients and 320,000 of states.
struct Scale {
  double seconds = 0;
  std::int64_t parameters = 0, gradients = 0, states = 0;  ///< [bytes]
  std::int64_t values = 0;                                 ///< kept for the backward  [bytes]
  Diagnosis fault;

  /// No plan of the choice has a device that needs fewer bytes: parts are even, and buffers share what they can.
  [[nodiscard]] std::int64_t least_bytes(const PlanChoice& c) const {
    const Sharding sliced = c.shard > 1 ? sharding_of(c.slices) : Sharding{};
    const auto of = [&](std::int64_t bytes, bool is_sliced) { return bytes / c.stages / (is_sliced ? c.shard : 1); };
    return of(parameters, sliced.parameters) + of(gradients, sliced.gradients) + of(states, sliced.states);
  }
  /// No plan of the choice takes fewer seconds: the slowest stage has at least an even part of the work of each micro-batch.
  [[nodiscard]] double least_seconds(const PlanChoice& c) const { return seconds * c.rounds * c.micro_batches / c.stages; }
  /// What it may take: even stages that wait as their order says. Plans are tried in this order.
  [[nodiscard]] double likely_seconds(const PlanChoice& c) const {
    const double idle = (c.stages - 1.0) / (c.order == SearchedOrder::zero_bubble_h1 ? 3 : chunks_a_device(c.order));
    return seconds * c.rounds * (c.micro_batches + idle) / c.stages;
  }
};

/// Scales that were made, by what they depend on: of 2 sizes of axis tensor with and without recomputation, for one number of rows, there are 4.
///
/// Tested  cost/search/scale_test
class Scales {
 public:
  Scales(const SearchedModel& model, const Machine& machine, int batch) : model_(model), machine_(machine), batch_(batch) {}

  [[nodiscard]] const Scale& of(const PlanChoice& c) {
    const int rows = batch_ / c.batch_ranks() / c.rounds / c.micro_batches;
    const Key key{c.tensor, c.splits_sequences, c.again, c.rounds_values, rows};
    const auto found = all_.find(key);
    return found != all_.end() ? found->second : all_.emplace(key, make(c, rows)).first->second;
  }

 private:
  using Key = std::tuple<int, bool, bool, bool, int>;
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
    out.seconds = simulate(plan.training(), machine_).step.value;
    return out;
  }

  const SearchedModel& model_;
  const Machine& machine_;
  int batch_;
  std::map<Key, Scale> all_;
};

}  // namespace heddle::cost_room
