// SPDX-License-Identifier: MIT
// Room: run. The element type of what a model reads, and D33 where rows have another one.
// Sees: core, run/examples.  Does not see: where rows come from, kernels, any backend.
// In: a model, rows.  Out: InputOf, WrongInputs, WrongRows; one sentence.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/run/examples.hpp"

namespace heddle::run_room {

template <class Input> inline constexpr ElementType element_type = std::is_same_v<Input, std::int32_t> ? ElementType::int32 : ElementType::float32;

/// Elements of the inputs of a plan: std::int32_t where its model begins with token ids, else float.
template <class Request> using InputOf = std::conditional_t<Request::graph.input.type == ElementType::int32, std::int32_t, float>;
/// The type that the model does not take.
template <class Input> using OtherInput = std::conditional_t<std::is_same_v<Input, float>, std::int32_t, float>;

/// D33: floats for a model that looks token ids up, or ids for one that computes with floats. The same words at build and at run time.
/// Tested  run/input_elements_test
[[nodiscard]] constexpr Diagnosis check_inputs(std::string_view model, ElementType taken, ElementType given) {
  if (taken == given) return {};
  auto wrong = Diagnosis{Code{'D', 33}, ""} << model;
  if (taken == ElementType::int32)
    return wrong << " takes token ids but the rows have float inputs. Fix: give std::int32_t inputs, as datasets::next_token_rows and "
                    "datasets::TokenDataset have them.";
  return wrong << " takes float inputs but the rows have std::int32_t inputs. Fix: give float inputs, or begin the model with Input<length>, "
                  "Embedding<tokens, features>.";
}

/// D33 at build.
template <class Request, class Given> struct WrongInputs {
  static constexpr Diagnosis found = check_inputs(Request::graph.model.view(), Request::graph.input.type, element_type<Given>);
};
/// D33, else D12 of a loss: one sentence wherever it is found, so that a program has one error.
template <class Request, class Target, class Input> struct WrongRows {
  static constexpr Diagnosis find() {
    if constexpr (!WrongInputs<Request, Input>::found.ok())
      return WrongInputs<Request, Input>::found;
    else if constexpr (Request::trains)
      return WrongTargets<typename Request::Loss, Target>::found;
    else
      return {};
  }
  static constexpr Diagnosis found = find();
};

}  // namespace heddle::run_room
