// SPDX-License-Identifier: MIT
// Room: graph. Tied weights: a leaf that uses the parameters of a leaf before it, as a language model's head uses its embedding.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: a name, a leaf type, the name of the owner.  Out: Tied<"head", L, To<"wte">>.
#pragma once

#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/composite.hpp"
#include "heddle/graph/graph.hpp"

namespace heddle::graph_room {

/// The leaf that owns tied parameters, by its whole state_dict name: To<"wte">, To<"transformer.wte">.
template <Name Owner> struct To { static constexpr auto owner = Owner; };

/// "weight (50257, 768) and bias (768)": all parameters of a leaf.
[[nodiscard]] constexpr Text<120> parameter_shapes(const Leaf& leaf) {
  Text<120> words;
  for (int p = 0; p < leaf.parameter_count; ++p) words << (p > 0 ? " and " : "") << leaf.parameters[p].name.view() << ' ' << leaf.parameters[p].shape;
  return leaf.parameter_count > 0 ? words : words << "no parameters";
}

/// Both have the same parameters but for their names and how they would start.
[[nodiscard]] constexpr bool same_parameters(const Leaf& a, const Leaf& b) {
  for (int p = 0; p < a.parameter_count && p < b.parameter_count; ++p)
    if (!(a.parameters[p].shape == b.parameters[p].shape)) return false;
  return a.parameter_count == b.parameter_count;
}

/// The node of the leaf with this name, among those before `end` and outside of Repeat and OneUnit; -1 if there is none.
template <class Tracer> [[nodiscard]] constexpr int node_named(const Tracer& tracer, std::string_view name, int end) {
  for (int n = 0; n < end; ++n)
    if (tracer.nodes[n].block < 0 && tracer.nodes[n].operand_count == 1 && tracer.leaves[tracer.nodes[n].leaf].path.view() == name) return n;
  return -1;
}

/// Lets what was recorded since node `first` use the parameters of the leaf with the name `owner`.
template <class Tracer> constexpr void tie(Tracer& tracer, int first, std::string_view label, std::string_view owner) {
  const auto broken = [&] {
    return Diagnosis{Code{'G', 15}, ""} << '\'' << quoted(label).view() << "' cannot use the parameters of '" << quoted(owner).view() << "': ";
  };
  const auto refuse = [&](const Diagnosis& found) { tracer.refuse(found); };
  if (tracer.node_count != first + 1)
    return refuse(broken() << "it has " << tracer.node_count - first << " layers, but single layers are tied. Fix: tie each layer by itself.");
  Node& node = tracer.nodes[first];
  const int before = node_named(tracer, owner, first);
  if (node.block >= 0)
    return refuse(broken() << "it is inside a Repeat or a OneUnit, but a tied layer is a unit of its own. Fix: tie a layer outside of both.");
  if (before < 0)
    return refuse(
        broken() << "no layer of this name stands before it, outside of Repeat and OneUnit. Fix: write the whole name of an earlier layer.");
  if (tracer.nodes[before].tied_to >= 0)
    return refuse(broken() << "that layer uses those of '" << tracer.leaves[tracer.nodes[tracer.nodes[before].tied_to].leaf].path.view()
                           << "' itself. Fix: tie both to '" << tracer.leaves[tracer.nodes[tracer.nodes[before].tied_to].leaf].path.view() << "'.");
  const Leaf& here = tracer.leaves[node.leaf].leaf;
  const Leaf& there = tracer.leaves[tracer.nodes[before].leaf].leaf;
  if (here.parameter_count == 0)
    return refuse(broken() << here.spelled.view() << " has no parameters. Fix: tie a layer that has some, or write " << here.spelled.view()
                           << " without Tied.");
  if (!same_parameters(here, there))
    return refuse(broken() << here.spelled.view() << " has " << parameter_shapes(here).view() << ", but " << there.spelled.view() << " has "
                           << parameter_shapes(there).view() << ". Fix: "
                           << (here.parameter_count == 2 && there.parameter_count == 1
                                   ? "write NoBias in it, as the other has none, if the weights have equal shapes."
                                   : "tie layers whose parameters have equal shapes."));
  if (here.tracks() || there.tracks())
    return refuse(broken() << (here.tracks() ? here : there).spelled.view()
                           << " tracks what its own rows have, which two layers cannot share. Fix: give each layer parameters of its own.");
  if (tracer.frozen(first) != tracer.frozen(before))
    return refuse(broken() << (tracer.frozen(before) ? "that layer is frozen" : "it is frozen")
                           << ", but only one of both. Fix: write both inside Frozen, or neither, or a layer with parameters of its own.");
  node.tied_to = before;
  ++tracer.tie_count;
}

/// L under a name, with all parameters of the earlier leaf that To names instead of parameters of its own.
///
/// Shape   as L; the parameters of L have the number and the shapes of the owner's and count once
/// Moves   where the uses live on several stages: each sends the slices of its gradient to every other owner, once a step
/// Errors  G15 at build if the owner is no To, is not there, is tied or repeated itself, or has parameters of other shapes
/// Source  sources.md#tied-weights
/// Tested  graph/tied_test, equivalence/tied_test, fail/G15_shapes_differ
template <Name Label, class L, class Owner> struct Tied : PlacesLayers {
  static constexpr auto label = Label;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    if constexpr (requires { tracer.tie_count; }) {
      const int first = tracer.node_count;
      const int out = tracer.template named<L>(Label.view(), value);
      if constexpr (requires { Owner::owner.view(); })
        tie(tracer, first, Label.view(), Owner::owner.view());
      else
        tracer.refuse(Diagnosis{Code{'G', 15}, ""} << '\'' << quoted(Label.view()).view() << "' cannot use the parameters of '"
                                                   << type_name<Owner>().view()
                                                   << "': it names no layer. Fix: write To<'name'> with the name of an earlier layer.");
      return out;
    } else {
      return tracer.template named<L>(Label.view(), value);
    }
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Tied, graph_room::To;
}  // namespace heddle
