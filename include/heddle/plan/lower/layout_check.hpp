// SPDX-License-Identifier: MIT
// Room: plan. What the answers of policies must be, whoever gave them: axes, slices, chunks and devices, orders, split layers.
// Sees: graph, policy answers, plan/lower/tables.  Does not see: memory, processes, threads, policies by name.
// In: Graph, Layout.  Out: ok, or M15, or the code by which a policy of Heddle refuses the same.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/graph/graph_check.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/options/split_batch.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// M15, M05, M08: what a rank keeps only its slice of.
[[nodiscard]] constexpr Diagnosis check_slicing(const Layout& layout) {
  const Sharding& what = layout.sharding;
  if (what == Sharding{}) return {};
  const auto axis = static_cast<int>(layout.storage_axis);
  if (axis >= axis_count || !layout.batch_split[axis])
    return broken_layout() << "units are sliced along axis " << (axis < axis_count ? name_of(layout.storage_axis) : "without a name")
                           << ", whose ranks do not take other rows. Fix: slice them along an axis that splits the batch.";
  if (layout.storage_axis == Axis::data && layout.batch_split[static_cast<int>(Axis::shard)] && layout.mesh.size(Axis::shard) > 1)
    return broken_layout() << "units are sliced along axis data, but gradients are summed along axis shard before, of which only slices would be "
                              "left. Fix: slice them along axis shard, or do not split the batch along it.";
  if (const int ranks = layout.mesh.size(layout.storage_axis); ranks > Layout::unit_parts || Layout::unit_parts % ranks != 0)
    return Diagnosis{Code{'M', 5}, ""} << "axis " << name_of(layout.storage_axis) << " has size " << ranks << ", but units are cut into "
                                       << Layout::unit_parts << " even parts. Fix: use a size that divides " << Layout::unit_parts << '.';
  if (!what.states)
    return broken_layout() << "parameters or gradients are sliced, but the states of the optimizer are whole. Fix: slice the states too.";
  if (what.keeps && !what.parameters)
    return Diagnosis{Code{'M', 8}, ""} << "gathered parameters are to be kept, but none are sliced. Fix: slice parameters, or keep nothing.";
  return {};
}

/// M15: every layer is in one chunk, every chunk has a layer, and every device a chunk.
[[nodiscard]] constexpr Diagnosis check_chunks(const Graph& graph, const Layout& layout) {
  const int chunks = layout.chunk_count;
  if (chunks < 1) return broken_layout() << "a layout has " << chunks << " chunks. Fix: use at least 1.";
  if (const Diagnosis found = check_limit("chunks", Layout::most_chunks, chunks); !found.ok()) return found;
  if (layout.first_node[0] != 0 || layout.first_node[chunks] != graph.node_count)
    return broken_layout() << "the " << chunks << " chunks hold layers " << layout.first_node[0] << " to " << layout.first_node[chunks]
                           << ", but the graph has layers 0 to " << graph.node_count << ". Fix: let first_node begin with 0 and end with "
                           << graph.node_count << '.';
  for (int c = 0; c < chunks; ++c)
    if (layout.first_node[c] >= layout.first_node[c + 1] && graph.node_count > 0)
      return broken_layout() << "chunk " << c << " of " << chunks << " begins with layer " << layout.first_node[c] << " and ends before layer "
                             << layout.first_node[c + 1] << ". Fix: give it at least one layer; first_node rises from chunk to chunk.";
  const int devices = layout.roles();
  bool used[Layout::most_chunks]{};
  for (int c = 0; c < chunks; ++c) {
    const int device = layout.device_of_chunk[c];
    if (device < 0 || device >= devices)
      return broken_layout() << "chunk " << c << " of " << chunks << " is on device " << device << ", but axis stage has " << devices
                             << (devices == 1 ? " device" : " devices") << ". Fix: number devices from 0 to " << devices - 1 << '.';
    if (device < Layout::most_chunks) used[device] = true;
  }
  for (int d = 0; d < devices; ++d)
    if (d >= Layout::most_chunks || !used[d])
      return broken_layout() << "device " << d << " of the " << devices << " on axis stage holds none of the " << chunks
                             << " chunks. Fix: give it one, or use fewer devices.";
  return {};
}

