// SPDX-License-Identifier: MIT
// Room: plan. What a plan asks of the lowering, as data: a graph, a layout, the division of the batch and options.
// Sees: graph, policy answers, plan options.  Does not see: processes, threads, kernels, names of policies.
// In: a Request that is a type, or values of any origin.  Out: LoweringRequest.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/graph_check.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/plan/lower/groups.hpp"
#include "heddle/plan/lower/layout_check.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/options/batch.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// What a plan asks of the lowering. Its graph, the leaves to run again and groups are views: a LoweredPlan copies what they show.
///
/// Linear<4, 3> under DataParallel<2> with Batch<8>: a graph of one node, a layout whose axis data has size 2, 8 rows over 2 ranks.
/// Tested  plan/lower/lowering_request_test, plan/lower/lowered_plan_test
struct LoweringRequest {
  Graph graph;
  Layout layout{graph};
  BatchDivision batch;
  Bytes bucket_bytes = default_bucket;
  std::int64_t target_features = 1;
  int states = 0;  ///< of the optimizer, for each parameter
  bool clips = false;
  bool scales_loss = false;
  bool guards = false;
  bool reproducible = false;  ///< the plan names Reproducible
  bool trains = true;         ///< false: there need be nothing to train
  ChosenLeaves again{};       ///< what Recompute names
  ParameterGroups groups{};   ///< what NoDecay and LearningRateFactor name
  Bytes budget{0};            ///< of one device; 0: none
  bool fitted = false;        ///< a balanced cut that does not fit the budget gives way to one that does: Balanced<2> beside Memory<1_MB>
  bool fuses = true;          ///< entries that a kernel may run at once are marked; false: each runs by itself, with the same bits
  int most_entries = 0;       ///< room for entries of bodies in each mode; 0: as many as are counted
  int most_instructions = 0;  ///< room for instructions in each mode; 0: as many as are counted

  [[nodiscard]] constexpr BeforeStep before_step() const { return {clips, scales_loss, guards}; }
};

/// The parts of a plan, or what names them already.
template <class ThePlan> struct RequestBehind { using type = ThePlan; };
template <class ThePlan>
requires requires { typename ThePlan::Request; }
struct RequestBehind<ThePlan> {
  using type = typename ThePlan::Request;
};

/// What a plan that is a type asks: request_of<MyPlan>(). The cut is the one that its policy asks for, also where the plan has another to fit.
template <class ThePlan> [[nodiscard]] constexpr LoweringRequest request_of() {
  using Request = typename RequestBehind<ThePlan>::type;
  LoweringRequest out{Request::graph, Request::layout, Request::batch};
  out.bucket_bytes = Request::bucket_bytes;
  out.target_features = Request::target_features;
  out.states = Request::states;
  out.clips = Request::clips;
  out.scales_loss = Request::scales_loss;
  out.guards = Request::guards;
  out.reproducible = Request::batch_request.reproducible;
  out.trains = Request::trains;
  out.again = Request::Chosen::value.view();
  out.groups = Request::groups;
  if constexpr (requires { Request::own_budget; }) {
    out.budget = Request::own_budget;  // of an Inference: of the arena that it has itself
  } else {
    out.budget = Request::budget;
    if constexpr (fits_cut_to_memory<Request>()) {
      out.fitted = true;
      out.layout = Request::answered;
    }
  }
  return out;
}

/// True if the cut is chosen when the plan is lowered; C01 then speaks of the best cut found.
///
/// Tested  plan/lower/fitted_request_test
[[nodiscard]] constexpr bool fits_cut_to_memory(const LoweringRequest& in) {
  return in.fitted && in.trains && fits_cut_to_memory(in.layout, in.budget);
}

