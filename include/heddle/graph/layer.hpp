// SPDX-License-Identifier: MIT
// Room: graph. What counts as a layer, and one sentence for what is missing when something does not.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: a type.  Out: Layer<L>, explain_layer<L>().
#pragma once

#include <concepts>
#include <type_traits>

#include "heddle/core/fire.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/composite.hpp"
#include "heddle/graph/join.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/leaf_rules.hpp"

namespace heddle::graph_room {

/// A tracer that looks at nothing: child() gives back the value that it gets, 3 for 3.
struct AnyTracer {
  template <class L> constexpr int child(int, int value) { return value; }
};

/// Sequential, Residual, Repeat, Named: types that place other layers. One that inherits from two of them has no trace that can be called.
template <class L>
concept Composite = requires(AnyTracer& tracer) {
  L::is_composite;
  L::trace(tracer, 0);
};

template <class L>
concept GivesForward = requires {
  &L::forward;
};
template <class L>
concept GivesBackward = requires {
  &L::backward;
};
/// What it takes is said by a Spec or not at all: a member takes of another kind would be overlooked.
template <class L>
concept TakesASpec = SaysWhatItTakes<L> || !requires {
  &L::takes;
};

/// A value to describe a layer with: what it says that it takes, or one of so many dimensions.
template <class L, int Dimensions> [[nodiscard]] constexpr Spec tried_input() {
  if constexpr (SaysWhatItTakes<L>)
    return L::takes();
  else
    return Spec{Dimensions == 1 ? Shape{6} : Dimensions == 2 ? Shape{6, 6} : Dimensions == 3 ? Shape{6, 6, 6} : Shape{6, 6, 6, 6}};
}
/// Constant<4> is a type only if 4 is a constant expression: a concept asks with it whether a number is known at build.
template <int> struct Constant {};
template <class L>
concept TakesAtBuild = !SaysWhatItTakes<L> || requires {
  typename Constant<L::takes().shape.dimensions>;
};
template <class L, int Dimensions>
concept DescribesConstant = requires {
  typename Constant<L::describe(tried_input<L, Dimensions>()).parameter_count>;
};
/// describe is a constant expression for some value: a layer may take values of certain dimensions only.
template <class L>
concept DescribesAtBuild = DescribesLeaf<L> &&
    (DescribesConstant<L, 1> || DescribesConstant<L, 2> || DescribesConstant<L, 3> || DescribesConstant<L, 4>);

/// A leaf is two functions of one float each, or it names a kernel of its own: Kernel<L, Compute> is found by the backend, parameters are allowed.
template <class L>
concept Layer = Composite<L> ||
    (std::is_empty_v<L>&& TakesASpec<L>&& DescribesAtBuild<L> && (ElementwiseLayer<L> || (!GivesForward<L> && !GivesBackward<L>)));

/// The type that kernels are written for: a layer that is derived from another to give it a name runs the kernels of that one.
template <class L> struct KernelLayerOf { using type = L; };
template <class L>
requires requires { typename L::KernelLayer; }
struct KernelLayerOf<L> {
  using type = typename L::KernelLayer;
};

/// Says in one sentence which member is missing or wrong; converts to true if nothing is.
template <class L> [[nodiscard]] constexpr Diagnosis diagnose_layer() {
  const auto name = type_name<L>();
  const auto broken = [&](std::string_view what, std::string_view fix) {
    return Diagnosis{Code{'G', 5}, ""} << name.view() << " is no layer: " << what << " Fix: " << fix;
  };
  if constexpr (Composite<L>)
    return {};
  else if constexpr (hides_its_layers<L>())
    return broken("it inherits its layers privately, as a class does.", "write struct instead of class, or inherit publicly.");
  else if constexpr (std::is_void_v<L>)
    return broken("a Named has a name, but names none.", "write the layer after the name.");
  else if constexpr (std::is_function_v<L>)
    return broken("the parentheses make a function of it.", "write it without them; a model names types.");
  else if constexpr (!std::is_class_v<L>)
    return broken("it is no class.", "name a layer.");
  else if constexpr (requires { L::is_composite; } && std::is_base_of_v<PlacesLayers, L>)
    return broken("it inherits from several types that place layers.", "inherit from one of them and write the others inside it.");
  else if constexpr (requires { L::is_composite; })
    return broken("it says is_composite, but has no trace.", "drop is_composite, or inherit from Sequential.");
  else if constexpr (!std::is_empty_v<L>)
    return broken("it has data members, but a layer is an empty description.",
                  "keep sizes as template parameters and state as parameters of the Leaf.");
  else if constexpr (requires {
                       typename L::Target;
                       L::name();
                     })
    return broken("it is a loss.", "name it in the Plan, beside the model.");
  else if constexpr (requires {
                       typename L::Options;
                       L::states;
                     })
    return broken("it is an optimizer.", "name it in the Plan, beside the model.");
  else if constexpr (requires { &L::answer; })
    return broken("it is a policy.", "name it in the Plan, beside the model.");
  else if constexpr (!requires { &L::describe; })
    return broken("it has no public static member describe(Spec).", "add static constexpr Leaf describe(Spec in).");
  else if constexpr (!DescribesLeaf<L>)
    return broken("its describe does not take a Spec and return a Leaf.", "declare it static constexpr Leaf describe(Spec in).");
  else if constexpr (!TakesASpec<L>)
    return broken("its takes does not give a Spec.", "declare it static constexpr Spec takes().");
  else if constexpr (!TakesAtBuild<L>)
    return broken("its takes() cannot be called at build.", "declare it static constexpr, and let it call constexpr functions only.");
  else if constexpr (!DescribesAtBuild<L>)
    return broken("its describe cannot be called at build.", "declare it static constexpr, and let it call constexpr functions only.");
  else if constexpr (GivesForward<L> && !GivesBackward<L>)
    return broken("it has forward but no backward.", "add static float backward(float x, float gradient).");
  else if constexpr (GivesBackward<L> && !GivesForward<L>)
    return broken("it has backward but no forward.", "add static float forward(float x).");
  else if constexpr (GivesForward<L> && !ElementwiseLayer<L>)
    return broken("forward or backward has another signature.",
                  "declare static float forward(float x) and static float backward(float x, float gradient).");
  else
    return {};
}

template <class L, int Dimensions>
concept DescribesLarger = requires {
  typename Constant<L::describe(enlarged(tried_input<L, Dimensions>(), 1)).parameter_count>;
};
/// What a model would be told of a layer, of the first value that it takes among those of 1 to 4 dimensions of 6; ok if it takes none of them.
template <class L, int Dimensions = 1> [[nodiscard]] constexpr Diagnosis diagnose_description() {
  if constexpr (Dimensions <= Shape::most_dimensions && !Composite<L>) {
    if constexpr (DescribesConstant<L, Dimensions>) {
      constexpr Spec tried = tried_input<L, Dimensions>();
      const Leaf leaf = L::describe(tried);
      if (leaf.fault.ok()) return fault_of_layer<L>(leaf, as_input_of(leaf, tried), DescribesLarger<L, Dimensions> ? 1 : 0);
    }
    return diagnose_description<L, Dimensions + 1>();
  }
  return {};
}

/// Holds what is wrong with a layer, for fired<...>: a code and its words, or nothing.
template <class L> struct ExplainedLayer {
  static constexpr Diagnosis explain() {
    if constexpr (constexpr Diagnosis of_members = diagnose_layer<L>(); !of_members.ok())
      return of_members;
    else
      return diagnose_description<L>();
  }
  static constexpr Diagnosis found = explain();
};

/// Says in one sentence what a type lacks to be a layer: static_assert(explain_layer<Swish>());
///
/// Errors  G05 at build: one sentence with the missing or wrong member; G04, G06, G19, G20, G21, G23 what its description says wrongly
/// Tested  graph/layer_test, fail/G05_no_backward, fail/G20_explained
template <class L> struct explain_layer {
  static_assert(sizeof(fired<ExplainedLayer<L>>) > 0);
  constexpr explicit operator bool() const { return true; }
};

/// Diagnosis of the first type in the model that is no layer.
struct LayerCheck {
  Diagnosis fault;
  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>) {
      L::trace(*this, value);
    } else if (fault.ok()) {
      fault = diagnose_layer<L>();
    }
    return value;
  }
  template <class L> constexpr int child(int, int value) { return layer<L>(value); }
  template <class L> constexpr int named(std::string_view, int value) { return layer<L>(value); }
  template <int, class Block> constexpr int repeat(int value) { return layer<Block>(value); }
  template <class> constexpr int join(int, int value, const Joint& = {}) { return value; }
  template <class> constexpr int source(int, int value) { return value; }
  template <class...> constexpr void siblings() {}
};

}  // namespace heddle::graph_room

namespace heddle::extending {
using graph_room::explain_layer;
}  // namespace heddle::extending
