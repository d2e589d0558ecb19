// SPDX-License-Identifier: MIT
// Room: policy. What a pipeline asks as numbers: balanced or given cuts, and an order of micro-batches as data. Pipeline<...> asks it of types.
// Sees: graph, mesh, core.  Does not see: memory, processes, instructions.
// In: stages, an order, micro-batches.  Out: OrderAsData, BalancedPipeline; M03, S02, S08.
#pragma once

#include <cstdint>

#include "heddle/policy/cut.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// What an order says, as data: one by time has a limit of micro-batches in flight for each chunk, one in turns has Turns for each device.
/// Interleaved<2> has 2 chunks a device.
struct OrderAsData {
  OrderRules rules;
  int chunks_a_device = 0;  ///< 0: left open
  int (*in_flight)(int chunk, int chunks, int micro_batches) = nullptr;
  Turns (*turns)(int position, int devices) = nullptr;
};
template <class Order> [[nodiscard]] constexpr OrderAsData order_as_data() {
  OrderAsData out{Order::rules()};
  if constexpr (requires { Order::chunks_per_device; }) {
    out.chunks_a_device = Order::chunks_per_device;
    out.turns = &Order::turns;
  } else {
    out.in_flight = &Order::in_flight;
  }
  return out;
}

/// M03 if there is no stage, or no place for so many cuts.
constexpr void place_balanced(const Graph& graph, Layout& layout, int stages, int chunks_a_device) {
  constexpr int most_nodes = 4096;
  if (stages < 1) return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "Balanced<" << stages << "> leaves no stage. Fix: ask for at least 1.");
  const std::int64_t chunks = chunks_a_device > 1 ? std::int64_t{stages} * chunks_a_device : stages;
  cut_balanced<most_nodes>(graph, layout, chunks);
  if (!layout.fault.ok()) return;
  layout.chunk_count = static_cast<int>(chunks);
  layout.balanced = true;
  for (int c = 0; c < layout.chunk_count; ++c) layout.device_of_chunk[c] = c % stages;
  layout.claim(axis::stage, stages);
}
/// M03 if the layers before which the stages begin are none of the graph, do not rise, or leave a device without its chunks.
constexpr void place_cuts(const Graph& graph, Layout& layout, const int* before, int cuts, int chunks_a_device) {
  const int each = chunks_a_device > 1 ? chunks_a_device : 1, chunks = cuts + 1;
  if (chunks > Layout::most_chunks || chunks % each != 0)
    return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "CutBefore leaves " << chunks << " stages, but they are whole rounds of " << each
                                                     << " a device, and at most " << Layout::most_chunks << ". Fix: name "
                                                     << (chunks > Layout::most_chunks ? "fewer layers." : "a layer for each stage but the first."));
  for (int c = 0; c < cuts; ++c) {
    if (before[c] > (c > 0 ? before[c - 1] : 0) && before[c] < graph.node_count) continue;
    return layout.refuse(Diagnosis{Code{'M', 3}, ""} << "CutBefore names layer " << before[c] << " as the first of stage " << c + 1 << ", but "
                                                     << graph.model.view() << " has layers 0 to " << graph.node_count - 1
                                                     << ", and each stage has some. Fix: name rising numbers from 1 to " << graph.node_count - 1
                                                     << '.');
  }
  layout.first_node[0] = 0;
  for (int c = 0; c < cuts; ++c) layout.first_node[c + 1] = before[c];
  layout.first_node[chunks] = graph.node_count;
  layout.chunk_count = chunks;
  for (int c = 0; c < chunks; ++c) layout.device_of_chunk[c] = c % (chunks / each);
  layout.claim(axis::stage, chunks / each);
}
/// M03. An order in turns needs V chunks on each device: chunk c on the device of chunk c mod S, the first S on one each.
constexpr void check_turns(Layout& layout, int chunks_a_device) {
  const int devices = layout.roles();
  if (chunks_a_device < 1)
    return layout.refuse(Diagnosis{Code{'M', 3}, ""} << layout.order.name.view() << '<' << chunks_a_device
                                                     << "> leaves no chunk on a device. Fix: name at least 1.");
  bool in_turn = layout.chunk_count == std::int64_t{devices} * chunks_a_device;
  for (int c = 0; c < layout.chunk_count; ++c)
    for (int earlier = 0; earlier < c; ++earlier)
      in_turn = in_turn && (layout.device_of_chunk[c] == layout.device_of_chunk[earlier]) == (c % devices == earlier % devices);
  if (in_turn) return;
  layout.refuse(Diagnosis{Code{'M', 3}, ""} << layout.order.name.view() << " takes the " << devices << " devices in turn, each with "
                                            << chunks_a_device << (chunks_a_device == 1 ? " stage" : " stages") << ", but the " << layout.chunk_count
                                            << " stages lie otherwise. Fix: put stage c on the device of stage c mod " << devices
                                            << ", or use OneFOneB, which takes any map.");
}
/// M03, S02, S08: whether the chunks and micro-batches are such that the order can be. `few`: fewer micro-batches than stages are meant.
constexpr void check_order(Layout& layout, int chunks_a_device, bool few) {
  if (layout.order.in_turns) check_turns(layout, chunks_a_device);
  if (!layout.fault.ok()) return;
  if (layout.micro_batches < 1)
    return layout.refuse(Diagnosis{Code{'S', 2}, ""} << "a pipeline of " << layout.micro_batches
                                                     << " micro-batches does nothing. Fix: Microbatches<1> or more.");
  if (chunks_a_device > 1 && layout.micro_batches % layout.roles() != 0)
    return layout.refuse(Diagnosis{Code{'S', 8}, ""} << layout.order.name.view() << " passes micro-batches in groups of " << layout.roles()
                                                     << ", one for each device, but " << layout.micro_batches
                                                     << " are no whole groups. Fix: name Microbatches<"
                                                     << std::int64_t{layout.micro_batches / layout.roles() + 1} * layout.roles() << ">.");
  if (layout.order.named && !few && layout.micro_batches < (layout.order.in_turns ? layout.roles() : layout.chunk_count))
    layout.refuse(Diagnosis{Code{'S', 2}, ""} << layout.order.name.view() << " over " << layout.chunk_count << " stages has " << layout.micro_batches
                                              << (layout.micro_batches == 1 ? " micro-batch" : " micro-batches")
                                              << ", so some stages are always idle. Fix: name Microbatches<" << layout.chunk_count
                                              << "> or more, or FewMicrobatches if that is meant.");
}
/// Of a layout whose chunks are placed. The rules say which function there is: g++ 12 under sanitizers takes a comparison of one with null for no
/// constant.
constexpr void set_order(Layout& layout, const OrderAsData& order) {
  if (order.rules.in_turns)
    for (int d = 0; d < layout.roles(); ++d) layout.turns[layout.device_of_chunk[d]] = order.turns(d, layout.roles());
  else if (order.rules.named)
    for (int c = 0; c < layout.chunk_count; ++c) layout.in_flight[c] = order.in_flight(c, layout.chunk_count, layout.micro_batches);
}

/// Pipeline<Balanced<S>, Order, Microbatches<M>> as numbers: 4 stages and 8 micro-batches under an order with one chunk a device are 4 chunks. With
/// `before`, the layers that begin all chunks but the first, it is Pipeline<CutBefore<...>, Order, Microbatches<M>>.
///
/// Errors  M01, M03, S02, S08 as Pipeline
/// Tested  policy/balanced_pipeline_test
struct BalancedPipeline {
  int stages = 1;
  OrderAsData order;
  int micro_batches = 1;
  const int* before = nullptr;
  int cuts = 0;  ///< how many layers `before` names; 0: the cut is balanced

  constexpr void answer(const Graph& graph, Layout& layout) const {
    layout.micro_batches = micro_batches;
    layout.order = order.rules;
    if (cuts > 0)
      place_cuts(graph, layout, before, cuts, order.chunks_a_device);
    else
      place_balanced(graph, layout, stages, order.chunks_a_device);
    if (layout.fault.ok()) check_order(layout, order.chunks_a_device, false);
    for (int c = 0; c < layout.chunk_count; ++c) layout.in_flight[c] = 1;
    if (layout.fault.ok()) set_order(layout, order);
  }
};

}  // namespace heddle::policy_room
