// SPDX-License-Identifier: MIT
// Room: graph. Questions about a model alone: its parameters, what it gives, the operations of one sample.
// Sees: core, graph/trace.  Does not see: plans, devices, memory.
// In: a model type.  Out: parameters<Model>, output_spec<Model>, flops<Model>; of a broken model its first fault, and answers that add no error.
#pragma once

#include <cstdint>

#include "heddle/core/fire.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/trace.hpp"

namespace heddle::inline graph_room {

/// What is wrong with a model, or with what is none.
template <class Model> struct AskedModel { static constexpr Diagnosis found = graph_of<Model>.fault; };

/// The answers about a model, and about a broken one: those compare as true, so that its fault stays the only error.
template <class Model, bool Sound = AskedModel<Model>::found.ok()> struct ModelAnswers {
  static constexpr std::int64_t parameters = graph_of<Model>.parameter_elements();
  static constexpr Spec output = graph_of<Model>.output();
  static constexpr Flops flops = [] {
    Flops sum;
    const int untrained = graph_of<Model>.last_untrained();
    for (int n = 0; n < graph_of<Model>.node_count; ++n) sum.value += graph_of<Model>.work(n, untrained).total();
    return sum;
  }();
};
struct RefusedSpec : RefusedAnswer {
  RefusedNumber shape, dtype;
  [[nodiscard]] constexpr RefusedNumber elements() const { return {}; }
};
template <class Model> struct ModelAnswers<Model, false> {
  static constexpr RefusedNumber parameters{};
  static constexpr RefusedSpec output{};
  static constexpr RefusedFlops flops{};
};
template <class Model> using ModelRefusal = fired<AskedModel<Model>>*;

/// Number of trainable elements of a model.
///
/// Errors  the first fault of the model, as in a plan; G05 of what is none
/// Tested  graph/model_facts_test, fail/G05_parameters_of_an_int
template <class Model> inline constexpr auto parameters = (heard(ModelRefusal<Model>{}), ModelAnswers<Model>::parameters);

/// What a model gives for one sample.
template <class Model> inline constexpr auto output_spec = (heard(ModelRefusal<Model>{}), ModelAnswers<Model>::output);

/// Floating-point operations that training runs for one sample, forward and backward: no gradient is made of what the first layer is given.
template <class Model> inline constexpr auto flops = (heard(ModelRefusal<Model>{}), ModelAnswers<Model>::flops);

}  // namespace heddle::inline graph_room