/// B08, B09: what a plan promises of its sums and its policies do not keep.
[[nodiscard]] constexpr Diagnosis check_sums(const Graph& graph, const Layout& layout, const BatchDivision& batch, bool reproducible, bool clips) {
  if (reproducible && layout.mesh.size(Axis::tensor) > 1)
    return Diagnosis{Code{'B', 8}, ""} << "sums are to be reproducible, but the " << layout.mesh.size(Axis::tensor)
                                       << " ranks of axis tensor add the terms of a product in another order than one device. Fix: drop "
                                          "Reproducible; Grain keeps the order of all other sums.";
  if (clips && (reproducible || batch.grain_named) && cuts_a_unit(graph, layout))
    return Diagnosis{Code{'B', 9}, ""} << "sums are to be reproducible and gradients clipped by their norm, but a cut goes through a block of "
                                       << graph.model.view()
                                       << ", whose squares one device adds as one unit. Fix: cut between blocks, or drop Grain and Reproducible.";
  return {};
}
/// What refuses a division, or B14: where rows are normalised together in training a grain has enough of them, or a micro-batch of all ranks.
[[nodiscard]] constexpr Diagnosis check_batch(const Graph& graph, const BatchDivision& batch, bool trains) {
  if (!batch.fault.ok() || !trains) return batch.fault;
  int rows = batch.grain_rows;
  for (int i = 0; i < batch.share_count; ++i)
    if (const int share = batch.share_rows * batch.shares[i]; share < rows) rows = share;
  for (int n = 0; n < graph.node_count; ++n) {
    const Leaf& leaf = graph.leaf(n);
    if (leaf.rows_together <= rows || graph.still(n)) continue;
    if (leaf.has_phases() && leaf.rows_together <= batch.capacity() / batch.total_micro_batches()) continue;  // of all ranks
    const Diagnosis found = Diagnosis{Code{'B', 14}, ""} << graph.describe(n).view() << " normalises at least " << leaf.rows_together
                                                         << " rows together, but those that are summed as one, a ";
    if (leaf.has_phases()) return Diagnosis{found} << "micro-batch of all ranks, are " << rows << ". Fix: make fewer micro-batches of the batch.";
    return Diagnosis{found} << "grain of one rank, are " << rows << ". Fix: give each rank a larger batch, or name a Grain of at least "
                            << leaf.rows_together << " rows.";
  }
  return {};
}
/// G09: a plan that trains has something to train.
[[nodiscard]] constexpr Diagnosis check_trained(const Graph& graph) {
  if (graph.last_untrained() < graph.node_count) return {};
  Diagnosis found = Diagnosis{Code{'G', 9}, ""} << graph.model.view();
  if (graph.parameter_count > 0)
    return found << " has parameters in frozen layers alone, so there is nothing to train. Fix: leave a layer with parameters outside of Frozen.";
  return found << " has no parameters, so there is nothing to train. Fix: add a layer with parameters.";
}
inline constexpr int most_indexed = 32'767;  ///< indices have 16 bits

/// S14: a micro-batch has an index of 16 bits.
///
/// Tested  plan/lower/lowered_plan_test
[[nodiscard]] constexpr Diagnosis check_micro_batches(const BatchDivision& batch) {
  return check_limit("micro-batches", most_indexed, std::int64_t{batch.rounds} * batch.micro_batches);
}
/// B13: the division is the one that divide_batch makes of these rows, rounds and grains for this layout; what refuses those is told.
[[nodiscard]] constexpr Diagnosis check_division(const LoweringRequest& in) {
  const BatchDivision& is = in.batch;
  if (is.remedy > Remedy::keep)
    return Diagnosis{Code{'B', 13}, ""} << "a batch of " << is.batch << " rows says of a smaller one what is none. Fix: name one of Remedy.";
  const int grain = is.grain_named ? is.grain_rows : 0;
  const bool regrouped = regroups_a_gradient(in.graph, in.layout);
  const BatchDivision made =
      divide_batch(in.layout, {is.batch, is.remedy, is.rounds, is.grain_named && grain < 1 ? -1 : grain, in.reproducible, regrouped});
  if (!made.fault.ok()) return made.fault;
  /// A number of the division as it is told, and as the layout makes it: {"ranks", 3, 4}.
  struct Number {
    std::string_view name;
    int is, made;
  };
  for (const Number& n : {Number{"ranks", is.ranks, made.ranks}, Number{"micro_batches", is.micro_batches, made.micro_batches},
                          Number{"micro_rows", is.micro_rows, made.micro_rows}, Number{"share_count", is.share_count, made.share_count},
                          Number{"share_rows", is.share_rows, made.share_rows}, Number{"grain_rows", is.grain_rows, made.grain_rows},
                          Number{"tree", is.tree ? 1 : 0, made.tree ? 1 : 0}})
    if (n.is != n.made)
      return Diagnosis{Code{'B', 13}, ""} << "the division of Batch<" << is.batch << "> says " << n.name << " = " << n.is
                                          << ", but its layout makes it " << n.made << ". Fix: take what divide_batch(layout, rows) gives.";
  for (int i = 0; i < made.share_count; ++i)
    if (is.shares[i] != made.shares[i])
      return Diagnosis{Code{'B', 13}, ""} << "the division of Batch<" << is.batch << "> gives replica " << i << " share " << is.shares[i]
                                          << ", but its layout gives it " << made.shares[i] << ". Fix: take what divide_batch(layout, rows) gives.";
  return {};
}
inline constexpr int most_states = 16;  ///< of an optimizer, for each parameter

