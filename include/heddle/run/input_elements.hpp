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

template <class Input>
inline constexpr ElementType element_type = std::is_same_v<Input, std::int32_t>   ? ElementType::int32
                                            : std::is_same_v<Input, std::uint8_t> ? ElementType::uint8
                                                                                  : ElementType::float32;

template <ElementType Type>
using ElementsOf = std::conditional_t<Type == ElementType::int32, std::int32_t, std::conditional_t<Type == ElementType::uint8, std::uint8_t, float>>;
/// Elements of the inputs of a plan: std::int32_t where its model begins with token ids, std::uint8_t where it begins with bytes, else float.
template <class Request> using InputOf = ElementsOf<Request::graph.input.type>;

/// The type that rows have in the words of the sentences, and what a model takes.
[[nodiscard]] constexpr std::string_view inputs_in_words(ElementType type) {
  return type == ElementType::int32 ? "std::int32_t" : type == ElementType::uint8 ? "std::uint8_t" : "float";
}
[[nodiscard]] constexpr std::string_view taken_in_words(ElementType type) {
  return type == ElementType::int32 ? "token ids" : type == ElementType::uint8 ? "bytes" : "float inputs";
}
/// D33: rows of another element type than the model takes: floats for one that looks token ids up, bytes for one that computes with floats. The same
/// words at build and at run time.
/// Tested  run/input_elements_test
[[nodiscard]] constexpr Diagnosis check_inputs(std::string_view model, ElementType taken, ElementType given) {
  if (taken == given) return {};
  auto wrong = Diagnosis{Code{'D', 33}, ""} << model << " takes " << taken_in_words(taken) << " but the rows have " << inputs_in_words(given)
                                            << " inputs. Fix: give " << inputs_in_words(taken) << " inputs";
  if (taken == ElementType::int32) wrong << ", as datasets::next_token_rows and datasets::TokenDataset have them";
  if (taken == ElementType::uint8) wrong << ", as datasets::ByteDataset and datasets::IdxByteDataset have them";
  if (taken == ElementType::float32 && given == ElementType::int32) wrong << ", or begin the model with Input<length>, Embedding<tokens, features>";
  if (taken == ElementType::float32 && given == ElementType::uint8) wrong << ", or begin the model with Input<sizes...>, Rescaling<>";
  return wrong << '.';
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
