// SPDX-License-Identifier: MIT
// Room: policy. Turns Sharded<N, Options...> into a batch split along axis shard, and says what of each unit a rank keeps only its slice of.
// Sees: graph, mesh, core.  Does not see: memory, processes, MPI, CUDA.
// In: a Graph, the size of axis shard, what is sharded, how long gathered copies live.  Out: a claim, a batch split, an answer for storage.
#pragma once

#include <string_view>

#include "heddle/core/type_name.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// Sharded<N, OptimizerState>: each rank steps its slice and gathers the parameters once a step (ZeRO-1).
/// Tested  policy/sharded_test, equivalence/sharded_test
struct OptimizerState {
  static constexpr Sharding sharding{false, false, true};
};
/// Sharded<N, Gradients>: a unit's gradient is also reduced to its slice as soon as its backward has run (ZeRO-2).
/// Tested  policy/sharded_test, equivalence/sharded_test
struct Gradients {
  static constexpr Sharding sharding{false, true, true};
};
/// Sharded<N, Parameters>: a unit's parameters are also gathered before use and dropped after it (ZeRO-3, FSDP).
/// Tested  policy/sharded_test, equivalence/sharded_test
struct Parameters {
  static constexpr Sharding sharding{true, true, true};
};
/// How long a gathered copy of parameters lives: until the end of the pass, forward or backward (FSDP's reshard_after_forward=True, the default),
/// or to the end of the step: gathered in the first forward, there for all micro-batches and both directions, as in FSDP with neither
/// reshard_after_forward nor set_reshard_after_backward. An evaluation gathers once a batch then.
/// Tested  policy/sharded_test, equivalence/keep_test
struct Keep {
  /// Gathered parameters stay for one pass of a chunk: with 4 micro-batches each unit is gathered 8 times a step.
  struct Pass {
    static constexpr bool keeps_step = false;
  };
  /// Gathered parameters stay until the end of the step: each unit is gathered once a step.
  struct Step {
    static constexpr bool keeps_step = true;
  };
};

/// Splits the batch, and keeps of optimizer states, gradients and parameters only the slice of this rank.
/// A unit is a block of the outermost Repeat or OneUnit, or a leaf outside; it is one flat buffer, padded so that every N divides it.
/// Frozen parameters are sliced and gathered where others are; they have nothing else to slice.
/// Where sums are reproducible over several grains a rank, gradients stay whole until the last micro-batch.
/// Options, in any order: OptimizerState, Gradients or Parameters (default); Keep::Pass (default) or Keep::Step.
///
/// Shape   batch (B, ...) becomes (B/N, ...) per rank; a unit of U bytes becomes U/N per rank; Keep::Step adds the whole units
/// Moves   (N-1)/N x parameter bytes x 2 (OptimizerState), 1 + M (Gradients), 2 M + M (Parameters), M micro-batches;   [bytes]
///         1 + M (Parameters, Keep::Step); the M of gradients is 1 where they stay whole until the last micro-batch
/// Errors  M04 an option that is unknown or named twice, M05 if N does not divide 64, M08 if nothing is gathered that could be kept;
///         B01, B02 as DataParallel; RankLost at run time
/// Source  sources.md#zero
/// Tested  policy/sharded_test, equivalence/sharded_test, equivalence/keep_test, oracle/zero_test
template <int N, class... OptionsSuchAsGradients> struct Sharded {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.claim(axis::shard, N);
    layout.splits_batch(axis::shard);
    (refuse_unknown<OptionsSuchAsGradients>(layout), ...);
    refuse_twice(layout, "what is sliced", (0 + ... + (says_what<OptionsSuchAsGradients> ? 1 : 0)));
    refuse_twice(layout, "Keep", (0 + ... + (says_how_long<OptionsSuchAsGradients> ? 1 : 0)));
    Sharding what = Parameters::sharding;
    (take<OptionsSuchAsGradients>(what), ...);
    if (!what.parameters && (false || ... || says_how_long<OptionsSuchAsGradients>))
      layout.refuse(Diagnosis{Code{'M', 8}, "Sharded"}
                    << " is to keep gathered parameters, but slices only " << (what.gradients ? "gradients and " : "")
                    << "optimizer states, so parameters are whole before any use. Fix: name Parameters, or drop Keep.");
    layout.keeps_slices(axis::shard, what);
  }

 private:
  template <class Option> static constexpr bool says_what = requires { Option::sharding; };
  template <class Option> static constexpr bool says_how_long = requires { Option::keeps_step; };

  template <class Option> static constexpr void refuse_unknown(Layout& layout) {
    if constexpr (!says_what<Option> && !says_how_long<Option>)
      layout.refuse(
          Diagnosis{Code{'M', 4}, ""} << type_name<Option>().view()
                                      << " is no part of Sharded. Fix: use OptimizerState, Gradients, Parameters, Keep::Pass or Keep::Step.");
  }
  static constexpr void refuse_twice(Layout& layout, std::string_view what, int times) {
    if (times > 1) layout.refuse(Diagnosis{Code{'M', 4}, ""} << "Sharded names " << what << ' ' << times << " times. Fix: keep one of them.");
  }
  template <class Option> static constexpr void take(Sharding& what) {
    if constexpr (says_what<Option>) {
      const bool keeps = what.keeps;
      what = Option::sharding;
      what.keeps = keeps;
    }
    if constexpr (says_how_long<Option>) what.keeps = Option::keeps_step;
  }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::Gradients, policy_room::Keep, policy_room::OptimizerState, policy_room::Parameters, policy_room::Sharded;
}  // namespace heddle
