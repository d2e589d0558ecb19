// SPDX-License-Identifier: MIT
// Room: graph. Models of several inputs: what each of them is, and a path of layers that begins from one of them.
// Sees: core, graph/composite, graph/graph, graph/leaf_rules.  Does not see: policies, devices, memory.
// In: layers that say what they take, the number of an input.  Out: Inputs<A, B, ...>, FromInput<I>, G28.
#pragma once

#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/composite.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/leaf_rules.hpp"

namespace heddle::graph_room {

/// What a model says of its inputs: of Inputs<Input<8>, Input<8>> two of shape (8).
struct StatedInputs {
  Spec all[Graph::most_inputs];
  int count = 0;
  Diagnosis fault;
};

/// One of the list: a layer that says what it takes.
template <class L> constexpr void read_input(StatedInputs& out, std::string_view place) {
  const int number = out.count++;
  if (!out.fault.ok() || number >= Graph::most_inputs) return;
  if constexpr (SaysWhatItTakes<L>) {
    Leaf stated;
    stated.spelled = type_name<L>();
    if (out.fault = check_shape(stated, " takes", "", L::takes().shape); out.fault.ok()) out.all[number] = L::takes();
  } else {
    out.fault = Diagnosis{Code{'G', 28}, ""} << "Inputs " << place << " names " << type_name<L>().view() << " as input " << number
                                             << ", which does not say what it takes. Fix: write Input<sizes...>.";
  }
}

/// Errors  G28 of no input, of too many, of one that is no Input, or where the model has begun; G06, G19, G21 of a shape
template <class... Each> [[nodiscard]] constexpr StatedInputs read_inputs(std::string_view place, bool begun) {
  StatedInputs out;
  const auto broken = [&] { return Diagnosis{Code{'G', 28}, ""} << "Inputs " << place; };
  if (begun)
    out.fault = broken() << " stands behind the beginning of the model. Fix: let it be the first of its layers.";
  else if (sizeof...(Each) < 1 || sizeof...(Each) > Graph::most_inputs)
    out.fault = broken() << " names " << static_cast<int>(sizeof...(Each)) << " inputs. Fix: name 1 to " << Graph::most_inputs << " of them.";
  (read_input<Each>(out, place), ...);
  return out;
}

/// Opens a model of several inputs, such as token ids and positions, or the batches of two towers: the arrays of a batch, in this order. The layer
/// behind it reads input 0; FromInput<1> begins a path from the next one. What the elements are says the layer that reads them, as of one input:
/// token ids before an Embedding, bytes before a Rescaling, else floats.
///
/// Shape   input I of a row is what the I-th of the list takes, as Input<8> or Input<28, 28>
/// Errors  G28 if it is not the first layer, names no input, more than four, or one that is no Input; if no layer takes one of them
/// Tested  graph/inputs_test, equivalence/inputs_test, golden/inputs_test
template <class... Each> struct Inputs : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    if constexpr (requires { tracer.template inputs<Each...>(value); }) tracer.template inputs<Each...>(value);
    return value;
  }
};

/// Begins a path from input I of the model, whatever value stands before it: Branches<Add, Embedding<V, C>, Sequential<FromInput<1>, Embedding<P,
/// C>>> adds what is looked up for input 1. It may stand in any stage and several times: each chunk of a pipeline loads the rows that it reads from
/// the batch, and no input is sent from one stage to another, unless a Stage ends between it and its reader. Inputs have no gradient.
///
/// Shape   what stands before it is not read; gives (B, sizes of the input...)
/// Errors  G28 if there is no such input, or what stands before it is read by nobody else
/// Tested  graph/inputs_test, equivalence/inputs_test, golden/inputs_test
template <int I> struct FromInput : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) { return tracer.template source<FromInput>(I, value); }
};

/// An input of the model as a leaf without operands.
[[nodiscard]] constexpr Leaf source_leaf(int number, const Spec& input) {
  Leaf leaf;
  leaf.kind << "FromInput";
  leaf.spelled << "FromInput<" << number << '>';
  leaf.in = leaf.out = input;
  leaf.operands = 0;
  leaf.source = number + 1;
  leaf.saves = Saves::nothing;
  leaf.reshapes = true;  // no arithmetic
  return leaf;
}

/// G28: an input that is not there.
[[nodiscard]] constexpr Diagnosis refuse_source(int number, int inputs, std::string_view place) {
  auto broken = Diagnosis{Code{'G', 28}, ""} << "FromInput<" << number << "> " << place;
  if (inputs == 0) return broken << " stands before the inputs of the model. Fix: begin the model with Inputs<Input<sizes...>, ...>.";
  broken << " names input " << number << ", but the model has " << inputs << (inputs == 1 ? " input, number 0" : " inputs, from 0 to ");
  if (inputs > 1) broken << inputs - 1;
  return broken << ". Fix: name one that is there, or state it in Inputs<...>.";
}

/// G28: an input that no layer takes, and a value that no layer reads, since FromInput behind it begins anew.
/// Tested  graph/inputs_test, fail/G28_input_that_nobody_takes, fail/G28_value_that_nobody_reads
[[nodiscard]] constexpr Diagnosis check_inputs_taken(const Graph& graph) {
  const auto values = static_cast<std::size_t>(graph.node_count) + 1;
  auto* const read = new bool[values]();
  bool taken[Graph::most_inputs]{};
  for (int n = 0; n < graph.node_count; ++n) {
    for (int k = 0; k < graph.nodes[n].operand_count; ++k) read[graph.nodes[n].operands[k]] = true;
    if (const int number = graph.input_number(n + 1); number >= 0) taken[number] = true;
  }
  taken[0] = taken[0] || read[0];
  int unread = 1;
  while (unread < graph.node_count && read[unread]) ++unread;
  delete[] read;
  for (int i = 0; i < graph.input_count; ++i)
    if (!taken[i])
      return Diagnosis{Code{'G', 28}, ""} << "no layer of " << graph.model.view() << " takes input " << i << ". Fix: begin a path with FromInput<"
                                          << i << ">, or leave the input out of Inputs.";
  if (unread >= graph.node_count) return {};
  return Diagnosis{Code{'G', 28}, ""}
         << "what " << graph.describe(unread - 1).view()
         << " gives is read by no layer, since FromInput begins anew behind it. Fix: join both with Branches<Add, ...> or "
            "Branches<Concat, ...>, or leave the layer out.";
}

/// G27: a leaf of a graph that is data stands for an input of it.
[[nodiscard]] constexpr Diagnosis check_source(const Graph& graph, const Leaf& leaf, int number) {
  if (leaf.source >= 1 && leaf.source <= graph.input_count)
    if (const Spec& input = graph.input_of(leaf.source - 1);
        leaf == source_leaf(leaf.source - 1, Spec{leaf.in.shape, leaf.in.type, leaf.in.sequence}) && leaf.in == input)
      return {};
  return Diagnosis{Code{'G', 27}, ""} << "kind " << number << " of layers stands for input " << leaf.source - 1 << ", but the graph has "
                                      << graph.input_count << ", or another one. Fix: take what source_leaf(number, input) gives.";
}

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::FromInput, graph_room::Inputs;
}  // namespace heddle
