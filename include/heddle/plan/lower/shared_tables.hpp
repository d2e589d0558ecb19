// SPDX-License-Identifier: MIT
// Room: plan. What training and evaluation of a plan share, as one view: the graph of a rank, flat buffers, buckets, ties.
// Sees: every phase of plan/lower that comes before or reads it.  Does not see: policies by name, processes, threads.
// In: tables of another owner.  Out: SharedTables, the input of bodies, lists and arenas; a Program.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/body.hpp"
#include "heddle/plan/lower/emit.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// What one mode of a plan has of its own.
/// Of 2 stages training has 2 transfers, and evaluation has 1.
struct ModeTables {
  bool training = true;
  const Instruction* instructions = nullptr;
  const IndexRange* lists = nullptr;
  const Entry* entries = nullptr;
  const IndexRange* forward = nullptr;
  const IndexRange* backward = nullptr;
  const IndexRange* weight = nullptr;
  const Transfer* transfers = nullptr;
  int transfer_count = 0;
  const Collective* collectives = nullptr;
  int collective_count = 0;
  const Pool* pools = nullptr;
  const std::int16_t* slots = nullptr;
};

/// Phases read these tables whether the compiler filled them or a running program.
/// 2 stages of one Linear each have 1 edge and 2 buckets.
///
/// Tested  plan/lower/lower_test, plan/lower/lowered_plan_test
struct SharedTables {
  const Graph* graph = nullptr;  ///< as one rank sees it
  const Layout* layout = nullptr;
  const BatchDivision* batch = nullptr;
  FlatPlaces flat;
  Storage storage;
  const FlatBucket* buckets = nullptr;
  int bucket_count = 0;
  int frozen_count = 0;
  const std::int16_t* bucket_of_node = nullptr;
  ParameterGroups groups;
  const StepPiece* pieces = nullptr;
  int piece_count = 0;
  const TiedUse* uses = nullptr;
  int use_count = 0;
  int tied_transfers = 0;
  const std::int64_t* tie_room = nullptr;
  int edge_count = 0;
  std::int64_t target_features = 1;
  int states = 0;
  BeforeStep before{};

