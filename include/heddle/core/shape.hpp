// SPDX-License-Identifier: MIT
// Room: core. The shape of one sample and the element type: what a leaf takes and gives.
// Sees: core/text.  Does not see: every other room.
// In: sizes.  Out: Shape, Spec.
#pragma once

#include <cstdint>

#include "heddle/core/text.hpp"

namespace heddle::inline core_room {

enum class DType : std::uint8_t { f32, i32 };

[[nodiscard]] constexpr std::int64_t bytes_of(DType) { return 4; }
[[nodiscard]] constexpr std::string_view name_of(DType t) { return t == DType::f32 ? "float32" : "int32"; }

/// Sizes of up to four dimensions. The batch dimension is never part of it: shapes are per sample.
struct Shape {
  static constexpr int most_dimensions = 4;
  std::int64_t sizes[most_dimensions]{};
  int dimensions = 0;

  constexpr Shape() = default;
  template <class... N> constexpr explicit Shape(std::int64_t first, N... rest) : sizes{first, rest...}, dimensions(1 + sizeof...(N)) {}

  [[nodiscard]] constexpr std::int64_t elements() const {
    std::int64_t n = 1;
    for (int i = 0; i < dimensions; ++i) n *= sizes[i];
    return n;
  }
  [[nodiscard]] constexpr std::int64_t last() const { return dimensions == 0 ? 1 : sizes[dimensions - 1]; }
  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.dimensions != b.dimensions) return false;
    for (int i = 0; i < a.dimensions; ++i)
      if (a.sizes[i] != b.sizes[i]) return false;
    return true;
  }
};

/// Writes (28, 28) or (50).
template <int Capacity> constexpr Text<Capacity>& operator<<(Text<Capacity>& text, const Shape& shape) {
  text << '(';
  for (int i = 0; i < shape.dimensions; ++i) {
    if (i > 0) text << ", ";
    text << shape.sizes[i];
  }
  return text << ')';
}

/// One value of the graph: the shape of one sample and its element type.
struct Spec {
  Shape shape;
  DType dtype = DType::f32;
  [[nodiscard]] constexpr std::int64_t elements() const { return shape.elements(); }
  friend constexpr bool operator==(const Spec&, const Spec&) = default;
};

}  // namespace heddle::inline core_room
