// SPDX-License-Identifier: MIT
// Room: plan. The plan of one device that another plan is compared with: its rows, its options, and its grains where numbers depend on them.
// Sees: plan, policy, graph.  Does not see: processes, threads, any backend.
// In: what a plan asks.  Out: OneDeviceOf, or B12 where no device alone has the numbers of the plan.
#pragma once

#include <type_traits>

#include "heddle/graph/graph.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/policy/single.hpp"

namespace heddle::plan_room {

/// The first layer that trains and normalises the rows of a grain together; -1 if there is none.
[[nodiscard]] constexpr int first_joining_rows(const Graph& graph) {
  for (int n = 0; n < graph.node_count; ++n)
    if (graph.leaf(n).rows_together > 0 && !graph.leaf(n).has_phases() && !graph.still(n)) return n;
  return -1;
}
/// The first that trains and whose ranks tell each other of the rows of a micro-batch; -1 if there is none.
[[nodiscard]] constexpr int first_joining_ranks(const Graph& graph) {
  for (int n = 0; n < graph.node_count; ++n)
    if (graph.runs_phases(n)) return n;
  return -1;
}

/// B12: where rows of a grain are normalised together one device needs the grains of the plan, and those have as many rows everywhere; where those of
/// a micro-batch are, it needs these. Those of several ranks do not lie side by side, unless there is but one.
///
/// Tested  plan/one_device_test
[[nodiscard]] constexpr Diagnosis check_one_device(const Graph& graph, const BatchDivision& batch) {
  const int node = first_joining_rows(graph), over_ranks = first_joining_ranks(graph);
  const auto refuse = [] { return Diagnosis{Code{'B', 12}, "no device alone has the numbers of this plan: "}; };
  if (over_ranks >= 0 && batch.ranks > 1 && batch.total_micro_batches() > 1)
    return refuse() << graph.describe(over_ranks).view() << " normalises the rows of a micro-batch of all ranks together, and the rows of one of the "
                    << batch.total_micro_batches() << " micro-batches of " << batch.ranks
                    << " ranks do not lie side by side. Fix: compare a plan with one micro-batch, or one whose ranks do not split the batch.";
  if (over_ranks >= 0 && node >= 0 && batch.ranks > 1 && batch.remedy == Remedy::pad)
    return refuse() << graph.describe(node).view() << " needs grains, and " << graph.describe(over_ranks).view()
                    << " the rows of a micro-batch, which PadLast fills up in another way on several ranks. Fix: name KeepLast in its place.";
  if (node < 0 || batch.share_count == 0) return {};
  return refuse() << graph.describe(node).view()
                  << " normalises the rows of a grain together, and replicas take unequal shares of the batch, so their grains "
                  << "differ. Fix: compare the plan with DataParallel<" << batch.share_count << "> in the place of WeightedDataParallel.";
}

/// The Plan of one device with the model, loss, optimizer and rows of what another plan asks, to which options are added.
///
/// Shape   Batch<64, DropLast> becomes the rows that are counted; with a layer such as BatchNorm2d, the grains of the plan are named, and with one
/// that
///         is Synchronised its micro-batches
/// Tested  plan/one_device_test, run/verify_test, proof/prove_test
template <class Request> struct OneDeviceOf {
  static constexpr bool joins = first_joining_rows(Request::graph) >= 0, over_ranks = first_joining_ranks(Request::graph) >= 0;
  static constexpr bool grained = joins || over_ranks;
  static constexpr int capacity = Request::batch.capacity();
  static constexpr int grain = Request::batch.grain_rows;
  static constexpr Remedy remedy = Request::batch.remedy;
  using Rows = std::conditional_t<remedy == Remedy::drop || (grained && remedy != Remedy::pad), Batch<capacity, KeepLast>, typename Request::Rows>;
  /// Where rows are padded, Batch<30, PadLast> is no whole number of grains of 8, and 4 rounds of them.
  using Grains = std::conditional_t<remedy == Remedy::pad, Accumulate<capacity / grain>, Grain<grain>>;
  template <class... Parts>
  using InFloats = Plan<typename Request::Model, typename Request::Loss, typename Request::Optimizer, Rows, Single, Parts...>;
  template <class... Parts>
  using Whole = std::conditional_t<Request::values == ElementType::float32, InFloats<Parts...>, InFloats<Mixed<BFloat16>, Parts...>>;
  using Rounds = Accumulate<Request::batch.total_micro_batches()>;
  template <class... Parts>
  using OverRanks = std::conditional_t<remedy == Remedy::pad && !joins, Whole<Parts..., Rounds>, Whole<Parts..., Rounds, Grain<grain>>>;
  template <class... Parts>
  using With = std::conditional_t<over_ranks, OverRanks<Parts...>, std::conditional_t<grained, Whole<Parts..., Grains>, Whole<Parts...>>>;
  /// Gradients are compared as they are stepped.
  using Unscaled =
      std::conditional_t<Request::clips, With<Clip<GlobalNorm>>, std::conditional_t<Request::groups.clips_values, With<Clip<EachValue>>, With<>>>;
};

}  // namespace heddle::plan_room