  /// Of entries between phases, each way: behind at most two phases the next one, a sum of grains and a reduction along each of two axes.
  [[nodiscard]] constexpr int most_between_phases(int of_one, bool training) const {
    int nodes = 0;
    const int end = training && graph->has_phases() ? graph->node_count : 0;
    for (int n = 0; n < end; ++n) nodes += graph->runs_phases(n) ? 1 : 0;
    return 2 * (Phases::most - 1) * of_one * nodes;
  }
  /// A node is one entry forward and at most two backward: itself and one sum, or a copy or sum for each operand; a third if it is split; and where
  /// layers are split two more each way, what is gathered again, and terms of the loss. A unit adds at most a gather in each body and a reduction,
  /// each with start and wait, and zeros and an addition where gradients pass through a ring; a frozen one a gather in each body but the weight part.
  /// What runs again is one entry more, and two where layers are split. A leaf of two operands has a backward and a sum for each.
  [[nodiscard]] constexpr int most_entries(bool training, bool recomputes) const {
    const int nodes = graph->node_count;
    const bool split = graph->split.any();
    const bool halves = layout->order.splits_backward;
    const int around = 2 * edge_count + 3 * layout->chunk_count + 8;
    const int forward = (split ? 3 : 1) * nodes + (storage.parts > 1 ? 2 : 0) * bucket_count + 2 * frozen_count + (split ? 2 : 0);
    if (!training) return forward + around;
    const int backward = (halves ? 3 : 2) * nodes + 2 * graph->joins() +
                         ((storage.parts > 1 ? halves ? 6 : 4 : 1) + (storage.gradients ? 2 : 0)) * bucket_count + 2 * frozen_count;
    const int phases = most_between_phases(4, training);
    const int conversions = split ? (halves ? 4 : 3) * nodes + graph->parameter_count : 0;
    return forward + backward + phases + conversions + around + (recomputes ? (split ? 3 : 1) * nodes : 0);
  }
  [[nodiscard]] constexpr CollectiveNumbers numbers(bool training) const {
    return {*layout, storage, {buckets, bucket_count, frozen_count}, training, bucket_count > 0 ? before : BeforeStep{}};
  }
  /// Those of buckets, loss and norm, and at most those of values: where a node takes or gives another form than lies between layers, forward, when
  /// it runs again, and backward; what a backward or either part of it gathers again; of each gradient that the ranks hold whole; two of the loss.
  [[nodiscard]] constexpr int most_collectives(bool training, bool recomputes) const {
    const int first = numbers(training).count + most_between_phases(2, training);
    if (!graph->split.any()) return first;
    const Node* const nodes = graph->nodes;  // no calls: compilers count them, twice for each layer
    const Laid* const between = graph->split.laid_between;
    const Laid* const back = graph->split.gradient_between;
    int forward = 0, backward = 0;
    for (int n = 0, count = graph->node_count; n < count; ++n) {
      const Node& node = nodes[n];
      const Signature& s = graph->split.signatures[node.leaf];
      const int from = node.operand_count == 0 ? 0 : node.operands[0];
      const std::int16_t takes = from == 0 ? laid::replicate.code : between[nodes[from - 1].leaf].code;
      const std::int16_t gives = between[node.leaf].code;
      const std::int16_t handed = from == 0 ? laid::replicate.code : back[nodes[from - 1].leaf].code;
      forward += (takes != s.input.code ? 1 : 0) + (gives != s.output.code ? 1 : 0);
      if (!training) continue;
      if (takes != s.input.code && takes >= 0) backward += layout->order.splits_backward ? 2 : 1;
      backward += (back[node.leaf].code != s.output_gradient.code ? 1 : 0) + (handed != s.input_gradient.code ? 1 : 0);
      for (int k = 0, all = node.parameter_count; k < all; ++k) backward += s.parameter_gradients[k].code == laid::partial.code ? 1 : 0;
    }
    return first + 2 + forward * (recomputes ? 2 : 1) + backward;
  }
  [[nodiscard]] constexpr BodyInput body_input(bool training) const {
    return {*graph,  *layout,  *batch,          buckets,         bucket_count,      frozen_count, bucket_of_node,
            storage, training, target_features, flat.parameters, numbers(training), before,       flat.unit_count};
  }
  /// `transfers`: those of the bodies, and behind them those of tied gradients in training.
  [[nodiscard]] constexpr EmitInput emit_input(const Transfer* transfers, int count, bool training) const {
    return {.layout = *layout,
            .transfers = transfers,
            .transfer_count = count,
            .buckets = buckets,
            .bucket_count = training ? bucket_count : 0,
            .storage = storage,
            .before = before,
            .uses = uses,
            .use_count = training ? use_count : 0,
            .tied_transfers = training ? tied_transfers : 0,
            .numbers = numbers(training)};
  }
  [[nodiscard]] constexpr ArenaInput arena_input() const {
    return {*graph, *layout, *batch, flat, storage, buckets, bucket_count, frozen_count, tie_room, states, before};
  }
  [[nodiscard]] constexpr Program program(const ModeTables& mode, const ArenaMap* arenas) const {
    Program p;
    p.graph = graph;
    p.mesh = layout->mesh;
    p.batch = *batch;
    p.training = mode.training;
    p.roles = layout->roles();
    p.chunks = layout->chunk_count;
    p.device_of_chunk = layout->device_of_chunk;
    p.first_node = layout->first_node;
    for (int a = 0; a < axis_count; ++a) p.batch_split[a] = layout->batch_split[a];
    p.instructions = mode.instructions;
    p.lists = mode.lists;
    p.splits_backward = layout->order.splits_backward;
    p.loss = layout->loss;
    p.entries = mode.entries;
    p.forward_bodies = mode.forward;
    p.backward_bodies = mode.backward;
    p.weight_bodies = mode.weight;
    p.transfers = mode.transfers;
    p.transfer_count = mode.transfer_count;
    p.collectives = mode.collectives;
    p.collective_count = mode.collective_count;
    p.groups = groups;
    p.pieces = pieces;
    p.piece_count = piece_count;
    p.uses = uses;
    p.use_count = use_count;
    p.pools = mode.pools;
    p.slots = mode.slots;
    p.parameters = flat.parameters;
    p.storage = storage;
    p.buckets = buckets;
    p.bucket_count = bucket_count;
    p.frozen_count = frozen_count;
    p.bucket_of_node = bucket_of_node;
    p.units = flat.units;
    p.unit_count = flat.unit_count;
    p.clips = before.clips;
    p.scales_loss = before.scales_loss;
    p.guards = before.guards;
    p.arenas = arenas;
    return p;
  }
};

}  // namespace heddle::plan_room
