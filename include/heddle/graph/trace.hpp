// SPDX-License-Identifier: MIT
// Room: graph. From a model type to a Graph: what a Tracer records, if every describe is a constant expression where it stands.
// Sees: core, graph/tracer, graph/graph.  Does not see: policies, devices, memory.
// In: a model type.  Out: graph_of<Model>.
#pragma once

#include "heddle/core/type_name.hpp"
#include "heddle/graph/counter.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/inputs.hpp"
#include "heddle/graph/layer.hpp"
#include "heddle/graph/spelled.hpp"
#include "heddle/graph/token_ids.hpp"
#include "heddle/graph/tracer.hpp"
#include "heddle/graph/unique_names.hpp"

namespace heddle::graph_room {

/// A concept, since nvcc 13.0 stops with an internal error where the same `requires` stands in a function of Describing.
template <class Describing, int Described>
concept TracedAtBuild = requires {
  typename Constant<Describing::trace(Described).leaf_count>;
};

/// A trace of so many leaves and nodes, as far as every describe is a constant expression: one may throw for the value that it meets.
template <class Model, int Leaves, int Nodes> struct Describing {
  static constexpr auto trace(int described) {
    Tracer<Leaves, Nodes> tracer;
    tracer.described = described;
    tracer.template layer<Model>(0);
    find_gradients(tracer.nodes, tracer.node_count);
    return tracer;
  }
  template <int Described> static constexpr bool is_constant() { return TracedAtBuild<Describing, Described>; }
  /// How many leaves can be described: `Least` can, Most + 1 cannot.
  template <int Least, int Most> static constexpr int count() {
    constexpr int middle = (Least + Most + 1) / 2;
    if constexpr (Least == Most)
      return Least;
    else if constexpr (is_constant<middle>())
      return count<middle, Most>();
    else
      return count<Least, middle - 1>();
  }
  static constexpr int most() {
    if constexpr (is_constant<Leaves>())
      return Leaves;
    else
      return count<0, Leaves - 1>();
  }
};

/// Holds what a model type says of itself, traced once: its tables, its fault, and the numbers of its layers, 3 for Linear, ReLU, Linear.
template <class Model> struct Traced {
  static constexpr Counter counted = [] {
    Counter counter;
    counter.layer<Model>(0);
    return counter;
  }();
  static constexpr Diagnosis layers = [] {
    LayerCheck check;
    if (!counted.sound) check.layer<Model>(0);
    return check.fault;
  }();
  static constexpr bool traceable = counted.traceable();
  static constexpr auto recorded = [] {
    if constexpr (traceable) {
      using All = Describing<Model, counted.leaves, counted.nodes>;
      if constexpr (counted.own)
        return All::trace(All::most());
      else
        return All::trace(counted.leaves);
    } else {
      Tracer<0, 0> tracer;
      tracer.refuse(refuse_depth(type_name<Model>().view(), counted));
      return tracer;
    }
  }();
  static constexpr Graph graph = [] {
    Graph g;
    g.leaves = recorded.leaves;
    g.nodes = recorded.nodes;
    g.leaf_count = recorded.leaf_count;
    g.node_count = recorded.node_count;
    g.parameter_count = recorded.parameter_count;
    g.tie_count = recorded.tie_count;
    g.input = recorded.inputs_[0];
    g.input_count = recorded.input_count;
    for (int i = 1; i < g.input_count; ++i) g.more_inputs[i - 1] = recorded.inputs_[i];
    g.first_backward = first_backward_of(g);
    g.model = type_name<Model>();
    g.fault = !layers.ok()           ? layers
              : !recorded.fault.ok() ? recorded.fault
              : recorded.has_names   ? check_unique_names<counted.leaves>(g.leaves, g.leaf_count)
                                     : Diagnosis{};
    if (g.fault.ok() && !recorded.input_known)
      g.fault = Diagnosis{Code{'G', 10}, ""} << "the input shape of the model is not known: " << g.model.view()
                                             << " has no layer that takes one. Fix: begin the model with Input<sizes...>, and write its layers.";
    if (g.fault.ok() && (recorded.sources > 0 || g.input_count > 1)) g.fault = check_inputs_taken(g);
    if (g.fault.ok()) g.fault = check_token_ids(g);
    if (g.fault.ok()) g.fault = check_whole_inputs(g);
    return g;
  }();
};

/// The layer graph of a model as a constexpr value.
template <class Model> inline constexpr const Graph& graph_of = Traced<Model>::graph;

}  // namespace heddle::graph_room

namespace heddle::extending {
using graph_room::graph_of;
}  // namespace heddle::extending
