// SPDX-License-Identifier: MIT
// Room: run. Arrays that users give: what their elements are, and which of them a batch must keep.
// Sees: core.  Does not see: files, data sets, policies, devices.
// In: an array.  Out: ElementOf, element_type, kept_array.
#pragma once

#include <cstdint>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/shape.hpp"

namespace heddle::run_room {

template <class Input>
inline constexpr ElementType element_type = std::is_same_v<Input, std::int32_t>   ? ElementType::int32
                                            : std::is_same_v<Input, std::uint8_t> ? ElementType::uint8
                                                                                  : ElementType::float32;

/// Whether examples() must keep an array: a temporary, unless it says that it only looks at numbers of others, as a span does.
template <class Array>
inline constexpr bool is_temporary_array = !std::is_lvalue_reference_v<Array> && !std::ranges::enable_borrowed_range<std::remove_cv_t<Array>>;

template <class Array, class Element> inline constexpr bool is_vector_of = false;
template <class Element, class Allocator> inline constexpr bool is_vector_of<std::vector<Element, Allocator>, Element> = true;

/// What a batch keeps of an array: a temporary vector is moved, any other temporary copied, everything else seen.
template <class Element, class Array> [[nodiscard]] auto kept_array(Array&& array) {
  if constexpr (is_temporary_array<Array> && is_vector_of<Array, Element>) {
    return Array{std::forward<Array>(array)};
  } else {
    const std::span<const Element> seen{array};
    if constexpr (is_temporary_array<Array>)
      return std::vector<Element>(seen.begin(), seen.end());
    else
      return seen;
  }
}

/// What an array has the elements of: float, std::int32_t, std::uint8_t, or void.
template <class Array, class Element> inline constexpr bool has_elements = std::is_convertible_v<Array, std::span<const Element>>;
template <class Array>
using ElementOf = std::conditional_t<
    has_elements<Array, float>, float,
    std::conditional_t<has_elements<Array, std::int32_t>, std::int32_t, std::conditional_t<has_elements<Array, std::uint8_t>, std::uint8_t, void>>>;
template <class... Arrays> inline constexpr bool are_arrays = !(std::is_void_v<ElementOf<Arrays>> || ...);

}  // namespace heddle::run_room
