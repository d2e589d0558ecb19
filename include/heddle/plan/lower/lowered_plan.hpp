// SPDX-License-Identifier: MIT
// Room: plan. Graph and policy answers that are data become a Program while a program runs, by the phases that the compiler runs for a Plan.
// Sees: graph, policy answers, every phase of plan.  Does not see: processes, threads, kernels, names of policies.
// In: a LoweringRequest.  Out: LoweredPlan, which owns both Programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "heddle/plan/lower/backward_body.hpp"
#include "heddle/plan/lower/emit.hpp"
#include "heddle/plan/lower/fitted_request.hpp"
#include "heddle/plan/lower/forward_body.hpp"
#include "heddle/plan/lower/fusion.hpp"
#include "heddle/plan/lower/groups.hpp"
#include "heddle/plan/lower/local_graph.hpp"
#include "heddle/plan/lower/lowering_request.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/pieces.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/schedule.hpp"
#include "heddle/plan/lower/shared_tables.hpp"
#include "heddle/plan/lower/tied.hpp"

namespace heddle::plan_room {

/// The Programs of a plan that is data, and all that they show. It can be moved; addresses of Programs stay.
///
/// Errors  what refuses the plan is in fault(), in the words that the compiler uses for a Plan; the Programs are then not to be asked for
/// Tested  plan/lower/lowered_plan_test, equivalence/random_data_test
class LoweredPlan {
 public:
  explicit LoweredPlan(const LoweringRequest& request) : all_(std::make_unique<Phases>(request)) { all_->run(); }

  [[nodiscard]] const Diagnosis& fault() const { return all_->fault; }
  [[nodiscard]] const Program& training() const { return all_->programs[0]; }
  [[nodiscard]] const Program& evaluation() const { return all_->programs[1]; }
  /// The evaluation in arenas without what training needs: the Program of an Inference.
  [[nodiscard]] const Program& applied() const { return all_->programs[2]; }
  [[nodiscard]] const LoweringRequest& request() const { return all_->request; }

  using Store =
      Tables<TracedLeaf, Signature, Laid, Spec, Node, ParameterPlace, FlatUnit, FlatBucket, ParameterGroup, StepPiece, TiedUse, Segment, Entry,
             Transfer, PlacedEdge, Collective, IndexRange, Place, TimedCompute, Instruction, Pool, ArenaMap, std::int64_t, int, std::int16_t, bool>;

  /// The tables of one mode that the Programs or the arenas still read.
  struct Mode {
    ModeTables tables;
    Pool* pools = nullptr;
    const std::int64_t* scratch_bytes = nullptr;
  };

  /// One after the other, with all that they leave: what is spoilt between two of them is a fault of the lowering.
  /// Tested  equivalence/lowering_faults_test
  struct Phases {
    LoweringRequest request;
    Store store;
    Graph graph;  // as one rank sees it
    Storage storage;
    SharedTables shared;
    Mode modes[2];
    Program programs[3];  // training, evaluation, evaluation without training
    Diagnosis fault;

