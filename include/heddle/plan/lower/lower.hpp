// SPDX-License-Identifier: MIT
// Room: plan. Graph and policy answers become a Program: one constexpr variable a phase, each gated by the one before.
// Sees: graph, policy answers, every phase of plan.  Does not see: processes, threads, kernels, names of policies.
// In: a Request.  Out: Lowered<Request, training>::program.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/graph/trace.hpp"
#include "heddle/plan/lower/backward_body.hpp"
#include "heddle/plan/lower/body.hpp"
#include "heddle/plan/lower/buckets.hpp"
#include "heddle/plan/lower/emit.hpp"
#include "heddle/plan/lower/forward_body.hpp"
#include "heddle/plan/lower/fusion.hpp"
#include "heddle/plan/lower/groups.hpp"
#include "heddle/plan/lower/local_graph.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/pieces.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/schedule.hpp"
#include "heddle/plan/lower/shared_tables.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/lower/tied.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Phases that training and evaluation share. Request names graph, layout, batch, bucket_bytes, target_features, states, Chosen, groups.
template <class Request> struct SharedPhases : Request {
  using Request::batch;
  using Request::layout;
  static constexpr Graph graph = Localised<Request>::graph;
  static constexpr int nodes = graph.node_count;
  static constexpr int chunks = layout.chunk_count;
  static constexpr int roles = layout.roles();
  static constexpr int micro_batches = batch.total_micro_batches();

  static constexpr int edges = count_edges(graph, layout);
  static constexpr Storage storage = storage_of(graph, layout, batch);
  static constexpr auto flat = lay_out_parameters<graph.parameter_count, nodes, roles>(graph, layout, Request::groups, storage.parameters);
  static constexpr BucketRequest to_cut{graph, layout, flat.view(), Request::bucket_bytes.value, storage, Request::clips};
  static constexpr int bucket_count = to_cut.count();
  static constexpr int frozen_count = to_cut.frozen_count();
  /// Owns the buckets of all roles, and by node which of them has its parameters.
  /// 2 stages of one Linear each have 2 buckets.
  struct Buckets {
    FlatBucket list[std::size_t{bucket_count + frozen_count > 0 ? bucket_count + frozen_count : 1}]{};
    std::int16_t of_node[std::size_t{nodes > 0 ? nodes : 1}]{};
  };
  static constexpr Buckets buckets = [] {
    Buckets out;
    List<FlatBucket> list{out.list, bucket_count + frozen_count};
    to_cut.write(list, out.of_node);
    return out;
  }();
  /// Owns the pieces in which buckets are stepped, if the plan names groups; Linear<16, 16> under NoDecay<> has 2.
  struct Pieces {
    StepPiece list[std::size_t{Request::groups.any() ? graph.parameter_count + 1 : 1}]{};
    int count = 0;
  };
  static constexpr Pieces pieces = [] {
    Pieces out;
    List<StepPiece> list{out.list, Request::groups.any() ? graph.parameter_count : 0};
    write_pieces(graph, Request::groups, flat.view(), buckets.list, bucket_count, list);
    out.count = list.count;
    return out;
  }();
  static constexpr int uses = count_uses(graph, layout, flat.shared);
  static constexpr auto ties = [] {
    TieTable<uses, roles> out;
    List<TiedUse> list{out.uses, uses};
    out.transfer_count = find_ties(to_cut, buckets.list, bucket_count, list, out.room_bytes);
    return out;
  }();
  static constexpr SharedTables tables{.graph = &graph,
                                       .layout = &layout,
                                       .batch = &batch,
                                       .flat = flat.view(),
                                       .storage = storage,
                                       .buckets = buckets.list,
                                       .bucket_count = bucket_count,
                                       .frozen_count = frozen_count,
                                       .bucket_of_node = buckets.of_node,
                                       .groups = Request::groups,
                                       .pieces = pieces.list,
                                       .piece_count = pieces.count,
                                       .uses = ties.uses,
                                       .use_count = uses,
                                       .tied_transfers = ties.transfer_count,
                                       .tie_room = ties.room_bytes,
                                       .edge_count = edges,
                                       .target_features = Request::target_features,
                                       .states = Request::states,
                                       .before = Request::before_step()};
};

