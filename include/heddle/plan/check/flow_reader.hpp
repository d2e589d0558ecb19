// SPDX-License-Identifier: MIT
// Room: plan. What the interpreters of bodies share: what they know of a Program, what lies at a place, and the sentences of what is wrong there.
// Sees: plan/check/flow_tensors, plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: a Program and tables of another owner.  Out: FlowReader.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/flow_tensors.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Reads and writes places as an entry does, and refuses with S17 what does not fit. It knows which body it is in: of 2 chunks under 1F1B one of 4.
///
/// Tested  plan/check/data_flow_test
struct FlowReader {
  const Program& p;
  FlowNames names;
  FlowTensors tensors;
  FlowLeaf* leaves;  ///< (leaves)
  int* made;         ///< (nodes), zeroed: 1 + the entry that makes the gradients of its parameters
  Diagnosis fault{};
  const Graph& graph = *p.graph;
  BodyKind kind = BodyKind::forward;
  int chunk = 0, number = 0;         // the latter of the entry
  int begin_node = 0, end_node = 0;  // nodes of the chunk
  bool stored = false, judged = false;
  Place untargeted{};  // where the loss of an inference has targets of no elements

  static constexpr std::string_view fix = ". Fix: make, move and lay every tensor once, before it is read, and write nothing over it.";

  constexpr Diagnosis& refuse(int node) {
    fault = Diagnosis{Code{'S', 17}, ""};
    if (node < 0 || node >= graph.node_count) return fault << "the loss";
    return fault << graph.describe(node).view();
  }
  [[nodiscard]] constexpr Text<64> here() const {
    constexpr std::string_view of[] = {"forward", "backward", "backward for inputs", "backward for parameters"};
    return Text<64>{" the "} << of[static_cast<int>(kind)] << " of chunk " << chunk;
  }
  /// The sentence of a place that does not hold what is read there.
  constexpr void wrong(int node, std::string_view wants, const FlowTensor& there, std::int64_t how) {
    refuse(node) << " reads in" << here().view() << wants << ", but there lies ";
    say_tensor(fault, names, graph.node_count, there, how);
    if (there.asked) fault << ", only if the loss is asked for";
    fault << fix;
  }
  constexpr void unasked(int node, std::string_view what) { refuse(node) << what << here().view() << fix; }
  constexpr void writes_over(int node, std::string_view what) { refuse(node) << " writes in" << here().view() << " over " << what << fix; }
  constexpr bool holds(int node, const Place& place, std::uint64_t what, std::int64_t how, std::string_view wants, bool asked = false) {
    const FlowTensor& there = tensors.at(place);
    if (there.what == what && there.how == how && (asked || !there.asked)) return true;
    wrong(node, wants, there, how);
    return false;
  }
  constexpr bool put(int node, const Place& place, std::int64_t elements, std::uint64_t what, std::int64_t how, bool asked = false) {
    if (tensors.put(place, elements, what, how, asked)) return true;
    too_small(node, elements);
    return false;
  }
  /// What is loaded, copied or laid another way has elements of one type: the input of the model of its own, targets and what a loss tells float32,
  /// or as large, all else as values are kept.
  constexpr bool has_type(const Entry& entry, std::uint64_t what) {
    ElementType type = what == FlowNames::targets || what == FlowNames::terms ? ElementType::float32 : graph.values;
    for (int i = 0; i < graph.input_count; ++i)
      if (what == FlowNames::input_of(i)) type = graph.input_of(i).type;
    if (entry.type == type) return true;
    refuse(begin_node) << " writes in" << here().view() << ' ' << name_of(entry.type) << ", but what is read is " << name_of(type) << fix;
    return false;
  }
  constexpr void too_small(int node, std::int64_t elements) {
    refuse(node) << " writes in" << here().view() << ' ' << elements << " elements a row to a place that is too small, or not of its device" << fix;
  }
  /// What was read at `place`, as `read`, is not there any more: its own output was written over it, and not element by element.
  [[nodiscard]] static constexpr bool gone(const Place& place, const FlowTensor& read, const Place& written, bool elementwise) {
    return place.offset == written.offset ? !elementwise : read.what == 0;
  }
  constexpr void spare(int node, const Place& read, const Place& written, bool elementwise, std::string_view what) {
    if (read.pool == written.pool && fault.code.letter == '-' && gone(read, tensors.at(read), written, elementwise)) writes_over(node, what);
  }
  constexpr bool of_chunk(int node) {
    if (node >= begin_node && node < end_node) return true;
    refuse(node) << " runs in" << here().view() << ", which has layers " << begin_node << " to " << end_node - 1 << fix;
    return false;
  }
};

}  // namespace heddle::plan_room
