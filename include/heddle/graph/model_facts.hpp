// SPDX-License-Identifier: MIT
// Room: graph. Questions about a model alone: its parameters, what it gives, the operations of one sample.
// Sees: core, graph/trace.  Does not see: plans, devices, memory.
// In: a model type.  Out: parameters<Model>, parameter_shape<Model, "name">, output_spec<Model>, flops<Model>; of a broken model its first fault, and
// answers that add no error.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/fire.hpp"
#include "heddle/core/nearest.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/trace.hpp"

namespace heddle::graph_room {

/// What is wrong with a model, or with what is none.
template <class Model> struct AskedModel { static constexpr Diagnosis found = graph_of<Model>.fault; };

/// The answers about a model, and about a broken one: those compare as true, so that its fault stays the only error.
template <class Model, bool Sound = AskedModel<Model>::found.ok()> struct ModelAnswers {
  static constexpr std::int64_t parameters = graph_of<Model>.parameter_elements() - graph_of<Model>.tracked_elements();
  static constexpr Spec output = graph_of<Model>.output();
  static constexpr Flops flops = [] {
    Flops sum;
    const int untrained = graph_of<Model>.last_untrained();
    for (int n = 0; n < graph_of<Model>.node_count; ++n) sum.value += graph_of<Model>.work(n, untrained).total();
    return sum;
  }();
};
/// Answers in place of the Spec of a broken model: each number compares as true, so that the fault of the model stays the only error.
struct RefusedSpec : RefusedAnswer {
  RefusedNumber shape, type;
  [[nodiscard]] constexpr RefusedNumber elements() const { return {}; }
};
template <class Model> struct ModelAnswers<Model, false> {
  static constexpr RefusedNumber parameters{};
  static constexpr RefusedSpec output{};
  static constexpr RefusedFlops flops{};
};
template <class Model> using ModelRefusal = fired<AskedModel<Model>>*;

/// The parameter of a sound model that has a name of its state_dict, or G26.
template <class Model, Name Asked, bool Sound = AskedModel<Model>::found.ok()> struct AskedParameter {
  static constexpr const Graph& graph() { return graph_of<Model>; }  // nvcc initialises a reference that is a member twice
  static constexpr Diagnosis refuse() {
    if (graph().parameter_count == 0)
      return Diagnosis{Code{'G', 26}, graph().model.view()} << " has no parameters at all. Fix: ask about a model with a layer that has some.";
    constexpr std::size_t most_work = 40'000;  // letters times letters: clang stops a constant expression after 2^20 steps
    Nearest nearest{Asked.view()};
    std::size_t work = 0;
    int n = 0;
    for (int number = 0; n < graph().node_count; ++n)
      for (int k = 0; k < graph().leaf(n).parameter_count && work < most_work; ++k) {
        const Text<160> name = graph().parameter_name(n, k);
        work += Asked.view().size() * name.view().size();
        nearest.consider(name.view(), number++);
      }
    auto broken = Diagnosis{Code{'G', 26}, graph().model.view()} << " has no parameter '" << Text<60>{Asked.view()}.view() << '\'';
    for (int i = 0; i < nearest.count(); ++i) broken << (i == 0 ? "; nearest: '" : ", '") << name(nearest.number(i)).view() << '\'';
    return broken << ". Fix: name a parameter of its state_dict, such as '" << name(nearest.count() > 0 ? nearest.number(0) : 0).view() << "'.";
  }
  static constexpr Text<60> name(int number) {
    for (int n = 0; n < graph().node_count; number -= graph().leaf(n++).parameter_count)
      if (number < graph().leaf(n).parameter_count) return graph().parameter_name(n, number);
    return {};
  }
  static constexpr const Shape* find() {
    for (int n = 0; n < graph().node_count; ++n)
      for (int k = 0; k < graph().leaf(n).parameter_count; ++k)
        if (graph().parameter_name(n, k).view() == Asked.view()) return &graph().leaf(n).parameters[k].shape;
    return nullptr;
  }
  static constexpr Diagnosis found = find() == nullptr ? refuse() : Diagnosis{};
};

template <class Model, Name Asked> struct AskedParameter<Model, Asked, false> { static constexpr Diagnosis found{}; };  // its own fault is told
template <class Model, Name Asked> using ParameterRefusal = fired<AskedParameter<Model, Asked>>*;

/// The answer about one parameter; where the model or the name is refused, one that compares as true.
template <class Model, Name Asked> constexpr auto shape_of_parameter() {
  if constexpr (AskedModel<Model>::found.ok() && AskedParameter<Model, Asked>::found.ok())
    return Shape{*AskedParameter<Model, Asked>::find()};
  else
    return RefusedNumber{};
}

/// The model of a plan; of any other type itself.
template <class T> struct ModelOf { using type = T; };
template <class T>
requires requires { typename T::Request::Model; }
struct ModelOf<T> {
  using type = typename T::Request::Model;
};

/// Number of elements of all parameters of a model, or of that of a plan, also of frozen ones, but not of what is tracked: PyTorch calls that
/// buffers.
///
/// Errors  the first fault of the model, as in a plan; G05 of what is none
/// Tested  graph/model_facts_test, fail/G05_parameters_of_an_int
template <class Model>
inline constexpr auto parameters = (heard(ModelRefusal<typename ModelOf<Model>::type>{}), ModelAnswers<typename ModelOf<Model>::type>::parameters);

/// What a model gives for one sample.
template <class Model>
inline constexpr auto output_spec = (heard(ModelRefusal<typename ModelOf<Model>::type>{}), ModelAnswers<typename ModelOf<Model>::type>::output);

/// Shape of one parameter, by its name in a state_dict: parameter_shape<Mnist, "linear1.weight"> == Shape{50, 784}. A tied layer's name is known too.
///
/// Errors  G26 of a name that no parameter has, with the nearest ones; the first fault of the model
/// Tested  graph/model_facts_test, fail/G26_no_such_parameter
template <class Model, Name Asked>
inline constexpr auto parameter_shape = (heard(ModelRefusal<Model>{}), heard(ParameterRefusal<Model, Asked>{}), shape_of_parameter<Model, Asked>());

/// Floating-point operations that training runs for one sample, forward and backward: no gradient is made of what the first layer is given.
template <class Model>
inline constexpr auto flops = (heard(ModelRefusal<typename ModelOf<Model>::type>{}), ModelAnswers<typename ModelOf<Model>::type>::flops);

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::parameters;
}  // namespace heddle

namespace heddle::extending {
using graph_room::flops, graph_room::output_spec, graph_room::parameter_shape;
}  // namespace heddle::extending
