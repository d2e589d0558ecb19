// SPDX-License-Identifier: MIT
// Room: plan. What a plan asks of the lowering, as data: a graph, a layout, the division of the batch and options.
// Sees: graph, policy answers, plan options.  Does not see: processes, threads, kernels, names of policies.
// In: a Request that is a type, or values of any origin.  Out: LoweringRequest.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/options/batch.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// What a plan asks of the lowering. Its graph and the leaves to run again are views: a LoweredPlan copies what they show.
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
  bool reproducible = false;  ///< the plan names Reproducible
  bool trains = true;         ///< false: there need be nothing to train
  ChosenLeaves again{};       ///< what Recompute names
  Bytes budget{0};            ///< of one device; 0: none
  int most_entries = 0;       ///< room for entries of bodies in each mode; 0: as many as are counted
  int most_instructions = 0;  ///< room for instructions in each mode; 0: as many as are counted
};

/// What a plan that is a type asks.
template <class Request> [[nodiscard]] constexpr LoweringRequest request_of() {
  LoweringRequest out{Request::graph, Request::layout, Request::batch};
  out.bucket_bytes = Request::bucket_bytes;
  out.target_features = Request::target_features;
  out.states = Request::states;
  out.clips = Request::clips;
  out.scales_loss = Request::scales_loss;
  out.reproducible = Request::batch_request.reproducible;
  out.trains = Request::trains;
  out.again = Request::Chosen::value.view();
  out.budget = Request::budget;
  return out;
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
/// G09: a plan that trains has something to train.
[[nodiscard]] constexpr Diagnosis check_trained(const Graph& graph) {
  if (graph.parameter_count > 0) return {};
  return Diagnosis{Code{'G', 9}, ""} << graph.model.view() << " has no parameters, so there is nothing to train. Fix: add a layer with parameters.";
}
/// What refuses a plan before it is lowered: the answers of its parts, in the order in which a Plan is checked.
[[nodiscard]] constexpr Diagnosis check_answers(const LoweringRequest& in) {
  if (!in.graph.fault.ok()) return in.graph.fault;
  if (in.trains)
    if (const Diagnosis found = check_trained(in.graph); !found.ok()) return found;
  if (!in.layout.fault.ok()) return in.layout.fault;
  if (!in.batch.fault.ok()) return in.batch.fault;
  if (const Diagnosis found = check_sums(in.graph, in.layout, in.batch, in.reproducible, in.clips); !found.ok()) return found;
  return check_totals(in.graph, in.batch.batch, in.batch.total_micro_batches());
}

}  // namespace heddle::plan_room
