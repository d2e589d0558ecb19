// SPDX-License-Identifier: MIT
// Room: run. The element type of what a model reads, and D33 where rows have another one.
// Sees: core, graph/graph, run/examples, seams/error.  Does not see: where rows come from, kernels, any backend.
// In: a model, rows.  Out: InputOf, WrongInputs, WrongRows; one sentence.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/core/text.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/run/arrays.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/run/more_inputs.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

template <ElementType Type>
using ElementsOf = std::conditional_t<Type == ElementType::int32, std::int32_t, std::conditional_t<Type == ElementType::uint8, std::uint8_t, float>>;
/// Elements of the inputs of a plan: std::int32_t where its model begins with token ids, std::uint8_t where it begins with bytes, else float.
template <class Request> using InputOf = ElementsOf<given_as(Request::graph.input.type)>;

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

/// D33 of one of the inputs of a model, which is named if there are several.
inline void refuse_other_elements(const Graph& graph, int number, ElementType given) {
  if (given_as(graph.input_of(number).type) == given) return;  // no memory is taken in a step
  std::string name{graph.model.view()};
  if (graph.input_count > 1) name = written({"input ", number, " of ", graph.model.view()});
  throw Error(check_inputs(name, given_as(graph.input_of(number).type), given));
}

/// What is given to a prediction says no number of features: those of the model, in so many rows.
///
/// Errors  D34 another number of inputs, D33 other elements, D07 other sizes
/// Tested  run/more_inputs_test
[[nodiscard]] inline MoreInputs rows_of_inputs(const Graph& graph, std::span<const FurtherRows> given, std::int64_t rows) {
  MoreInputs all;
  if (std::ssize(given) + 1 != graph.input_count) refuse_input_count(graph, static_cast<int>(std::ssize(given)) + 1);
  for (FurtherRows here : given) {
    refuse_other_elements(graph, all.count + 1, here.type);
    here.features = graph.input_of(all.count + 1).elements();
    all.append(here, rows, true);
  }
  return all;
}

/// The inputs of a batch are those of the model, in its order: the first with these elements, and the others.
///
/// Errors  D34 another number of inputs, D33 other elements, D07 other sizes
/// Tested  run/more_inputs_test
inline void refuse_other_inputs(const Graph& graph, ElementType first, const MoreInputs& given) {
  refuse_other_elements(graph, 0, first);
  if (given.count + 1 != graph.input_count) refuse_input_count(graph, given.count + 1);
  for (int i = 1; i < graph.input_count; ++i) {
    refuse_other_elements(graph, i, given.all[i - 1].type);
    if (given.all[i - 1].features == graph.input_of(i).elements()) continue;
    throw Error(Code{'D', 7}, written({"input ", i, " of the batch has ", given.all[i - 1].features, " features a row, but ", graph.model.view(),
                                       " takes ", graph.input_of(i).elements(), ". Fix: give rows of the model's shape."}));
  }
}

/// D07: rows that are not those of the model.
inline void refuse_other_shape(std::string_view model, std::int64_t inputs, std::int64_t targets, std::int64_t model_inputs,
                               std::int64_t model_targets) {
  if (inputs != model_inputs || targets != model_targets)
    throw Error(Code{'D', 7},
                written({"the batch has ", inputs, " features and ", targets, " target values a row, but ", model, " takes ", model_inputs, " and ",
                         model_targets, ". Fix: give rows of the model's shape, with as many targets as its loss reads."}));
}

/// D12: rows whose targets are of another type than the loss takes. One sentence wherever it is found, so that a program has one error.
template <class Loss, class Given> struct WrongTargets {
  template <class T> static constexpr bool is_label = std::is_same_v<T, std::int32_t>;
  template <class T> static constexpr Text<64> words() { return is_label<T> ? Text<64>{"class number"} : Text<64>{type_name<T>()}; }
  using Taken = typename Loss::Target;
  static constexpr Diagnosis found = [] {
    if (std::is_same_v<Given, Taken>) return Diagnosis{};
    if (std::is_same_v<Taken, TargetValue>)
      return Diagnosis{Code{'D', 12}, ""} << Loss::name() << " takes class numbers and floats but the rows have " << words<Given>().view()
                                          << " targets. Fix: give the others as well, as in examples(inputs, labels, 784).with_targets(values, 1).";
    auto wrong = Diagnosis{Code{'D', 12}, ""} << Loss::name() << " takes " << words<Taken>().view() << " targets but the rows have "
                                              << words<Given>().view() << " targets. Fix: give "
                                              << (is_label<Taken>                ? "a datasets::Dataset or "
                                                  : std::is_same_v<Taken, float> ? "a datasets::RegressionDataset or "
                                                                                 : "")
                                              << "Examples<" << (is_label<Taken> ? "std::int32_t" : words<Taken>().view()) << '>';
    return wrong << (is_label<Given> || std::is_same_v<Given, float> ? ", or name another loss." : ".");
  }();
};

/// D33 at build.
template <class Request, class Given> struct WrongInputs {
  static constexpr Diagnosis found = check_inputs(Request::graph.model.view(), given_as(Request::graph.input.type), element_type<Given>);
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