/// M15, S08: turns that end. With V chunks on each of S devices a device must pass (V - 1) S + 1 chunks forward before the first backward can be
/// ready; a device in front may be no less ahead than the one behind it, and the first at most 2 S more than the last if there is a way back to it.
[[nodiscard]] constexpr Diagnosis check_turns(const Layout& layout) {
  const int devices = layout.roles();
  const int each = layout.chunk_count / devices;
  for (int c = 0; c < layout.chunk_count; ++c)
    if (layout.chunk_count % devices != 0 || layout.device_of_chunk[c] != layout.device_of_chunk[c % devices])
      return broken_layout() << layout.order.name.view() << " takes the " << devices << " devices in turn, but its " << layout.chunk_count
                             << " chunks lie otherwise. Fix: put chunk c on the device of chunk c mod " << devices << '.';
  if (each > 1 && layout.micro_batches % devices != 0)
    return Diagnosis{Code{'S', 8}, ""} << layout.order.name.view() << " passes micro-batches in groups of " << devices << ", but "
                                       << layout.micro_batches << " are no whole groups. Fix: use a multiple of " << devices << '.';
  if (each > 1 && layout.order.splits_backward)
    return broken_layout() << layout.order.name.view() << " splits the backward and gives each device " << each
                           << " chunks, but the second parts are taken in the order of one. Fix: use one chunk on a device, or a whole backward.";
  const int least = (each - 1) * devices + 1;
  const std::int64_t last = layout.turns[layout.device_of_chunk[devices - 1]].in_flight;
  for (int c = 0; c < devices; ++c) {
    const Turns& here = layout.turns[layout.device_of_chunk[c]];
    const int next = c + 1 < devices ? layout.turns[layout.device_of_chunk[c + 1]].in_flight : least;
    if (here.in_flight < next || (each > 1 && here.in_flight > last + 2 * devices))
      return broken_layout() << layout.order.name.view() << " lets device " << layout.device_of_chunk[c] << " have " << here.in_flight
                             << " chunk passes in flight, and the last device " << last
                             << ", by which devices wait for each other. Fix: let the last have " << least
                             << " or more, and those before it no fewer, at most " << 2 * devices << " more.";
    if (here.delayed < 0)
      return broken_layout() << layout.order.name.view() << " lets device " << layout.device_of_chunk[c] << " delay " << here.delayed
                             << " gradients of parameters. Fix: delay 0 or more.";
  }
  return {};
}

/// M15: how many micro-batches there are, and an order in which every compute has its time.
[[nodiscard]] constexpr Diagnosis check_order(const Layout& layout) {
  const OrderRules& order = layout.order;
  if (!is_text(order.name)) return broken_layout() << "the name of the order is longer than its room. Fix: write it with <<.";
  if (const Diagnosis found = check_micro_batches(layout); !found.ok()) return found;
  if (order.splits_backward && !order.in_turns)
    return broken_layout() << order.name.view()
                           << " splits the backward, but no turn is named in which the second part runs. Fix: answer in_turns and turns as well.";
  if (order.forwards_first && order.in_turns)
    return broken_layout() << order.name.view() << " takes turns, and all forwards first as well. Fix: keep one of them.";
  if (order.in_turns) return check_turns(layout);
  const int least = order.forwards_first ? layout.micro_batches : 1;
  for (int c = 0; c < layout.chunk_count; ++c)
    if (layout.in_flight[c] < least)
      return broken_layout() << order.name.view() << " lets chunk " << c << " have " << layout.in_flight[c]
                             << " micro-batches in flight, by which the step never ends. Fix: let it have at least " << least << '.';
  return {};
}

