// SPDX-License-Identifier: MIT
// Room: plan. Graph and policy answers become a Program: one constexpr variable a phase, each gated by the one before.
// Sees: graph, policy answers, every phase of plan.  Does not see: processes, threads, kernels, names of policies.
// In: a Request.  Out: Lowered<Request, training>::program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "heddle/graph/trace.hpp"
#include "heddle/plan/backward_body.hpp"
#include "heddle/plan/body.hpp"
#include "heddle/plan/emit.hpp"
#include "heddle/plan/forward_body.hpp"
#include "heddle/plan/local_graph.hpp"
#include "heddle/plan/memory.hpp"
#include "heddle/plan/program.hpp"
#include "heddle/plan/recompute.hpp"
#include "heddle/plan/schedule.hpp"
#include "heddle/plan/tied.hpp"
#include "heddle/plan/units.hpp"

namespace heddle::inline plan_room {

/// Phases that training and evaluation share. Request names graph, layout, batch, bucket_bytes, target_features, states, Chosen.
template <class Request> struct Placed : Request {
  using Request::batch;
  using Request::layout;
  static constexpr Graph graph = Localised<Request>::graph;
  static constexpr int nodes = graph.node_count;
  static constexpr int chunks = layout.chunk_count;
  static constexpr int roles = layout.roles();
  static constexpr int micro_batches = batch.total_micro_batches();

  static constexpr int edges = [] {
    int n = 0;
    each_cut_edge(graph, layout, [&](const CutEdge&) { ++n; });
    return n;
  }();
  static constexpr auto flat = lay_out_parameters<graph.parameter_count, nodes, roles>(graph, layout);
  static constexpr Storage storage = storage_of(layout, batch);
  static constexpr bool by_units = Request::clips && storage.parts > 1;  // a slice is then of the parts over which norms are summed
  static constexpr int bucket_count = [] {
    int n = 0;
    each_bucket(graph, layout, flat, Request::bucket_bytes.value, storage, by_units, [&](const GradientBucket&) { ++n; });
    return n;
  }();
  struct Buckets {
    GradientBucket list[std::size_t{bucket_count > 0 ? bucket_count : 1}]{};
    std::int16_t of_node[std::size_t{nodes > 0 ? nodes : 1}]{};
  };
  static constexpr Buckets buckets = [] {
    Buckets out;
    int count = 0;
    each_bucket(graph, layout, flat, Request::bucket_bytes.value, storage, by_units, [&](const GradientBucket& b) {
      out.list[count] = b;
      if (storage.parameters || storage.gradients)
        for (int n = b.lowest_node; n <= b.highest_node; ++n) out.of_node[n] = static_cast<std::int16_t>(count);
      ++count;
    });
    return out;
  }();
  static constexpr int uses = [] {
    int n = 0;
    each_use(graph, layout, flat.shared, [&](int, int, int) { ++n; });
    return n;
  }();
  static constexpr auto ties = find_ties<uses, roles>(graph, layout, flat.shared, buckets.list, storage);
};

/// The Program of one mode of a plan.
template <class Request, bool Training> struct Lowered {
  using P = Placed<Request>;
  // A node is one entry forward and at most two backward: itself and one sum, or a copy or sum for each operand; a third if it is split; and
  // where layers are split two more each way, what is gathered again, and terms of the loss. A unit adds at most a gather in each body and a
  // reduction, each with start and wait. What runs again is one entry more, and two where layers are split.
  static constexpr int conversions = P::graph.split.any() ? 6 * P::nodes + P::graph.parameter_count + 2 : 0;
  static constexpr bool recomputes = Training && Request::Chosen::value.any;
  static constexpr int most_again = recomputes ? (P::graph.split.any() ? 3 : 1) * P::nodes : 0;
  static constexpr int most_entries = most_again + (Training ? P::layout.order.splits_backward ? 4 : 3 : 1) * P::nodes + 2 * P::edges +
                                      3 * P::chunks + (P::storage.parts > 1 ? 8 : 1) * P::bucket_count + 8 + conversions;

  static constexpr BodyInput body_input{P::graph,           P::layout,  P::batch, P::buckets.list,         P::bucket_count,
                                        P::buckets.of_node, P::storage, Training, Request::target_features};
  static constexpr auto recomputed = [] {
    if constexpr (recomputes)
      return study_recomputation<P::nodes>(P::graph, P::layout, Request::Chosen::value);
    else
      return Recomputed<P::nodes>{};
  }();
  static constexpr auto facts = study_values<P::nodes>(P::graph, P::layout, Training, recomputed);
  static constexpr auto bodies = [] {
    using B = Bodies<P::nodes, P::chunks, P::edges, most_entries>;
    B out;
    place_edges(body_input, out);
    ForwardWriter<P::nodes, P::chunks, B> forward{body_input, facts, out, P::edges};
    for (int c = 0; c < P::chunks; ++c) forward.write(c);
    place_transfers<P::edges>(body_input, out);
    return out;
  }();
  static constexpr auto all_bodies = [] {
    auto out = bodies;
    if (!Training) return out;
    BackwardWriter<P::nodes, P::chunks, decltype(out)> backward{body_input, facts, recomputed, out, P::edges};
    for (int c = P::chunks - 1; c >= 0; --c) backward.write(c);
    return out;
  }();

  static constexpr int tied = Training ? P::ties.transfer_count : 0;
  static constexpr auto with_ties = [] {
    TransferList<(tied > 0 ? all_bodies.transfer_count + tied : 0)> out;
    for (int t = 0; t < all_bodies.transfer_count && tied > 0; ++t) out.list[t] = all_bodies.transfers[t];
    if (tied > 0)
      append_tied_transfers<P::roles>(P::ties.uses, P::uses, P::buckets.list, P::layout, P::storage, out.list + all_bodies.transfer_count);
    return out;
  }();
  static constexpr const Transfer* transfers() { return tied > 0 ? with_ties.list : all_bodies.transfers; }

  static constexpr int passes = plan_room::passes(P::layout, Training);
  static constexpr auto schedule = schedule_computes<P::chunks, P::micro_batches, passes>(P::layout, P::batch.micro_batches);
  static constexpr EmitInput emit_input{P::layout,  transfers(),    all_bodies.transfer_count, P::buckets.list, Training ? P::bucket_count : 0,
                                        P::storage, Request::clips, Request::scales_loss,      P::ties.uses,    Training ? P::uses : 0,
                                        tied};
  static constexpr int together = [] {
    int n = 0;
    for (int r = 0; r < P::roles; ++r) n += most_instructions(emit_input, passes, P::micro_batches, r);
    return n;
  }();
  struct Sizes {
    static constexpr int roles = P::roles;
    static constexpr int chunks = P::chunks;
    static constexpr int micro_batches = P::micro_batches;
    static constexpr int transfers = all_bodies.transfer_count;
    static constexpr int computes = schedule.count;
    static constexpr int instructions = together;
  };
  static constexpr auto lists = emit_lists<Sizes>(emit_input, passes, schedule);

  static constexpr auto slots = [] {
    SlotPass<P::chunks, P::micro_batches> pass{SlotInput{P::layout, transfers(), all_bodies.edges, P::edges, Training, all_bodies.weight_reads}};
    for (int p = 0; p < P::chunks * pool_kinds; ++p) {
      pass.slots.table.pools[p].chunk = static_cast<std::int16_t>(p / pool_kinds);
      pass.slots.table.pools[p].role = static_cast<std::int16_t>(P::layout.device_of_chunk[p / pool_kinds]);
      pass.slots.table.pools[p].slot_bytes = all_bodies.slot_bytes[p];
    }
    for (int r = 0; r < P::roles; ++r)
      for (int i = lists.lists[r].begin; i < lists.ties[r].begin; ++i) pass.visit(lists.instructions[i]);
    return pass.slots.table;
  }();
};

/// Arenas hold the larger of what training and evaluation need; parameters lie at the same place in both.
template <class Request> struct Addressed {
  using P = Placed<Request>;
  using Train = Lowered<Request, true>;
  using Evaluate = Lowered<Request, false>;

  struct Tables {
    Pool training[P::chunks * pool_kinds];
    Pool evaluation[P::chunks * pool_kinds];
    ArenaMap arenas[P::roles];
  };
  static constexpr std::int64_t greatest_scratch(const std::int64_t* by_chunk, int role) {
    std::int64_t most = 0;
    for (int c = 0; c < P::chunks; ++c)
      if (P::layout.device_of_chunk[c] == role && by_chunk[c] > most) most = by_chunk[c];
    return most;
  }
  /// Elements of the largest parameter that one coordinate of axis tensor adds and the others leave out.
  static constexpr std::int64_t most_zeros(int role) {
    std::int64_t most = 0;
    for (int p = 0; P::graph.split.any() && p < P::graph.parameter_count; ++p) {
      const ParameterPlace& place = P::flat.parameters[p];
      if (place.role != role || place.elements <= most) continue;
      if (P::graph.signature(place.node).parameters[place.index].partial()) most = place.elements;
    }
    return most;
  }
  static constexpr Tables tables = [] {
    Tables t{};
    for (int k = 0; k < P::chunks * pool_kinds; ++k) {
      t.training[k] = Train::slots.pools[k];
      t.evaluation[k] = Evaluate::slots.pools[k];
    }
    for (int r = 0; r < P::roles; ++r) {
      ArenaMap& map = t.arenas[r];
      const Storage& kept = P::storage;
      map.flat_bytes = P::flat.role_bytes[r];
      map.gradient_bytes = P::flat.gradient_bytes[r] / kept.gradient_parts();
      map.state_bytes = map.flat_bytes / kept.state_parts();
      for (const GradientBucket& b : P::buckets.list)
        if (b.role == r && 4 * b.elements > map.unit_bytes) map.unit_bytes = 4 * b.elements;
      map.gathered = map.parameters + map.flat_bytes / kept.parameter_parts();
      map.gradients = map.gathered + kept.gathered_bytes(map.unit_bytes, P::flat.gradient_bytes[r]);
      map.fresh = map.gradients + map.gradient_bytes * P::batch.levels();
      map.arrived = map.fresh + (kept.gradients ? 2 * map.unit_bytes : 0);
      map.ties = map.arrived + (kept.adds_slices ? 2 * map.unit_bytes / kept.parts : 0);
      map.states = map.ties + P::ties.room_bytes[r];
      map.losses = map.states + map.state_bytes * Request::states;
      const bool has_loss = r == P::layout.device_of_chunk[P::chunks - 1];
      map.norms = map.losses + (has_loss ? rounded_up(4 * (P::batch.rank_grains() + 1), line_bytes) : 0);
      map.zeros = map.norms + rounded_up(4 * norm_floats(Request::clips, Request::scales_loss, P::flat.unit_count), line_bytes);
      map.pools = map.zeros + rounded_up(4 * most_zeros(r), line_bytes);
      const std::int64_t trained = place_pools(t.training, P::chunks * pool_kinds, r, map.pools);
      const std::int64_t evaluated = place_pools(t.evaluation, P::chunks * pool_kinds, r, map.pools);
      map.scratch = trained > evaluated ? trained : evaluated;
      const std::int64_t a = greatest_scratch(Train::all_bodies.scratch_bytes, r);
      const std::int64_t b = greatest_scratch(Evaluate::all_bodies.scratch_bytes, r);
      map.workspace = map.scratch + (a > b ? a : b);
      map.total = map.workspace;
    }
    return t;
  }();

  template <class Mode> static constexpr Program view(const Pool* pools) {
    Program p;
    p.graph = &P::graph;
    p.mesh = P::layout.mesh;
    p.batch = P::batch;
    p.training = std::is_same_v<Mode, Train>;
    p.roles = P::roles;
    p.chunks = P::chunks;
    p.device_of_chunk = P::layout.device_of_chunk;
    p.first_node = P::layout.first_node;
    for (int a = 0; a < axis_count; ++a) p.batch_split[a] = P::layout.batch_split[a];
    p.instructions = Mode::lists.instructions;
    p.lists = Mode::lists.lists;
    p.splits_backward = P::layout.order.splits_backward;
    p.loss = P::layout.loss;
    p.entries = Mode::all_bodies.entries;
    p.forward_bodies = Mode::all_bodies.forward;
    p.backward_bodies = Mode::all_bodies.backward;
    p.weight_bodies = Mode::all_bodies.weight;
    p.transfers = Mode::transfers();
    p.transfer_count = Mode::all_bodies.transfer_count + Mode::tied;
    p.uses = P::ties.uses;
    p.use_count = P::uses;
    p.pools = pools;
    p.slots = Mode::slots.slots[0];
    p.parameters = P::flat.parameters;
    p.storage = P::storage;
    p.buckets = P::buckets.list;
    p.bucket_count = P::bucket_count;
    p.bucket_of_node = P::buckets.of_node;
    p.units = P::flat.units;
    p.unit_count = P::flat.unit_count;
    p.clips = Request::clips;
    p.scales_loss = Request::scales_loss;
    p.arenas = tables.arenas;
    return p;
  }
  static constexpr Program training = view<Train>(tables.training);
  static constexpr Program evaluation = view<Evaluate>(tables.evaluation);
};

}  // namespace heddle::inline plan_room
