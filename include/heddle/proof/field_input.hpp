// SPDX-License-Identifier: MIT
// Room: proof. Elements, token ids and bytes that a draw gives to the inputs of a model: by the key alone, never by the plan.
// Sees: graph, compute/field, core/random.  Does not see: plans, any transport.
// In: a Graph, a stream of numbers.  Out: FieldInput, field_element, field_below.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/token_ids.hpp"

namespace heddle::proof_room {

[[nodiscard]] inline std::uint64_t field_bits(std::uint64_t stream, std::int64_t i) {
  return bits64(Seed{field_draw.key}, stream, static_cast<std::uint64_t>(i));
}
/// In a degree run every element has degree 1.
[[nodiscard]] inline float field_element(std::uint64_t stream, std::int64_t i) {
  return Field::write(Field::in_degrees() ? 1 : field_bits(stream, i) % Field::modulus);
}
[[nodiscard]] inline std::int64_t field_below(std::uint64_t stream, std::int64_t i, std::int64_t limit) {
  return static_cast<std::int64_t>(field_bits(stream, i) % static_cast<std::uint64_t>(limit));
}

/// One input of a model, in the array of its elements: 4 rows of 3 token ids are 12 ids.
///
/// Tested  proof/field_input_test
struct FieldInput {
  std::vector<float> inputs;
  std::vector<std::int32_t> ids;    ///< of one that is looked up
  std::vector<std::uint8_t> bytes;  ///< of one that is bytes

  [[nodiscard]] const void* all_inputs() const {
    return !bytes.empty() ? static_cast<const void*>(bytes.data()) : !ids.empty() ? static_cast<const void*>(ids.data()) : inputs.data();
  }
  /// Input `number` of the model, in so many rows. Ids that no layer looks up cannot be.
  void draw(const Graph& graph, int number, std::int64_t rows, std::uint64_t stream) {
    const Spec& input = graph.input_of(number);
    const std::int64_t vocabulary = vocabulary_of(graph, number);
    for (std::int64_t i = 0; i < rows * input.elements(); ++i) {
      switch (input.type) {
        case ElementType::bfloat16:
        case ElementType::float32: inputs.push_back(field_element(stream, i)); break;
        case ElementType::int32: ids.push_back(static_cast<std::int32_t>(field_below(stream, i, vocabulary))); break;
        case ElementType::uint8: bytes.push_back(static_cast<std::uint8_t>(field_below(stream, i, 256))); break;
      }
    }
  }
};

}  // namespace heddle::proof_room
