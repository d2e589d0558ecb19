// SPDX-License-Identifier: MIT
#include "heddle/compute/field/handles.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cfenv>
#include <cstdint>

using namespace heddle;

TEST_CASE("a number that stands behind a float is found again, and is one float however often it is asked for") {
  FieldHandles handles;
  const float three = handles.of(3);
  const float large = handles.of(1'073'741'823);
  CHECK(std::bit_cast<std::uint32_t>(three) == 0x7f800001U);
  CHECK(std::bit_cast<std::uint32_t>(handles.of(0)) == 0x7f800003U);
  CHECK(handles.value(three) == 3);
  CHECK(handles.value(large) == 1'073'741'823);
  CHECK(std::bit_cast<std::uint32_t>(handles.of(3)) == std::bit_cast<std::uint32_t>(three));
}

TEST_CASE("what was not made is no handle: numbers, infinity, NaNs of arithmetic, and a handle of another table") {
  FieldHandles handles;
  (void)handles.of(7);
  for (const std::uint32_t bits : {0U, 1U, 0x3f800000U, 0x7f800000U, 0x7fc00000U, 0x7fc00001U, 0xff800001U, 0xffffffffU})
    CHECK_FALSE(handles.knows(std::bit_cast<float>(bits)));
  FieldHandles other;
  (void)other.of(7);
  CHECK_FALSE(handles.knows(other.of(8)));
}

TEST_CASE("a sum, a product and a comparison of handles raise the flag of invalid operations, a copy does not") {
  FieldHandles handles;
  volatile float a = handles.of(1);
  volatile float b = handles.of(2);
  volatile float result = 0;
  volatile bool less = false;
  const auto raised = [](auto operation) {
    std::feclearexcept(FE_ALL_EXCEPT);
    operation();
    const bool flag = std::fetestexcept(FE_INVALID) != 0;
    std::feclearexcept(FE_ALL_EXCEPT);
    return flag;
  };
  CHECK_FALSE(raised([&] { result = a; }));
  CHECK(handles.knows(result));
  CHECK(raised([&] { result = a + b; }));
  CHECK_FALSE(handles.knows(result));
  CHECK(raised([&] { result = a * 0.5F; }));
  CHECK_FALSE(handles.knows(result));
  CHECK(raised([&] { less = a < b; }));
  CHECK(raised([&] { less = a > 0; }));
}
