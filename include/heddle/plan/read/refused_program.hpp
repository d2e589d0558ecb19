// SPDX-License-Identifier: MIT
// Room: plan. What lower, traffic and questions about a Program answer if a plan is refused: values of which every word compares as true.
// Sees: core/refused, plan/program, plan/read/ledger, mesh.  Does not see: policies, processes, threads.
// In: -.  Out: no_program, a RefusedProgram; RefusedTraffic.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/core/refused.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/ledger.hpp"

namespace heddle::plan_room {

// Each of these has every word of what it derives from (tests/house/refused.py), and stands where that one is taken.

/// Answers in place of the mesh of a broken plan: each number compares as true, so that the fault of the plan stays the only error.
struct RefusedMesh : RefusedAnswer, Mesh {
  RefusedWord<RefusedNumber> axes, sizes, size, ranks, stride, coordinate, moved, group, member;
  RefusedNumber count;
};

/// Answers in place of the division of a batch of a broken plan, as RefusedMesh does.
struct RefusedBatch : RefusedAnswer, BatchDivision {
  RefusedNumber batch, remedy, ranks, rounds, micro_batches, micro_rows, share_count, share_rows, grain_rows;
  RefusedFact tree, grain_named;
  RefusedWord<RefusedNumber> shares, total_micro_batches, grains, rank_grains, rank_rows, capacity, micro_rows_of, first_row_of, rows_of,
      ranks_without_rows, levels;
};

/// What the lists and bodies of a refused plan are: one line each, which does nothing.
/// Its one chunk has 4 pools without a slot.
struct NothingLowered {
  Graph graph;
  int chunks[2]{};
  Instruction instructions[1];
  IndexRange ranges[1];
  Entry entries[1];
  Transfer transfers[1];
  Collective collectives[1];
  Pool pools[pool_kinds];
  std::int16_t numbers[pool_kinds]{};
  ParameterPlace parameters[1];
  FlatBucket buckets[1];
  FlatUnit units[1];
  StepPiece pieces[1];
  TiedUse uses[1];
  ArenaMap arenas[1];
};
inline constexpr NothingLowered nothing_lowered{};

/// A program without instructions, on one device.
///
/// Tested  plan/read/refused_program_test, fail/G01_lessons_about_a_broken_plan
struct RefusedProgram : RefusedAnswer, Program {
  RefusedMesh mesh;
  RefusedBatch batch;
  RefusedNumber roles, chunks, transfer_count, collective_count, bucket_count, frozen_count, unit_count, piece_count, use_count;
  RefusedFact clips, scales_loss, guards;
  RefusedWord<RefusedFact> batch_split, moves;
  RefusedWord<RefusedNumber> device_of_chunk, first_node, loss_role, slot, norm_floats, grain_stride, grain_elements, type_of, floats;
  RefusedWord<RefusedBytes> bytes;
  RefusedWord<BeforeStep> before_step;

  constexpr RefusedProgram() {
    const NothingLowered& none = nothing_lowered;
    graph = &none.graph;
    Program::device_of_chunk = Program::first_node = none.chunks;
    instructions = none.instructions;
    lists = forward_bodies = backward_bodies = weight_bodies = none.ranges;
    entries = none.entries;
    transfers = none.transfers;
    collectives = none.collectives;
    pools = none.pools;
    slots = bucket_of_node = none.numbers;
    parameters = none.parameters;
    buckets = none.buckets;
    units = none.units;
    pieces = none.pieces;
    uses = none.uses;
    arenas = none.arenas;
  }
};
inline constexpr RefusedProgram no_program{};
template <bool Sound> using ShownProgram = std::conditional_t<Sound, Program, RefusedProgram>;

/// Answers in place of a Volume of a broken plan, as RefusedMesh does.
struct RefusedVolume : RefusedAnswer, Volume {
  RefusedBytes total_payload, total_with_padding;
  RefusedNumber messages, ranks;
  RefusedWord<RefusedBytes> moved_per_rank, padding;
  RefusedWord<RefusedVolume> on;
};

/// Answers in place of the Traffic of a broken plan, as RefusedMesh does.
struct RefusedTraffic : RefusedAnswer, Traffic {
  RefusedWord<RefusedVolume> gradients, parameters, activations, ties, values, phases, loss, norm;
  RefusedWord<RefusedNumber> value_collectives, messages;
  RefusedWord<RefusedBytes> sent_in_norm, sent_in_phases, sent_for_loss, sent_to_peers, sent_in_reductions, sent_in_reduce_scatters, sent_in_gathers,
      sent_in_collectives, sent_in_values, sent, total;

  constexpr RefusedTraffic() : Traffic{&no_program} {}
};

// What work.hpp and recompute.hpp say of a Program.
[[nodiscard]] constexpr RefusedNumber bubble_percent(const RefusedProgram&) { return {}; }
[[nodiscard]] constexpr RefusedNumber waiting_percent(const RefusedProgram&) { return {}; }
[[nodiscard]] constexpr RefusedNumber stage_flops(const RefusedProgram&, int) { return {}; }
[[nodiscard]] constexpr RefusedFlops flops_run_again(const RefusedProgram&) { return {}; }

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::bubble_percent;
}  // namespace heddle

namespace heddle::extending {
using plan_room::flops_run_again, plan_room::stage_flops;
}  // namespace heddle::extending