/// The Program of one mode of a plan.
template <class Request, bool Training> struct Lowered {
  using P = SharedPhases<Request>;
  static constexpr bool recomputes = Training && Request::Chosen::value.any;
  static constexpr int most_entries = P::tables.most_entries(Training, recomputes);
  static constexpr int most_collectives = P::tables.most_collectives(Training, recomputes);

  static constexpr BodyInput body_input = P::tables.body_input(Training);
  static constexpr auto recomputed = [] {
    if constexpr (recomputes)
      return study_recomputation<P::nodes>(P::graph, P::layout, Request::Chosen::value.view());
    else
      return RecomputedTables<P::nodes>{};
  }();
  static constexpr auto facts = study_values<P::nodes>(P::graph, P::layout, Training, recomputed);
  using Tables = BodyTables<P::nodes, P::chunks, P::edges, most_entries, most_collectives>;
  /// The forwards of training, in a variable of their own: what one variable costs is limited. In evaluation they are all there is.
  static constexpr auto forwards = [] {
    Tables out;
    if (!Training) return out;
    Bodies open = out.open();
    write_forwards(body_input, facts.view(), open);
    out.close(open);
    return out;
  }();
  static constexpr auto all_bodies = [] {
    Tables out = forwards;
    Bodies open = out.open();
    if (Training)
      write_backwards(body_input, facts.view(), recomputed.view(), open);
    else
      write_forwards(body_input, facts.view(), open);
    Fusion{body_input, open}.mark();
    out.close(open);
    return out;
  }();

  static constexpr int tied = Training ? P::ties.transfer_count : 0;
  static constexpr auto with_ties = [] {
    constexpr int most = tied > 0 ? all_bodies.transfer_count + tied : 0;
    TransferTable<most> out;
    if (tied == 0) return out;
    List<Transfer> list{out.list, most};
    for (int t = 0; t < all_bodies.transfer_count; ++t) list.append() = all_bodies.transfers[t];
    std::int64_t room[std::size_t{P::roles}]{};
    append_tied_transfers(P::ties.uses, P::uses, P::buckets.list, P::layout, P::storage, room, list);
    return out;
  }();
  static constexpr const Transfer* transfers() { return tied > 0 ? with_ties.list : all_bodies.transfers; }

  static constexpr int passes = plan_room::passes(P::layout, Training);
  static constexpr auto schedule = schedule_computes<P::chunks, P::micro_batches, passes>(P::layout, P::batch.micro_batches);
  static constexpr EmitInput emit_input = P::tables.emit_input(transfers(), all_bodies.transfer_count, Training);
  static constexpr int together = most_instructions(emit_input, passes, P::micro_batches);
  static constexpr auto lists = emit_lists<P::roles, together, emit_input.transfer_count, P::micro_batches, schedule.count, schedule.makespan>(
      emit_input, passes, schedule.view());

  static constexpr auto slots = [] {
    SlotWork<P::chunks, P::micro_batches> work;
    const SlotInput in{P::layout, transfers(), all_bodies.edges, P::edges, Training, all_bodies.weight_reads};
    allot_slots(in, all_bodies.slot_bytes, lists.instructions, lists.lists, lists.ties, P::micro_batches, work);
    return SlotTable<P::chunks, P::micro_batches>{work};
  }();
  static constexpr Diagnosis fault = all_bodies.fault.ok() ? lists.fault : all_bodies.fault;
  static constexpr ModeTables tables(const Pool* pools) {
    return {Training,
            lists.instructions,
            lists.lists,
            all_bodies.entries,
            all_bodies.forward,
            all_bodies.backward,
            all_bodies.weight,
            transfers(),
            all_bodies.transfer_count + tied,
            all_bodies.collectives,
            all_bodies.collective_count,
            pools,
            slots.slots};
  }
};

/// Both Programs of a plan, in arenas that hold either.
template <class Request> struct LoweredPrograms {
  using P = SharedPhases<Request>;
  using Train = Lowered<Request, true>;
  using Evaluate = Lowered<Request, false>;

  /// Owns the pools of training and evaluation and the arenas: for 2 chunks 8 pools each, 4 kinds a chunk.
  struct Tables {
    Pool training[P::chunks * pool_kinds];
    Pool evaluation[P::chunks * pool_kinds];
    ArenaMap arenas[P::roles];
  };
  static constexpr Tables tables = [] {
    Tables t{};
    for (int k = 0; k < P::chunks * pool_kinds; ++k) {
      t.training[k] = Train::slots.pools[k];
      t.evaluation[k] = Evaluate::slots.pools[k];
    }
    const ArenaInput in = P::tables.arena_input();
    for (int r = 0; r < P::roles; ++r)
      t.arenas[r] = place_arena(in, r, t.training, t.evaluation, Train::all_bodies.scratch_bytes, Evaluate::all_bodies.scratch_bytes);
    return t;
  }();
  static constexpr Program training = P::tables.program(Train::tables(tables.training), tables.arenas);
  static constexpr Program evaluation = P::tables.program(Evaluate::tables(tables.evaluation), tables.arenas);
};

}  // namespace heddle::plan_room
