// SPDX-License-Identifier: MIT
// Room: plan. The checks that read the lowered Program of a Request, one constexpr variable each.
// Sees: every phase of plan.  Does not see: policies by name, processes, threads, kernels.
// In: a Request.  Out: CheckedProgram<Request>::found(), a Diagnosis.
#pragma once

#include <cstddef>

#include "heddle/plan/check/budget.hpp"
#include "heddle/plan/check/clipping.hpp"
#include "heddle/plan/check/collectives.hpp"
#include "heddle/plan/check/coverage.hpp"
#include "heddle/plan/check/data_flow.hpp"
#include "heddle/plan/check/facts.hpp"
#include "heddle/plan/check/gradient_flow.hpp"
#include "heddle/plan/check/guarding.hpp"
#include "heddle/plan/check/loss_scaling.hpp"
#include "heddle/plan/check/paired.hpp"
#include "heddle/plan/check/placements.hpp"
#include "heddle/plan/check/rules.hpp"
#include "heddle/plan/check/same_on_ranks.hpp"
#include "heddle/plan/check/slices.hpp"
#include "heddle/plan/check/slots.hpp"
#include "heddle/plan/check/tied_check.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/plan/lower/lower.hpp"

namespace heddle::plan_room {

/// What the check of lines found in one mode of a plan; the checks of how the lists meet and end read it.
/// FoundInLines<120, 2> has room for 120 lines on 2 roles.
template <int Most, int Roles> struct FoundInLines {
  Diagnosis found;
  int after[std::size_t{Most}]{};
  int first_start[std::size_t{Roles}]{};
  int first_closing = 0;
  bool conditional = false;
};

/// The slots of one mode of a plan.
template <class Request, bool Training> struct CheckedSlots {
  using P = SharedPhases<Request>;
  using L = Lowered<Request, Training>;
  static constexpr Diagnosis find() {  // in a lambda clang 14 takes this for no constant expression
    using Notes = SlotNotes<P::chunks, P::micro_batches, 2 * P::edges + L::tied>;
    Notes notes;
    SlotCheck<Notes> check{Training ? LoweredPrograms<Request>::training : LoweredPrograms<Request>::evaluation, notes};
    check.run(L::lists.instructions, L::all_bodies.entries, L::slots.slots);
    return check.found;
  }
  static constexpr Diagnosis found = find();
};

/// Every line of one mode of a plan, then how the lists meet.
template <class Request, bool Training> struct CheckedLines {
  using P = SharedPhases<Request>;
  static constexpr int most = Lowered<Request, Training>::together;
  /// A function: nvcc 13 rejects a static member that is a reference.
  static constexpr const Program& program() { return Training ? LoweredPrograms<Request>::training : LoweredPrograms<Request>::evaluation; }

  /// `starts`: those of LineCheck, if anybody asks.
  static constexpr FoundInLines<most, P::roles> check_lines(int* starts = nullptr) {  // in a lambda clang 14 takes this for no constant expression
    FoundInLines<most, P::roles> out;
    ChunkPass passes[P::chunks * P::micro_batches]{};
    int of_token[std::size_t{most}]{};
    using Check = LineCheck<decltype(passes)&, decltype(of_token)&, decltype(out.after)&, decltype(out.first_start)&>;
    Check check{program(), passes, starts, of_token, out.after, out.first_start};
    check.run(Lowered<Request, Training>::lists.instructions);
    out.found = check.found;
    out.first_closing = check.first_closing;
    out.conditional = check.conditional;
    return out;
  }
  static constexpr FoundInLines<most, P::roles> lines = check_lines();
  /// The short proof; lists that it says nothing about are executed.
  static constexpr bool paired = [] {
    int next[P::roles]{};
    for (int r = 0; r < P::roles; ++r) next[r] = lines.first_start[r];
    return lines.found.ok() && starts_pair_up(program(), Lowered<Request, Training>::lists.instructions, lines.after, next);
  }();
  static constexpr Diagnosis rendezvous = [] {
    if constexpr (paired || !lines.found.ok()) {
      return lines.found;
    } else {
      int starts[std::size_t{most}]{};
      check_lines(starts);
      RendezvousBuffers<most, P::roles> buffers;
      return check_rendezvous(ProgramLists{&program(), starts, P::roles}, Lanes::one_per_device, buffers.view());
    }
  }();
};

/// What flows in one mode of a plan, with room for all that its entries write: two tensors at most each.
template <class Request, bool Training> struct CheckedFlow {
  using P = SharedPhases<Request>;
  using Lines = CheckedLines<Request, Training>;
  static constexpr int writes = 2 * Lowered<Request, Training>::most_entries + 2 * P::edges + 2;

  static constexpr Diagnosis find_values() {  // in a lambda clang 14 takes this for no constant expression
    std::uint64_t of_values[std::size_t{P::nodes + 1}]{};
    std::uint64_t of_gradients[std::size_t{P::nodes + 1}]{};
    std::uint64_t of_terms[std::size_t{P::nodes + 1}]{};
    FlowPool pools[std::size_t{P::chunks * pool_kinds + 2}]{};
    FlowTensor tensors[std::size_t{writes}]{};
    FlowLeaf leaves[std::size_t{P::graph.leaf_count + 1}]{};
    int made[std::size_t{P::nodes + 1}]{};
    const Program& p = Lines::program();
    const FlowTensors memory{pools, tensors, p.batch.grain_rows, grains_of(p.batch), FlowBytes{P::graph}};
    DataFlow flow{{{p, {of_values, of_gradients, of_terms}, memory, leaves, made}}};
    flow.run();
    return flow.fault;
  }
  static constexpr Diagnosis find_steps() {
    if (!Lines::lines.found.ok()) return {};
    BucketFlow buckets[std::size_t{P::bucket_count + 1}]{};
    std::int16_t bucket_of[std::size_t{P::nodes + 1}]{};
    std::int8_t arrived[std::size_t{P::uses + 1}]{};
    std::int8_t sending[std::size_t{P::uses + 1}]{};
    const Program& p = Lines::program();
    GradientFlow flow{p, buckets, bucket_of, arrived, sending, {p, Lines::lines.after, Lines::lines.first_closing}};
    flow.run();
    return flow.fault;
  }
  static constexpr Diagnosis find_collectives() {
    if (!Lines::lines.found.ok()) return {};
    int started[std::size_t{2 * (P::bucket_count + P::frozen_count) + 1}]{};
    CollectiveCheck<int*> check{Lines::program(), started};
    check.run(Lines::lines.after, Lines::lines.first_closing);
    return check.fault;
  }
  static constexpr Diagnosis same =
      check_same_on_ranks(Lines::program(), Lines::lines.after, Lines::lines.conditional ? -1 : Lines::lines.first_closing);
  static constexpr Diagnosis values = find_values();
  static constexpr Diagnosis steps = find_steps();
  static constexpr Diagnosis collectives = find_collectives();
};

/// The checks that read the lowered Program, one constexpr variable each.
template <class Request> struct CheckedProgram {
  using P = SharedPhases<Request>;
  using Trained = CheckedLines<Request, true>;
  static constexpr Diagnosis fine{};

  static constexpr Diagnosis find_noted() {                 // in a lambda clang 14 takes this for no constant expression
    const MadeFrom from = plan_room::made_from(Request{});  // without the room's name the compiler looks into the Plan, which is not checked yet
    return check_noted(LoweredPrograms<Request>::training, LoweredPrograms<Request>::evaluation, from);
  }
  static constexpr Diagnosis noted = find_noted();
  static constexpr Diagnosis reductions = [] {
    BucketCounts counts[std::size_t{P::bucket_count > 0 ? P::bucket_count : 1}]{};
    return check_reductions(LoweredPrograms<Request>::training, counts, Trained::lines.after, Trained::lines.first_closing);
  }();
  static constexpr Diagnosis slices = check_slices(LoweredPrograms<Request>::training);
  static constexpr Diagnosis slices_in_evaluation = check_slices(LoweredPrograms<Request>::evaluation);
  static constexpr Diagnosis placements = check_placements(LoweredPrograms<Request>::training);
  static constexpr Diagnosis placements_in_evaluation = check_placements(LoweredPrograms<Request>::evaluation);
  static constexpr Diagnosis clipping = check_clipping(LoweredPrograms<Request>::training);
  static constexpr Diagnosis scaling = check_loss_scaling(LoweredPrograms<Request>::training);
  static constexpr Diagnosis guarding = check_guarding(LoweredPrograms<Request>::training);
  static constexpr Diagnosis ties = check_ties(LoweredPrograms<Request>::training);
  static constexpr Diagnosis memory = check_memory(LoweredPrograms<Request>::training, Request::budget, fits_cut_to_memory<Request>());

  /// What one mode says of a rule. An evaluation reduces, clips, scales and ties nothing.
  template <bool Training> static constexpr const Diagnosis& of(Rule rule) {
    using Lines = CheckedLines<Request, Training>;
    using Flow = CheckedFlow<Request, Training>;
    switch (rule) {
      case Rule::ranges: return fine;  // what is out of range is no constant expression
      case Rule::lines: return Lines::lines.found;
      case Rule::reductions: return Training ? reductions : fine;
      case Rule::slices: return Training ? slices : slices_in_evaluation;
      case Rule::clipping: return Training ? clipping : fine;
      case Rule::loss_scaling: return Training ? scaling : fine;
      case Rule::guarding: return Training ? guarding : fine;
      case Rule::ties: return Training ? ties : fine;
      case Rule::placements: return Training ? placements : placements_in_evaluation;
      case Rule::slots: return CheckedSlots<Request, Training>::found;
      case Rule::same_on_ranks: return Flow::same;
      case Rule::values: return Flow::values;
      case Rule::steps: return Flow::steps;
      case Rule::rendezvous: return Lines::rendezvous;
      case Rule::collectives: return Flow::collectives;
    }
    return fine;
  }

  /// As check(LoweredPlan) asks.
  static constexpr Diagnosis found() {
    for (const Diagnosis* d : {&Lowered<Request, true>::fault, &Lowered<Request, false>::fault, &noted})
      if (!d->ok()) return *d;
    if (const Diagnosis* const d = first_broken(of<true>); d != nullptr) return *d;
    if (const Diagnosis* const d = first_broken(of<false>); d != nullptr) return *d;
    return memory;
  }
};

}  // namespace heddle::plan_room
