// SPDX-License-Identifier: MIT
// Room: plan. What is known of one bucket of gradients while lines are followed, and in which bucket the gradient of each parameter lies.
// Sees: plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: a Program.  Out: BucketFlow, the bucket of each layer; or S17 with the parameter.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// A sum over ranks that is taken axis by axis. Of 16 rows on 2 x 2 ranks of axes shard and data each rank has a term along both.
struct FlowSum {
  std::uint8_t along = 0;  ///< bit by axis: each rank has a term of the sum
  int moving = -1;         ///< the axis of the reduction that is started and not waited for

  [[nodiscard]] constexpr bool whole() const { return along == 0 && moving < 0; }
  /// The first axis that it is still to be taken over.
  [[nodiscard]] constexpr Axis next_axis() const {
    int a = 0;
    while (a + 1 < axis_count && !along_axis(a)) ++a;
    return static_cast<Axis>(a);
  }
  [[nodiscard]] constexpr bool along_axis(int axis) const { return (along >> axis & 1) != 0; }
};

/// What has happened to one bucket of gradients on its device.
/// Of 2 layers in a bucket `left` is 2 at first, 1 after one backward, and 0 when the bucket may be reduced.
struct BucketFlow {
  int left = 0;            ///< layers whose gradients are still to be made, and those of parameters still to be summed along axis tensor
  FlowSum sum;             ///< of the slice that this rank steps
  bool shares = false;     ///< a layer has the parameters of another
  bool tied = false;       ///< those of all uses are added up
  bool looked_at = false;  ///< unscaled, or its squares summed
  int steps = 0;
  int gathers = 0;  ///< 1: started, 2: waited for
};

[[nodiscard]] constexpr bool holds(const FlatBucket& b, const ParameterPlace& place) {
  return b.role == place.role && b.begin <= place.begin && place.begin + place.elements <= b.end();
}

/// Finds the bucket of each layer by where its parameters lie, and counts in each what is to come. Buckets of a device lie in descending order of
/// their layers, so that of the next layer is near.
/// Tested  plan/check/bucket_flow_test
[[nodiscard]] constexpr Diagnosis place_parameters(const Program& p, BucketFlow* buckets, std::int16_t* bucket_of) {
  const Graph& graph = *p.graph;
  const bool in_rings = p.storage.gradients || p.storage.parameters;
  int b = 0;
  for (int n = 0; n < graph.node_count; ++n) {
    const Node& node = graph.nodes[n];
    if (gradients_of(node) == 0) continue;
    int tried = 0;
    while (tried < p.bucket_count && !holds(p.buckets[b], p.parameters[node.first_parameter])) {
      b = b == 0 ? p.bucket_count - 1 : b - 1;
      ++tried;
    }
    for (int k = 0; k < gradients_of(node); ++k) {
      if (tried == p.bucket_count || !holds(p.buckets[b], p.parameters[node.first_parameter + k]) || (in_rings && p.bucket_of_node[n] != b))
        return Diagnosis{Code{'S', 17}, ""} << "the gradient of parameter '" << graph.parameter_name(n, k).view()
                                            << "' lies in no bucket that is reduced and stepped for it. Fix: let a bucket hold all parameters of a "
                                               "layer.";
      if (graph.signature(n).parameter_gradients[k].partial()) ++buckets[b].left;
    }
    bucket_of[n] = static_cast<std::int16_t>(b);
    ++buckets[b].left;
    if (node.tied_to >= 0) buckets[b].shares = buckets[bucket_of[node.tied_to]].shares = true;
  }
  return {};
}

}  // namespace heddle::plan_room
