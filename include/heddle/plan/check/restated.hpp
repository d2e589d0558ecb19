// SPDX-License-Identifier: MIT
// Room: plan. What lowering and checks both have to know of a Program, said a second time: no check asks the function that the lowering asks.
// Sees: plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: fields that S18 compares with the layout, the model and the batch.  Out: what follows from them.
#pragma once

#include <cstdint>

#include "heddle/graph/graph.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Ranks that step a slice of parameters, of which each rank keeps the whole, gather the other slices after the step: under
/// Sharded<2, OptimizerState>, not under Sharded<2>, where parameters are sliced too.
/// Tested  plan/check/restated_test
[[nodiscard]] constexpr bool gathers_what_is_stepped(const Storage& kept) { return kept.parts > 1 && kept.states && !kept.parameters; }

/// In how many slices the ranks keep what is sliced, and what is not: slices_of(p.storage, p.storage.states) is 2 under Sharded<2>.
[[nodiscard]] constexpr int slices_of(const Storage& kept, bool sliced) { return sliced ? kept.parts : 1; }

/// Where the parameters of a bucket begin: with its gradients, or where another layer keeps them. [elements]
[[nodiscard]] constexpr std::int64_t begin_of_values(const FlatBucket& bucket) { return bucket.owner_begin >= 0 ? bucket.owner_begin : bucket.begin; }

/// What ranks tell each other before a step: the squares of each unit if the plan clips, then a flag if the loss is scaled, then one if the plan is
/// guarded. Of 3 units under Clip and LossScaling 4 floats.
[[nodiscard]] constexpr int floats_of_norm(const Program& p) {
  const int flags = (p.scales_loss ? 1 : 0) + (p.guards ? 1 : 0);
  return p.clips ? p.unit_count + flags : flags;
}
/// Where each of these begins. [floats]
[[nodiscard]] constexpr int place_of_squares() { return 0; }
[[nodiscard]] constexpr int place_of_overflow(const Program& p) { return p.clips ? p.unit_count : 0; }
[[nodiscard]] constexpr int place_of_guard(const Program& p) { return floats_of_norm(p) - 1; }
/// A line that reduces what ranks tell each other before a step, and with it the float at `place`: without a flag of the loss all of it.
[[nodiscard]] constexpr bool tells(const Program& p, const Instruction& line, int place) {
  if (!p.moves(line, Purpose::norm)) return false;
  if (!p.guards) return true;
  const Collective& c = p.collectives[line.collective];
  return c.target.begin <= place && place < c.target.begin + c.elements;
}

/// The axes whose ranks hold other gradients when they look at them, so that each has a term of the norm: stages, tensor ranks, and the ranks that
/// step slices. Of Sharded<2> axis shard.
[[nodiscard]] constexpr bool norm_is_term_along(const Program& p, Axis axis) {
  if (p.mesh.size(axis) == 1) return false;
  return axis == Axis::tensor || axis == Axis::stage || (p.storage.parts > 1 && axis == p.storage.axis);
}

/// The axes along which ranks have a flag of the loss of their own: they have other rows, or are stages, of which one has the loss.
[[nodiscard]] constexpr bool guard_is_term_along(const Program& p, Axis axis) {
  return p.mesh.size(axis) > 1 && (axis == Axis::stage || p.batch_split[static_cast<int>(axis)]);
}

/// What is told along an axis: from which float on, and how many. Of DataParallel<2> with Clip over 3 units, guarded, the one at 3.
struct FloatsToTell {
  int begin, count;
};
[[nodiscard]] constexpr FloatsToTell told_along(const Program& p, Axis axis) {
  const int flag = p.guards && guard_is_term_along(p, axis) ? 1 : 0;
  const int of_gradients = floats_of_norm(p) - (p.guards ? 1 : 0);
  return norm_is_term_along(p, axis) && of_gradients > 0 ? FloatsToTell{0, of_gradients + flag} : FloatsToTell{of_gradients, flag};
}

/// The order in which ranks are to add. Outputs always have the bits of the tree; in training it is that of the grains, and any order is for sums of
/// which no two groups of ranks take the same.
[[nodiscard]] constexpr SumOrder order_of_sums(const Program& p, Purpose sum) {
  if (!p.training || p.batch.tree) return SumOrder::tree;
  if (sum == Purpose::value || sum == Purpose::parameter_term) return SumOrder::any;
  return sum == Purpose::gradient && p.mesh.size(Axis::tensor) == 1 ? SumOrder::any : SumOrder::tree;
}

/// A layer has parameters that follow the rows it sees, as running statistics do: they are read as they are, so their units travel as float32.
[[nodiscard]] constexpr bool follows_rows(const Graph& graph) {
  for (int n = 0; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].parameter_count; ++k)
      if (graph.leaf(n).parameters[k].tracks != 0) return true;
  return false;
}

/// Parameters of which a layer's backward makes gradients: all that it has, or none if it is frozen. Linear<4, 3> has 2, Frozen<Linear<4, 3>> none.
[[nodiscard]] constexpr int gradients_of(const Node& node) { return node.frozen_count == 0 ? node.parameter_count : 0; }

/// Grains of one micro-batch on one rank: 16 rows in Grain<4> are 4.
[[nodiscard]] constexpr int grains_of(const BatchDivision& batch) { return batch.micro_rows / batch.grain_rows; }

/// Grains that a rank adds up in one step: 4 in each of 2 micro-batches of 3 rounds are 24.
[[nodiscard]] constexpr int grains_of_step(const BatchDivision& batch) {
  return batch.rounds * batch.micro_batches * batch.micro_rows / batch.grain_rows;
}

/// Copies of the gradients: one, or where sums follow the tree one for each sum that may be open, which is one a binary digit of the number of
/// grains. 8 grains need 4.
[[nodiscard]] constexpr int gradient_copies(const BatchDivision& batch) {
  int digits = 1;
  for (int left = batch.tree ? grains_of_step(batch) / 2 : 0; left > 0; left /= 2) ++digits;
  return digits;
}

}  // namespace heddle::plan_room
