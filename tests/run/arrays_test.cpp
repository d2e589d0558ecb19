// SPDX-License-Identifier: MIT
#include "heddle/run/arrays.hpp"

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <vector>

using namespace heddle;

static_assert(std::is_same_v<ElementOf<std::vector<float>&>, float> && std::is_same_v<ElementOf<std::vector<std::int32_t>&>, std::int32_t>);
static_assert(std::is_same_v<ElementOf<std::vector<std::uint8_t>&>, std::uint8_t> && std::is_void_v<ElementOf<std::vector<double>&>>);
static_assert(are_arrays<std::vector<float>&, std::array<std::int32_t, 2>&> && !are_arrays<std::vector<float>&, int>);
static_assert(element_type<float> == ElementType::float32 && element_type<std::int32_t> == ElementType::int32 &&
              element_type<std::uint8_t> == ElementType::uint8);

TEST_CASE("a temporary vector is moved, another temporary copied, and what lives elsewhere is seen") {
  std::vector<float> numbers{1, 2, 3};
  const float* const at = numbers.data();
  CHECK(kept_array<float>(numbers).data() == at);
  CHECK(kept_array<float>(std::span<const float>{numbers}).data() == at);
  const auto moved = kept_array<float>(std::move(numbers));
  static_assert(std::is_same_v<decltype(moved), const std::vector<float>>);
  CHECK(moved.data() == at);
  CHECK(kept_array<std::int32_t>(std::array<std::int32_t, 2>{4, 5}) == std::vector<std::int32_t>{4, 5});
}
