// SPDX-License-Identifier: MIT
// Room: run. The inputs of a batch behind its first: arrays of any of the element types, one for each input of the model.
// Sees: core, graph/graph, run/arrays, seams/error.  Does not see: files, data sets, policies, devices.
// In: arrays, a Graph.  Out: MoreInputs; D07, D33, D34 where a batch has other inputs than a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/run/arrays.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// One input: rows of `features` elements, that lie somewhere else. 4 rows of 8 positions have features 8 and elements 32.
struct FurtherRows {
  const void* data = nullptr;
  ElementType type = ElementType::float32;
  std::int64_t features = 0;
  std::int64_t elements = 0;  ///< of all rows that are there
};

template <class Element> [[nodiscard]] FurtherRows further_rows(std::span<const Element> seen, std::int64_t features = 0) {
  return {seen.data(), element_type<Element>, features, std::ssize(seen)};
}

/// Inputs 1, 2 and 3 of a batch, as far as there are some.
///
/// Tested  run/more_inputs_test
struct MoreInputs {
  static constexpr int most = Graph::most_inputs - 1;
  FurtherRows all[most]{};
  int count = 0;

  /// Errors  D07 the array has no `rows` rows, or fewer where only some are taken; D34 one too many
  void append(const FurtherRows& given, std::int64_t rows, bool exactly) {
    if (count == most)
      throw Error(Code{'D', 34}, written({"a batch is given input ", count + 1, ", but a model has at most ", most + 1,
                                          " inputs. Fix: put some of them into one array, one behind the other in each row."}));
    const bool whole = given.features > 0 && given.elements % given.features == 0;
    const std::int64_t there = whole ? given.elements / given.features : 0;
    if (!whole || (exactly ? there != rows : there < rows))
      throw Error(Code{'D', 7}, written({"input ", count + 1, " has ", given.elements, " elements for ", rows, (rows == 1 ? " row" : " rows"), " of ",
                                         given.features, ". Fix: give rows x features elements, and the number of features of one row."}));
    all[count++] = given;
  }
  /// The first rows are left out.
  constexpr void skip(std::int64_t rows) {
    for (int i = 0; i < count; ++i) {
      all[i].data = static_cast<const std::byte*>(all[i].data) + rows * all[i].features * bytes_of(all[i].type);
      all[i].elements -= rows * all[i].features;
    }
  }
};

/// D34: the batch has another number of inputs than the model.
[[noreturn]] HEDDLE_COLD inline void refuse_input_count(const Graph& graph, int given) {
  throw Error(Code{'D', 34},
              written({"the batch has ", given, (given == 1 ? " input, but " : " inputs, but "), graph.model.view(), " takes ", graph.input_count,
                       (given < graph.input_count ? ". Fix: give the others in their order, by batch.with_input(array, features_of_a_row)."
                                                  : ". Fix: leave out what the model does not take, or state it in Inputs<...>.")}));
}

}  // namespace heddle::run_room