    explicit Phases(const LoweringRequest& asked) : request(asked) {
      if (fault = check_answers(asked); !fault.ok()) return;  // views of what is not sound are not looked into
      request.graph.leaves = copy(asked.graph.leaves, asked.graph.leaf_count);
      request.graph.nodes = copy(asked.graph.nodes, asked.graph.node_count);
      request.again.leaf = asked.again.any ? copy(asked.again.leaf, asked.graph.leaf_count) : nullptr;
      if (!asked.groups.any()) return;
      request.groups.list = copy(asked.groups.list, asked.groups.count);
      request.groups.of_parameter = copy(asked.groups.of_parameter, asked.graph.parameter_count);
    }
    template <class T> const T* copy(const T* from, int count) {
      T* const to = store.make<T>(count);
      for (int i = 0; i < count; ++i) to[i] = from[i];
      return to;
    }
    void run() {
      if (!fault.ok()) return;
      divide();
      storage = storage_of(request.graph, request.layout, request.batch);
      if (fit(); !fault.ok()) return;
      share();
      for (const bool training : {true, false})
        if (fault = lower(training); !fault.ok()) return;
      place();
    }
    void divide() {
      graph = request.graph;
      const int ranks = request.layout.mesh.size(Axis::tensor);
      if (ranks == 1) return;
      auto* const leaves = store.make<TracedLeaf>(graph.leaf_count);
      auto* const signatures = store.make<Signature>(graph.leaf_count);
      auto* const lies = store.make<Laid>(graph.leaf_count);
      auto* const back = store.make<Laid>(graph.leaf_count);
      auto* const parts = store.make<Spec>(graph.leaf_count);
      divide_leaves(request.graph, request.layout, leaves, signatures, lies, back, parts);
      graph.leaves = leaves;
      graph.split = GraphSplit{signatures, lies, back, parts, ranks};
    }
    /// The cut gives way to one that fits the budget, if the request asks so.
    void fit() {
      request.fitted = fits_cut_to_memory(request);
      if (!request.fitted) return;
      request.layout = FittedRequest{request, graph}.layout();
      fault = check_sums(request.graph, request.layout, request.batch, request.reproducible, request.clips);
    }
    void share() {
      const int roles = request.layout.roles();
      FlatBuffers flat{store.make<ParameterPlace>(graph.parameter_count),
                       store.make<std::int64_t>(graph.node_count),
                       store.make<std::int16_t>(graph.node_count),
                       store.make<bool>(graph.node_count),
                       store.make_list<FlatUnit>(graph.parameter_count),
                       store.make<std::int64_t>(roles),
                       store.make<std::int64_t>(roles),
                       store.make<std::int64_t>(roles),
                       store.make<std::int64_t>(roles)};
      FlatRequest{graph, request.layout, request.groups, storage.parameters}.run(flat);
      const BucketRequest to_cut{graph, request.layout, flat.view(), request.bucket_bytes.value, storage, request.clips};
      const int bucket_count = to_cut.count();
      const int frozen_count = to_cut.frozen_count();
      auto buckets = store.make_list<FlatBucket>(bucket_count + frozen_count);
      auto* const of_node = store.make<std::int16_t>(graph.node_count);
      to_cut.write(buckets, of_node);
      auto pieces = store.make_list<StepPiece>(request.groups.any() ? graph.parameter_count : 0);
      write_pieces(graph, request.groups, flat.view(), buckets.data, bucket_count, pieces);
      auto uses = store.make_list<TiedUse>(count_uses(graph, request.layout, flat.shared));
      auto* const tie_room = store.make<std::int64_t>(roles);
      const int tied = find_ties(to_cut, buckets.data, bucket_count, uses, tie_room);
      shared = SharedTables{.graph = &graph,
                            .layout = &request.layout,
                            .batch = &request.batch,
                            .flat = flat.view(),
                            .storage = storage,
                            .buckets = buckets.data,
                            .bucket_count = bucket_count,
                            .frozen_count = frozen_count,
                            .bucket_of_node = of_node,
                            .groups = request.groups,
                            .pieces = pieces.data,
                            .piece_count = pieces.count,
                            .uses = uses.data,
                            .use_count = uses.count,
                            .tied_transfers = tied,
                            .tie_room = tie_room,
                            .edge_count = count_edges(graph, request.layout),
                            .target_features = request.target_features,
                            .states = request.states,
                            .before = request.before_step()};
    }
    Recomputed run_again(int count) {
      RecomputedOut out{store.make<bool>(count), store.make<bool>(count), store.make<bool>(count), store.make<Segment>(count),
                        store.make<int>(count)};
      RecomputeStudy study{graph, request.layout, request.again, out};
      study.run();
      return study.out.view();
    }
    Recomputed nothing_again(int count) {
      auto* const no = store.make<bool>(count);
      return {no, no, no, store.make<Segment>(count), store.make<int>(count)};
    }
    ValueFacts facts_of(bool training, int count, const Recomputed& again) {
      ValueStudy values{
          graph, request.layout, training, again, store.make<int>(count), store.make<bool>(count), store.make<bool>(count), store.make<int>(count)};
      values.run();
      return {values.root, values.framed, values.again, values.consumers};
    }
    Bodies open_bodies(bool training, bool recomputes) {
      const int n = graph.node_count + 1;
      const int chunks = request.layout.chunk_count;
      const int counted = shared.most_entries(training, recomputes);
      const int entries = request.most_entries > 0 && request.most_entries < counted ? request.most_entries : counted;
      return {store.make_list<Entry>(entries),
              store.make_list<Transfer>(2 * shared.edge_count + (training ? shared.tied_transfers : 0)),
              store.make_list<PlacedEdge>(shared.edge_count),
              store.make_list<Collective>(shared.most_collectives(training, recomputes)),
              store.make<IndexRange>(chunks),
              store.make<IndexRange>(chunks),
              store.make<IndexRange>(chunks),
              store.make<bool>(chunks * pool_kinds),
              store.make<Place>(n),
              store.make<Place>(n),
              store.make<Place>(n),
              store.make<Place>(n),
              store.make<std::int64_t>(chunks * pool_kinds),
              store.make<std::int64_t>(chunks)};
    }
    Diagnosis lower(bool training) {
      const bool recomputes = training && request.again.any;
      const int values = graph.node_count + 1;
      const Recomputed again = recomputes ? run_again(values) : nothing_again(values);
      const ValueFacts facts = facts_of(training, values, again);
      Bodies bodies = open_bodies(training, recomputes);
      const BodyInput input = shared.body_input(training);
      write_forwards(input, facts, bodies);
      const int transfers = bodies.transfers.count;
      if (training && bodies.fault().ok()) {
        write_backwards(input, facts, again, bodies);
        append_tied_transfers(shared.uses, shared.use_count, shared.buckets, request.layout, shared.storage,
                              store.make<std::int64_t>(request.layout.roles()), bodies.transfers);
      }
      if (const Diagnosis found = bodies.fault(); !found.ok()) return found;
      if (request.fuses) Fusion{input, bodies}.mark();
      if (const Diagnosis found = check_limit("transfers", most_indexed, bodies.transfers.count); !found.ok()) return found;
      if (const Diagnosis found = check_limit("collectives", most_indexed, bodies.collectives.count); !found.ok()) return found;
      return list(training, bodies, transfers);
    }
    /// S14: each transfer is a start and a wait at either end, once a micro-batch; a role has few lines more for a bucket or a tie.
    Diagnosis check_length(const Bodies& bodies, int computes) const {
      const std::int64_t starts = std::int64_t{4} * bodies.transfers.count * request.batch.total_micro_batches();
      const std::int64_t closing = std::int64_t{request.layout.roles()} * (8 * shared.bucket_count + 16 + 3 * bodies.transfers.count);
      const std::int64_t lines = computes + starts + closing;
      return check_limit("instructions", most_listed, lines);
    }
    /// `transfers`: those of bodies; behind them are those of tied gradients.
    Diagnosis list(bool training, const Bodies& bodies, int transfers) {
      const Layout& layout = request.layout;
      const int micro_batches = request.batch.total_micro_batches();
      const int each = passes(layout, training);
      const int count = layout.chunk_count * micro_batches * each;
      if (const Diagnosis found = check_length(bodies, count); !found.ok()) return found;
      auto* const computes = store.make<TimedCompute>(count);
      const std::int32_t makespan = schedule_computes(layout, micro_batches, request.batch.micro_batches, training, computes);
      const EmitInput input = shared.emit_input(bodies.transfers.data, transfers, training);
      const int counted = most_instructions(input, each, micro_batches);
      const int lines = request.most_instructions > 0 && request.most_instructions < counted ? request.most_instructions : counted;
      const Lists lists{store.make<Instruction>(lines), lines, store.make<IndexRange>(layout.roles()), store.make<IndexRange>(layout.roles())};
      if (const Diagnosis found = emit_lists(input, each, micro_batches, Schedule{computes, count, makespan}, lists); !found.ok()) return found;

      const int pools = layout.chunk_count * pool_kinds;
      Mode& mode = modes[training ? 0 : 1];
      mode.pools = store.make<Pool>(pools);
      mode.scratch_bytes = bodies.scratch_bytes;
      auto* const slots = store.make<std::int16_t>(pools * micro_batches);
      const SlotInput slot_input{layout, bodies.transfers.data, bodies.edges.data, bodies.edges.count, training, bodies.weight_reads};
      ShownSlotWork work{mode.pools, slots, store.make<int>(pools * micro_batches), store.make<bool>(pools * micro_batches)};
      allot_slots(slot_input, bodies.slot_bytes, lists.instructions, lists.lists, lists.ties, micro_batches, work);
      mode.tables = {training,
                     lists.instructions,
                     lists.lists,
                     bodies.entries.data,
                     bodies.forward,
                     bodies.backward,
                     bodies.weight,
                     bodies.transfers.data,
                     bodies.transfers.count,
                     bodies.collectives.data,
                     bodies.collectives.count,
                     mode.pools,
                     slots};
      return {};
    }
    void place() {
      const int roles = request.layout.roles();
      auto* const arenas = store.make<ArenaMap>(roles);
      const ArenaInput in = shared.arena_input();
      for (int r = 0; r < roles; ++r) arenas[r] = place_arena(in, r, modes[0].pools, modes[1].pools, modes[0].scratch_bytes, modes[1].scratch_bytes);
      for (int m = 0; m < 2; ++m) programs[m] = shared.program(modes[m].tables, arenas);
      auto* const forward = store.make<ArenaMap>(roles);
      auto* const pools = store.make<Pool>(request.layout.chunk_count * pool_kinds);
      place_forward_arenas(programs[1], modes[1].scratch_bytes, forward, pools);
      programs[2] = programs[1];
      programs[2].arenas = forward;
      programs[2].pools = pools;
    }
  };

 private:
  std::unique_ptr<Phases> all_;
};

}  // namespace heddle::plan_room