/// P01, P03, G16, M15: split layers. Whether a value lies as its readers take it is asked of the Program (P04).
[[nodiscard]] constexpr Diagnosis check_split_layers(const Graph& graph, const Layout& layout) {
  const int ranks = layout.mesh.size(Axis::tensor);
  if (ranks == 1) return {};
  if (const Diagnosis found = check_limit("kinds of layers under split layers", Layout::most_leaves, graph.leaf_count); !found.ok()) return found;
  for (int l = 0; l < graph.leaf_count; ++l) {
    const Leaf& leaf = graph.leaves[l].leaf;
    const std::int8_t named = layout.signature[l];
    if (named < 0 || named > leaf.signature_count)
      return broken_layout() << leaf.spelled.view() << " is split by signature " << named - 1 << ", but it states " << int{leaf.signature_count}
                             << ". Fix: answer 0 for a whole layer, or 1 for the first signature.";
    const Signature how = layout.signature_of(graph, l);
    if (const Diagnosis found = check_signature(leaf, how); !found.ok())
      return Diagnosis{found.code, ""} << "signature " << named - 1 << " of " << leaf.spelled.view() << ' ' << found.words.view();
    const Laid between = layout.laid_between[l].there();
    if (!lies_somehow(between) || between.partial() || (between.sharded() && between.dimension() >= leaf.out.shape.dimensions))
      return broken_layout() << "the output of " << leaf.spelled.view() << " is to lie between layers in a way that " << leaf.out.shape
                             << " cannot. Fix: answer laid::replicate or one of its dimensions.";
    if ((between.in_sections() || how.output.in_sections()) && between != how.output)
      return broken_layout() << leaf.spelled.view() << " gives its output " << how.output << ", but it is to lie between layers " << between
                             << ": nothing is gathered or cut in sections. Fix: let it lie as it is given.";
    std::int64_t size = indivisible_size(leaf, how, ranks);
    if (size == 0) size = indivisible_size(leaf.out.shape, between, ranks);
    if (size != 0)
      return Diagnosis{Code{'P', 1}, ""} << "axis tensor of size " << ranks << " cannot split the " << size << " features of " << leaf.spelled.view()
                                         << " evenly. Fix: use as many ranks as divide " << size << '.';
  }
  for (int n = 0; n < graph.node_count; ++n) {
    const Node& node = graph.nodes[n];
    const Signature how = layout.signature_of(graph, node.leaf);
    for (int k = 0; k < node.operand_count; ++k) {
      const Laid takes = how.operand(k);
      const Laid lies = node.operands[k] == 0 ? laid::replicate : layout.laid_between[graph.nodes[node.operands[k] - 1].leaf];
      if (lies == laid::terms_back && (node.operand_count > 1 || !takes.replicated() || !how.operand_gradient(k).partial()))
        return broken_layout() << graph.leaves[node.leaf].leaf.spelled.view() << " takes its input " << takes << " and gives a gradient of it "
                               << how.operand_gradient(k) << ", but the value lies " << lies
                               << ", which every reader leaves as a term. Fix: let it lie Replicate.";
      if ((takes.in_sections() || lies.in_sections()) && takes != lies)
        return broken_layout() << graph.leaves[node.leaf].leaf.spelled.view() << " takes its input " << takes << ", but it lies " << lies
                               << ": nothing is gathered or cut in sections. Fix: let it lie as it is taken.";
    }
  }
  for (int n = 0; n < graph.node_count && graph.tie_count > 0; ++n) {
    if (graph.nodes[n].tied_to < 0) continue;
    const Signature a = layout.signature_of(graph, graph.nodes[n].leaf);
    const Signature b = layout.signature_of(graph, graph.nodes[graph.nodes[n].tied_to].leaf);
    for (int p = 0; p < graph.nodes[n].parameter_count; ++p)
      if (a.parameters[p] != b.parameters[p] || a.parameter_gradients[p] != b.parameter_gradients[p])
        return Diagnosis{Code{'G', 16}, ""} << graph.describe(n).view() << " uses the parameters of " << graph.describe(graph.nodes[n].tied_to).view()
                                            << ", but both are split in two ways. Fix: answer signatures that lay them alike.";
  }
  const Laid out = layout.laid_between[graph.nodes[graph.node_count - 1].leaf];
  const LossSplit& loss = layout.loss;
  if (out == laid::terms_back) return broken_layout() << "the output lies " << out << ", but the loss leaves no terms. Fix: let it lie Replicate.";
  if (out.sharded() && (loss.takes != out || loss.terms < 1 || loss.terms > most_elements))
    return broken_layout() << "the output lies in parts, " << out << ", but the loss takes it " << loss.takes << " with " << loss.terms
                           << " terms of a row. Fix: let the last layer give its output whole.";
  return {};
}

/// The answers of all policies of a plan are what the lowering may index with: the same question for a policy of Heddle, for one of your own, and for
/// a layout that is data.
///
/// Errors  M15; M01, M02, M10 axes, M05, M07, M08 slices and shares, S02, S08, S14 micro-batches and chunks, P01, P03, G16 split layers
/// Tested  plan/lower/layout_check_test, faults/requests_test, fail/M15_own_policy_names_a_device_too_many
[[nodiscard]] constexpr Diagnosis check_layout(const Graph& graph, const Layout& layout) {
  if (!layout.fault.ok()) return layout.fault;
  if (const Diagnosis found = check_mesh(layout.mesh, Layout::most_count); !found.ok()) return found;
  if (const Diagnosis found = check_split_batch(layout); !found.ok()) return found;
  if (const Diagnosis found = check_slicing(layout); !found.ok()) return found;
  if (const Diagnosis found = check_chunks(graph, layout); !found.ok()) return found;
  if (const Diagnosis found = check_order(layout); !found.ok()) return found;
  return check_split_layers(graph, layout);
}

}  // namespace heddle::plan_room
