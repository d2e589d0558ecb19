// SPDX-License-Identifier: MIT
// Room: plan. The checks that read the lowered Program of a Request, one constexpr variable each.
// Sees: every phase of plan.  Does not see: policies by name, processes, threads, kernels.
// In: a Request.  Out: CheckedProgram<Request>::found(), a Diagnosis.
#pragma once

#include <cstddef>
#include <string_view>

#include "heddle/plan/check/arenas.hpp"
#include "heddle/plan/check/clipping.hpp"
#include "heddle/plan/check/coverage.hpp"
#include "heddle/plan/check/data_flow.hpp"
#include "heddle/plan/check/flat.hpp"
#include "heddle/plan/check/gradient_flow.hpp"
#include "heddle/plan/check/loss_scaling.hpp"
#include "heddle/plan/check/noted.hpp"
#include "heddle/plan/check/paired.hpp"
#include "heddle/plan/check/placements.hpp"
#include "heddle/plan/check/same_on_ranks.hpp"
#include "heddle/plan/check/slices.hpp"
#include "heddle/plan/check/slots.hpp"
#include "heddle/plan/check/tied_check.hpp"
#include "heddle/plan/lower/fitted_cut.hpp"
#include "heddle/plan/lower/lower.hpp"

namespace heddle::plan_room {

/// What brings the largest part of an arena down. Copies of gradients along the tree over grains are far more than one: 30 grains on a rank are up to
/// five.
[[nodiscard]] constexpr Text<96> smaller_memory(const Program& p, std::string_view largest, bool copies_gradients) {
  Text<96> fix;
  if (largest == "gradients" && copies_gradients)
    return p.batch.grain_named ? fix << "drop Grain<" << p.batch.grain_rows << ">, whose sums keep copies of gradients, or name a larger Memory."
                               : fix << "drop Reproducible, whose sums keep copies of gradients, or name a larger Memory.";
  if (largest == "activations and transfers") return fix << "use Recompute, a smaller batch, more stages or a larger Memory.";
  return fix << "use more stages, a smaller batch or a larger Memory.";
}

/// C01: the sentence names the stage that needs most, its bytes and the two largest contributors. `fitted`: its cut was chosen for the budget.
[[nodiscard]] constexpr Diagnosis check_memory(const Program& p, Bytes budget, bool fitted = false) {
  if (budget.value == 0) return {};
  int largest = 0;
  for (int r = 1; r < p.roles; ++r)
    if (p.arenas[r].total > p.arenas[largest].total) largest = r;
  if (const ArenaMap& map = p.arenas[largest]; map.total > budget.value) {
    /// A part of the arena, for the sentence that a plan needs too much: {"gradients", 159,040}.
    struct Share {
      std::string_view name;
      std::int64_t bytes;
    };
    Share parts[] = {{"parameters", map.gradients - map.parameters},  // with units that are gathered
                     {"gradients", map.states - map.gradients},
                     {"optimizer states", map.losses - map.states},
                     {"activations and transfers", map.scratch - map.pools},
                     {"scratch", map.total - map.scratch}};
    for (Share& a : parts)
      for (Share& b : parts)
        if (a.bytes > b.bytes) {
          const Share t = a;
          a = b;
          b = t;
        }
    const bool copies_gradients = p.batch.tree && map.states - map.gradients > map.gradients - map.parameters;
    return Diagnosis{Code{'C', 1}, ""} << "stage " << largest << " needs " << map.total << " bytes" << (fitted ? " in the best cut found" : "")
                                       << ", the plan allows " << budget.value << " bytes. Largest: " << parts[0].name << " with " << parts[0].bytes
                                       << " bytes, " << parts[1].name << " with " << parts[1].bytes
                                       << " bytes. Fix: " << smaller_memory(p, parts[0].name, copies_gradients).view();
  }
  return {};
}

/// What the check of lines found in one mode of a plan; the checks of how the lists meet and end read it.
/// FoundInLines<120, 2> has room for 120 lines on 2 roles.
template <int Most, int Roles> struct FoundInLines {
  Diagnosis found;
  int starts[std::size_t{Most}]{};
  int after[std::size_t{Most}]{};
  int first_start[std::size_t{Roles}]{};
  int first_closing = 0;
};

/// The slots of one mode of a plan.
template <class Request, bool Training> struct CheckedSlots {
  using P = SharedPhases<Request>;
  static constexpr int slots = P::chunks * pool_kinds * P::micro_batches;
  static constexpr int bodies = SlotCheck::passes * P::chunks;
  static constexpr Diagnosis find() {  // in a lambda clang 14 takes this for no constant expression
    std::int16_t owner[std::size_t{slots}]{};
    bool touched[std::size_t{slots}]{};
    std::int16_t named[std::size_t{bodies * SlotCheck::most_named(P::chunks)}]{};
    int named_count[std::size_t{bodies}]{};
    SlotCheck check{Training ? LoweredPrograms<Request>::training : LoweredPrograms<Request>::evaluation, owner, touched, named, named_count};
    check.run();
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

  static constexpr FoundInLines<most, P::roles> check_lines() {  // in a lambda clang 14 takes this for no constant expression
    FoundInLines<most, P::roles> out;
    ChunkPass passes[P::chunks * P::micro_batches]{};
    int of_token[std::size_t{most}]{};
    LineCheck check{program(), passes, out.starts, of_token, out.after, out.first_start};
    check.run();
    out.found = check.found;
    out.first_closing = check.first_closing;
    return out;
  }
  static constexpr FoundInLines<most, P::roles> lines = check_lines();
  /// The short proof; lists that it says nothing about are executed.
  static constexpr bool paired = [] {
    int next[P::roles]{};
    for (int r = 0; r < P::roles; ++r) next[r] = lines.first_start[r];
    return lines.found.ok() && starts_pair_up(program(), lines.after, next);
  }();
  static constexpr Diagnosis rendezvous = [] {
    if constexpr (paired || !lines.found.ok()) {
      return lines.found;
    } else {
      RendezvousBuffers<most, P::roles> buffers;
      return check_rendezvous(ProgramLists{&program(), lines.starts, P::roles}, Lanes::one_per_device, buffers.view());
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
    DataFlow flow{p, {of_values, of_gradients, of_terms}, {pools, tensors, p.batch.grain_rows, 4 * p.batch.grains()}, leaves, made};
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
  static constexpr Diagnosis same = check_same_on_ranks(Lines::program());
  static constexpr Diagnosis values = find_values();
  static constexpr Diagnosis steps = find_steps();
};

/// The checks that read the lowered Program, one constexpr variable each.
template <class Request> struct CheckedProgram {
  using P = SharedPhases<Request>;
  using Trained = CheckedLines<Request, true>;
  using Evaluated = CheckedLines<Request, false>;
  using TrainedFlow = CheckedFlow<Request, true>;
  using EvaluatedFlow = CheckedFlow<Request, false>;

  static constexpr Diagnosis find_noted() {  // in a lambda clang 14 takes this for no constant expression
    const MadeFrom from{Request::graph,  Request::layout, Request::batch,      Request::target_features,
                        Request::states, Request::clips,  Request::scales_loss};
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
  static constexpr Diagnosis ties = check_ties(LoweredPrograms<Request>::training);
  static constexpr Diagnosis memory = check_memory(LoweredPrograms<Request>::training, Request::budget, fits_cut_to_memory<Request>());

  static constexpr Diagnosis found() {
    for (const Diagnosis* d : {&Lowered<Request, true>::fault,
                               &Lowered<Request, false>::fault,
                               &noted,
                               &Trained::lines.found,
                               &Evaluated::lines.found,
                               &CheckedSlots<Request, true>::found,
                               &CheckedSlots<Request, false>::found,
                               &reductions,
                               &slices,
                               &slices_in_evaluation,
                               &placements,
                               &placements_in_evaluation,
                               &clipping,
                               &scaling,
                               &ties,
                               &TrainedFlow::same,
                               &EvaluatedFlow::same,
                               &TrainedFlow::values,
                               &EvaluatedFlow::values,
                               &TrainedFlow::steps,
                               &EvaluatedFlow::steps,
                               &Trained::rendezvous,
                               &Evaluated::rendezvous,
                               &memory})
      if (!d->ok()) return *d;
    return {};
  }
};

}  // namespace heddle::plan_room
