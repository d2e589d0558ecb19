// SPDX-License-Identifier: MIT
// Room: plan. What lies where in the memory of one micro-batch while bodies are interpreted: each tensor a sum of named terms, whole or in parts.
// Sees: plan/program, graph.  Does not see: lowering, policies, processes, threads.
// In: writes and reads of places.  Out: FlowTensors, FlowNames, FlowLeaf.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// How the ranks of axis tensor hold a tensor, whatever shape it is read under: whole on each rank, a term of a sum on each rank, or on each rank a
/// part. The part of a rank is known by its runs: of a whole of (4, 6), Shard<0> is 1 run and Shard<1> is 4. In sections it is another part.
namespace lying {
inline constexpr std::int64_t whole = 0;
inline constexpr std::int64_t term = -1;
inline constexpr std::int64_t section = std::int64_t{1} << 48;  // beyond all runs
/// What grains tell between two phases of a leaf, below `term`: bit 0 of -2 - how says that grains are still to be summed, bit 1 + axis that ranks
/// are.
[[nodiscard]] constexpr std::int64_t told(std::int64_t open) { return open == 0 ? whole : -1 - open; }
[[nodiscard]] constexpr std::int64_t open(std::int64_t how) { return how < term ? -1 - how : 0; }
}  // namespace lying
[[nodiscard]] constexpr std::int64_t lies(const Shape& shape, Laid how) {
  if (how.code < 0) return how.replicated() ? lying::whole : lying::term;
  std::int64_t runs = 1;
  for (int d = 0; d < how.dimension(); ++d) runs *= shape.sizes[d];
  return runs + how.code / 16 * lying::section;
}

