// SPDX-License-Identifier: MIT
// Room: core. The shape of one sample and the element type: what a leaf takes and gives.
// Sees: core/text.  Does not see: every other room.
// In: sizes.  Out: Shape, Spec.
#pragma once

#include <cstdint>

#include "heddle/core/text.hpp"

namespace heddle::core_room {

/// What the elements of a tensor are. Layers compute float32, which has gradients, and which a plan may keep as bfloat16; token ids are int32 and
/// pixels may be uint8, which have none.
enum class ElementType : std::uint8_t { float32, int32, uint8, bfloat16 };
inline constexpr int element_types = 4;

/// Of one element: 4 of float32 and int32, 2 of bfloat16, 1 of uint8.
[[nodiscard]] constexpr std::int64_t bytes_of(ElementType t) { return t == ElementType::uint8 ? 1 : t == ElementType::bfloat16 ? 2 : 4; }
[[nodiscard]] constexpr std::string_view name_of(ElementType t) {
  return t == ElementType::float32 ? "float32" : t == ElementType::int32 ? "int32" : t == ElementType::uint8 ? "uint8" : "bfloat16";
}
/// Elements that a layer computes, and that have gradients.
[[nodiscard]] constexpr bool is_real(ElementType t) { return t == ElementType::float32 || t == ElementType::bfloat16; }
/// What a program hands over for elements of this type: floats for what is kept as bfloat16.
[[nodiscard]] constexpr ElementType given_as(ElementType t) { return t == ElementType::bfloat16 ? ElementType::float32 : t; }
/// Of one float32: parameters, gradients and states are float32.
inline constexpr std::int64_t float_bytes = bytes_of(ElementType::float32);

/// Every number of elements or operations that is counted stays below this, so that a sum of two and a product with a few bytes are numbers too.
inline constexpr std::int64_t most_countable = std::int64_t{1} << 60;

/// The product of two numbers that are not negative, or most_countable if it is larger: 2^40 x 2^40 is 2^60.
[[nodiscard]] constexpr std::int64_t counted_product(std::int64_t a, std::int64_t b) {
  if (a <= 0 || b <= 0) return 0;
  return a > most_countable / b ? most_countable : a * b;
}
[[nodiscard]] constexpr std::int64_t counted_sum(std::int64_t a, std::int64_t b) { return a >= most_countable - b ? most_countable : a + b; }

/// Sizes of up to four dimensions. The batch dimension is never part of it: shapes are per sample. Shape{28, 28} has 784 elements.
struct Shape {
  static constexpr int most_dimensions = 4;
  std::int64_t sizes[most_dimensions]{};
  int dimensions = 0;  ///< what is set by hand is refused where it is not 0 to 4 (G06, G19); until then no size beyond the fourth is read
  int surplus = 0;     ///< dimensions beyond the fourth, which are not kept: a model with such a shape is refused (G19)

  constexpr Shape() = default;
  template <class... N> constexpr explicit Shape(std::int64_t first, N... rest) {
    const std::int64_t all[] = {first, static_cast<std::int64_t>(rest)...};
    for (const std::int64_t size : all) append(size);
  }
  constexpr void append(std::int64_t size) {
    if (dimensions == most_dimensions)
      ++surplus;
    else
      sizes[dimensions++] = size;
  }

  /// Every size is at least 1, and no dimension is left out.
  [[nodiscard]] constexpr bool sound() const {
    if (surplus != 0 || dimensions < 0 || dimensions > most_dimensions) return false;
    for (int i = 0; i < dimensions; ++i)
      if (sizes[i] < 1) return false;
    return true;
  }
  /// At most most_countable; 0 if a size is not positive.
  [[nodiscard]] constexpr std::int64_t elements() const {
    if (dimensions == 1 && sizes[0] > 0 && sizes[0] <= most_countable) return sizes[0];  // of most values, without a call
    std::int64_t n = 1;
    for (int i = 0; i < dimensions && i < most_dimensions; ++i) n = counted_product(n, sizes[i]);
    return n;
  }
  [[nodiscard]] constexpr std::int64_t last() const {
    return dimensions <= 0 ? 1 : sizes[(dimensions < most_dimensions ? dimensions : most_dimensions) - 1];
  }
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.dimensions != b.dimensions || a.surplus != b.surplus) return false;
    for (int i = 0; i < a.dimensions && i < most_dimensions; ++i)
      if (a.sizes[i] != b.sizes[i]) return false;
    return true;
  }
};

/// Writes (28, 28) or (50).
template <int Capacity> constexpr Text<Capacity>& operator<<(Text<Capacity>& text, const Shape& shape) {
  text << '(';
  for (int i = 0; i < shape.dimensions && i < Shape::most_dimensions; ++i) {
    if (i > 0) text << ", ";
    text << shape.sizes[i];
  }
  if (shape.surplus > 0) text << ", and " << shape.surplus << " more";
  return text << ')';
}

/// One value of the graph: the shape of one sample, its element type, and which dimension is a sequence of positions that layers treat alike: 0 of
/// (positions, features), none of (channels, height, width). Layers mark it and hand it on; it says how a value may be split, not what it is.
struct Spec {
  Shape shape;
  ElementType type = ElementType::float32;
  std::int8_t sequence = -1;  ///< -1: none
  [[nodiscard]] constexpr std::int64_t elements() const { return shape.elements(); }
  friend constexpr bool operator==(const Spec& a, const Spec& b) { return a.shape == b.shape && a.type == b.type; }
};

}  // namespace heddle::core_room

namespace heddle::extending {
using core_room::ElementType, core_room::Shape, core_room::Spec;
}  // namespace heddle::extending