/// C02, C03: bytes that a request names.
[[nodiscard]] constexpr Diagnosis check_bytes(const LoweringRequest& in) {
  if (in.budget < Bytes{0})
    return Diagnosis{Code{'C', 2}, ""} << "a budget of " << in.budget.value << " bytes allows no plan. Fix: name what a device has, or 0 for none.";
  return check_bucket(in.bucket_bytes);
}
/// L19, L05, L20, L21, G21: what a request asks beside its parts.
[[nodiscard]] constexpr Diagnosis check_asked(const LoweringRequest& in) {
  if (in.target_features < 0 || in.states < 0 || in.states > most_states || in.most_entries < 0 || in.most_instructions < 0)
    return Diagnosis{Code{'L', 19}, ""} << "a request names " << in.target_features << " targets of a row, " << in.states
                                        << " states of a parameter, room for " << in.most_entries << " entries and " << in.most_instructions
                                        << " instructions. Fix: name nothing below 0, and at most " << most_states << " states.";
  if (in.again.any && in.again.leaf == nullptr)
    return Diagnosis{Code{'L', 5}, ""} << in.graph.model.view()
                                       << " is to run layers again, but a view of which is missing. Fix: let again.leaf show " << in.graph.leaf_count
                                       << " answers, also beside blocks.";
  if (const Diagnosis found = check_groups(in.graph, in.groups); !found.ok()) return found;
  constexpr std::int64_t most_targets = std::int64_t{1} << 56;
  const std::int64_t copies = std::int64_t{in.batch.levels()} + in.states + 4;
  if (counted_product(in.target_features, in.batch.capacity()) < most_targets &&
      counted_product(counted_product(in.graph.parameter_elements(), 8), copies) < most_countable)
    return {};
  return Diagnosis{Code{'G', 21}, ""} << in.target_features << " targets of a row, or " << in.graph.parameter_elements()
                                      << " elements of parameters in " << copies
                                      << " copies, are more bytes than can be counted. Fix: use smaller sizes.";
}
/// What refuses a plan before it is lowered. Of several mistakes that a Plan could have too, the one is told that a Plan is refused for; what no plan
/// that is a type could say is asked after where it would stand.
///
/// Errors  G27, M15, B13, L19 of what no plan that is a type could say; else the codes of a Plan
/// Tested  plan/lower/lowering_request_test, faults/requests_test
[[nodiscard]] constexpr Diagnosis check_answers(const LoweringRequest& in) {
  if (const Diagnosis found = check_bytes(in); !found.ok()) return found;
  if (in.graph.fault.ok())  // a value is the node before it plus 1; what is too long is not walked first
    if (const Diagnosis found = check_limit("layers", most_indexed - 1, in.graph.node_count); !found.ok()) return found;
  if (const Diagnosis found = check_graph(in.graph); !found.ok()) return found;
  if (in.trains)
    if (const Diagnosis found = check_trained(in.graph); !found.ok()) return found;
  if (const Diagnosis found = check_layout(in.graph, in.layout); !found.ok()) return found;
  if (!in.batch.fault.ok()) return in.batch.fault;
  if (const Diagnosis found = check_micro_batches(in.batch); !found.ok()) return found;
  if (const Diagnosis found = check_division(in); !found.ok()) return found;
  if (const Diagnosis found = check_batch(in.graph, in.batch, in.trains); !found.ok()) return found;
  if (const Diagnosis found = check_asked(in); !found.ok()) return found;
  const bool cut_here = !fits_cut_to_memory(in);  // else B09 is asked of the cut that is chosen
  if (const Diagnosis found = check_sums(in.graph, in.layout, in.batch, in.reproducible, in.clips && cut_here); !found.ok()) return found;
  return check_totals(in.graph, in.batch.batch, in.batch.total_micro_batches());
}

}  // namespace heddle::plan_room