/// A name of 64 bits for the n-th thing (splitmix64): no small sum of such names is another small sum. A number that is not drawn is no name, for
/// 2 + 2 is 1 + 3.
[[nodiscard]] constexpr std::uint64_t flow_name(std::uint64_t n) {
  std::uint64_t z = (n + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
  return z ^ (z >> 31U);
}

/// What tensors are, from the graph alone. What a layer gives has a name of its own; a sum is the sum of the names of its operands, and a reshape is
/// its operand. The gradient of a value is the sum of the names of what its readers hand back, so it says which of them are in it, and how often.
///
/// Of y = x + f(x): the value y is x + f, and the gradient of x is the gradient of y plus the term of f.
struct FlowNames {
  static constexpr std::uint64_t targets = flow_name(1);  ///< of the loss
  static constexpr std::uint64_t terms = flow_name(2);    ///< of the loss: what ranks tell each other
  static constexpr std::uint64_t shares = flow_name(3);   ///< of the loss: what is read back
  static constexpr std::uint64_t loss = flow_name(4);     ///< the gradient of the last value
  static constexpr std::uint64_t input = flow_name(5);    ///< of the model, its first
  [[nodiscard]] static constexpr std::uint64_t input_of(int number) {
    return number == 0 ? input : flow_name(~(std::uint64_t{1} << 62U | static_cast<std::uint64_t>(number)));
  }
  /// What the forward of a layer leaves for its backward; numbers from the last one down, but for that which has the name 0.
  [[nodiscard]] static constexpr std::uint64_t statistics(int node) { return flow_name(~static_cast<std::uint64_t>(node + 1)); }
  /// What a leaf of two operands hands back to the second.
  [[nodiscard]] static constexpr std::uint64_t second_term(int node) { return flow_name(~(static_cast<std::uint64_t>(node + 1) << 32U)); }
  /// What a phase of a pass of a layer tells, counted from 1.
  [[nodiscard]] static constexpr std::uint64_t told(int node, bool back, int phase) {
    return flow_name(~(static_cast<std::uint64_t>(node + 1) << 34U | (back ? 4U : 0U) | static_cast<std::uint64_t>(phase)));
  }
  [[nodiscard]] constexpr std::uint64_t term(const Graph& graph, int node, int operand) const {
    return operand == 0 || graph.leaf(node).hands_on() ? terms_of[node] : second_term(node);
  }
  std::uint64_t* values;     ///< (nodes + 1)
  std::uint64_t* gradients;  ///< (nodes + 1), zeroed; 0 is of a value that nobody needs
  std::uint64_t* terms_of;   ///< (nodes): what a layer hands back

  constexpr void find(const Graph& graph, bool training) const {
    const int nodes = graph.node_count;
    values[0] = input;
    for (int n = 0; n < nodes; ++n) {
      const Node& node = graph.nodes[n];
      const TracedLeaf& traced = graph.leaves[node.leaf];
      const std::uint64_t first = node.operand_count == 0 ? input_of(traced.leaf.source - 1) : values[node.operands[0]];
      values[n + 1] = traced.leaf.sums       ? first + values[node.operands[1]]
                      : traced.leaf.reshapes ? first
                                             : flow_name(6 + 2 * static_cast<std::uint64_t>(n));
    }
    if (!training) return;
    gradients[nodes] += loss;
    for (int n = nodes - 1; n >= 0; --n) {
      const Node& node = graph.nodes[n];
      const TracedLeaf& traced = graph.leaves[node.leaf];
      const std::uint64_t back = gradients[n + 1];
      if (back == 0) continue;
      terms_of[n] = traced.leaf.hands_on() ? back : flow_name(7 + 2 * static_cast<std::uint64_t>(n));
      for (int k = 0; k < node.operand_count; ++k) gradients[node.operands[k]] += term(graph, n, k);
    }
  }
};

/// Bytes of one element of what has a name: of an input as its type says, of targets and what a loss tells 4, else as values are kept.
struct FlowBytes {
  int count = 1;
  ElementType values = ElementType::float32;
  std::int64_t of_input[Graph::most_inputs]{float_bytes};

  constexpr FlowBytes() = default;
  constexpr explicit FlowBytes(const Graph& graph) : count(graph.input_count), values(graph.values) {
    for (int i = 0; i < count; ++i) of_input[i] = bytes_of(graph.input_of(i).type);
  }
  [[nodiscard]] constexpr std::int64_t of(std::uint64_t what) const {
    if (what == FlowNames::input) return of_input[0];
    for (int i = 1; i < count; ++i)
      if (what == FlowNames::input_of(i)) return of_input[i];
    return what == FlowNames::targets || what == FlowNames::terms ? float_bytes : bytes_of(values);
  }
};

/// What the entries of a layer read and write, on one rank: of Linear<8, 6> in two parts of its outputs, 8 elements a row in and 3 out.
struct FlowLeaf {
  std::int64_t in = 0;  // elements of a row
  std::int64_t out = 0;
  std::int64_t takes = 0;  // how the input lies
  std::int64_t other = 0;  // elements of a row of the second input, if there are two
  std::int64_t takes_other = 0;
  std::int64_t gives = 0;       // how the output lies
  std::int64_t takes_back = 0;  // how the gradient of the output lies
  std::int64_t gives_back = 0;  // how the gradient of the input lies
  std::int64_t gives_other_back = 0;
  bool reads_input = false;  // in its backward
  bool reads_output = false;
  std::int64_t statistics = 0;  // elements of a row, 0: none
  std::int64_t keeps = 0;       // how the statistics lie
  bool input_part_reads_saved = false;
  bool elementwise = false;
  bool computes = false;       // gives what it has made, in float32
  const Phases* on = nullptr;  // of a forward
  const Phases* back = nullptr;
  bool tells = false;  // those of a forward are there; g++ takes no comparison of such an address for a constant under -fsanitize=undefined
  bool tells_back = false;

  constexpr void describe(const Leaf& leaf, const Signature& s) {
    in = leaf.in.elements();
    out = leaf.out.elements();
    takes = lies(leaf.in.shape, s.input);
    if (leaf.operands == 2) {
      other = leaf.other.elements();
      takes_other = lies(leaf.other.shape, s.operand(1));
      gives_other_back = lies(leaf.other.shape, s.operand_gradient(1));
    }
    gives = lies(leaf.out.shape, s.output);
    takes_back = lies(leaf.out.shape, s.output_gradient);
    gives_back = lies(leaf.in.shape, s.input_gradient);
    reads_input = leaf.saves == Saves::input || leaf.saves == Saves::both;
    reads_output = leaf.saves == Saves::output || leaf.saves == Saves::both;
    statistics = leaf.statistics_elements();
    keeps = lies(leaf.statistics, s.statistics);
    input_part_reads_saved = leaf.input_part_reads_saved;
    elementwise = leaf.elementwise;
    computes = is_real(leaf.out.type);
    on = &leaf.forward_phases;
    back = &leaf.backward_phases;
    tells = leaf.forward_phases.any();
    tells_back = leaf.backward_phases.any();
  }
};

/// A tensor in its place. Linear<8, 6> gives 6 elements a row; of 16 rows in one grain these are 384 bytes.
struct FlowTensor {
  std::int64_t offset = -1;  // [bytes]
  std::int64_t end = -1;
  std::int64_t elements = 0;  // of one row, on one rank
  std::uint64_t what = 0;     // a sum of names; 0 after something else was written over it
  std::int64_t how = 0;       // lying::whole, lying::term, or the runs of a part
  int pool = -3;
  bool asked = false;  // there only if the loss is asked for
};

/// Where the tensors of one pool stand among all: from `first` to `last`, with those of other pools between them.
/// A pool of tensors 3 and 5 has first 3 and last 5, where 4 is in another pool.
struct FlowPool {
  std::int64_t limit = 0;  // bytes of the pool
  std::int64_t end = 0;    // no tensor lies behind
  int role = -1;
  int first = 0;
  int last = 0;
  int cursor = 0;  // where a tensor was found last
};

/// The memory of one micro-batch. Bodies read and write one tensor beside another, so a search begins where the last one ended. Compilers take each
/// call and each look through a pointer for more than a few comparisons: what is found at once is found without a call.
/// Of 2 grains of 3 rows a tensor of 5 elements a row takes 128 bytes: 15 floats fill one line of 64 in each grain.
struct FlowTensors {
  FlowPool* pools;      ///< two in front of those of the Program: what lies nowhere, and scratch
  FlowTensor* tensors;  ///< one in front of room for every write: it is at no place
  std::int64_t grain_rows;
  int grains;
  FlowBytes bytes_of{};
  int count = 1;
  int role = 0;

  /// The tensor at a place; where there is none, one that is nothing.
  [[nodiscard]] constexpr FlowTensor& at(const Place& place) {
    FlowPool& in = pools[place.pool + 2];
    FlowTensor& near = tensors[in.cursor];
    return near.offset == place.offset ? near : search(in, place);
  }
  /// Writes a tensor, or several parts one after another, to a place, over whatever lies there. False if that is not there, or not of this device.
  constexpr bool put(const Place& place, std::int64_t elements, std::uint64_t what, std::int64_t how, bool asked = false, int parts = 1,
                     std::int64_t element_bytes = 0) {
    FlowPool& in = pools[place.pool + 2];
    const std::int64_t offset = place.offset;
    const std::int64_t bytes = grain_rows * elements * (element_bytes > 0 ? element_bytes : bytes_of.of(what));
    const std::int64_t end = offset + (bytes + line_bytes - 1) / line_bytes * line_bytes * grains * parts;
    if (end > in.limit || in.role != role) return false;
    int to = 0;
    if (offset < in.end) {
      const FlowTensor& there = at(place);
      if (there.end != end || there.what == 0) clear(in, place, end);
      if (there.end >= 0) to = in.cursor;
    }
    if (to == 0) {
      to = count++;
      if (in.first == 0) in.first = to;
      in.last = in.cursor = to;
    }
    if (end > in.end) in.end = end;
    tensors[to] = FlowTensor{offset, end, elements, what, how, place.pool, asked};
    return true;
  }
  /// The same of what each grain tells, in a row of its own.
  constexpr bool put_told(const Place& place, std::int64_t elements, std::uint64_t what, std::int64_t how) {
    const std::int64_t rows = grain_rows;
    grain_rows = 1;
    const bool fits = put(place, elements, what, how, false, 1, float_bytes);
    grain_rows = rows;
    return fits;
  }
  /// A new body of a device has nothing in its scratch.
  constexpr void open(int of_role, std::int64_t scratch_bytes) {
    role = of_role;
    pools[1] = FlowPool{scratch_bytes, 0, role, 0, 0, 0};
  }

 private:
  constexpr FlowTensor& search(FlowPool& in, const Place& place) {
    for (int back = in.cursor - 1, on = in.cursor + 1; in.first > 0 && (back >= in.first || on <= in.last); --back, ++on) {
      if (back >= in.first && tensors[back].offset == place.offset && tensors[back].pool == place.pool) return tensors[in.cursor = back];
      if (on <= in.last && tensors[on].offset == place.offset && tensors[on].pool == place.pool) return tensors[in.cursor = on];
    }
    return tensors[0];
  }
  /// What overlaps with these bytes is no tensor any more.
  constexpr void clear(const FlowPool& in, const Place& place, std::int64_t end) {
    for (int i = in.first; i <= in.last; ++i)
      if (tensors[i].pool == place.pool && tensors[i].offset < end && place.offset < tensors[i].end) tensors[i].what = 0;
  }
};

// ---- kinds of entries
[[nodiscard]] constexpr bool of_loss(BodyOp what) {  // a prediction has no targets
  return what == BodyOp::load_targets || what == BodyOp::loss_terms || what == BodyOp::loss;
}
[[nodiscard]] constexpr bool moves_parameters(BodyOp what) {
  return what == BodyOp::reduce_start || what == BodyOp::reduce_wait || what == BodyOp::reduce_parameter || what == BodyOp::zero_gaps ||
         what == BodyOp::add_slice;
}

// ---- sentences
constexpr void say_how(Diagnosis& to, std::int64_t how) {
  if (how == lying::whole) to << "whole on every rank";
  if (how == lying::term) to << "a term of a sum on every rank";
  if (how < lying::term) to << "still to be summed over " << ((lying::open(how) & 1) != 0 ? "grains" : "ranks");
  if (how > 0) to << "a part of " << how % lying::section << (how % lying::section == 1 ? " run" : " runs");
  if (how > lying::section) to << " in sections";
  if (how > 0) to << " on every rank";
}
constexpr void say_what(Diagnosis& to, const FlowNames& names, int nodes, std::uint64_t what) {
  if (what == names.values[0]) return void(to << "the input of the model");
  for (int i = 1; i < Graph::most_inputs; ++i)
    if (what == FlowNames::input_of(i)) return void(to << "input " << i << " of the model");
  if (what == FlowNames::targets) return void(to << "the targets");
  if (what == FlowNames::terms) return void(to << "the terms of the loss");
  for (int n = 0; n < nodes; ++n) {
    if (names.values[n + 1] == what) return void(to << "the output of layer " << n);
    if (FlowNames::statistics(n) == what) return void(to << "the statistics of layer " << n);
    if (names.gradients[n + 1] == what) return void(to << "the gradient of the output of layer " << n);
    if (names.terms_of[n] == what) return void(to << "what layer " << n << " hands back");
    for (int phase = 1; phase < 2 * Phases::most; ++phase)
      if (FlowNames::told(n, phase >= Phases::most, phase % Phases::most + phase / Phases::most) == what)
        return void(to << "what layer " << n << " tells between two phases");
    if (FlowNames::second_term(n) == what) return void(to << "what layer " << n << " hands back to its second input");
  }
  to << "a sum of other terms";
}
/// "the output of layer 3, 6 elements a row, a term of a sum on every rank, not whole on every rank": what lies there, of a model of so many nodes.
constexpr void say_tensor(Diagnosis& to, const FlowNames& names, int nodes, const FlowTensor& there, std::int64_t how) {
  if (there.what == 0) return void(to << "nothing");
  say_what(to, names, nodes, there.what);
  to << ", " << there.elements << (there.elements == 1 ? " element" : " elements") << " a row, ";
  say_how(to, there.how);
  if (there.how == how) return;
  to << ", not ";
  say_how(to, how);
}

}  // namespace heddle::plan_room
