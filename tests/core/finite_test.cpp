// SPDX-License-Identifier: MIT
#include "heddle/core/finite.hpp"

#include <doctest/doctest.h>

#include <initializer_list>
#include <limits>

using namespace heddle;

namespace {
template <class Float> constexpr bool knows() {
  using Limits = std::numeric_limits<Float>;
  for (const Float number : {Float{0}, -Float{0}, Limits::min(), Limits::denorm_min(), -Limits::denorm_min(), Limits::max(), Limits::lowest()})
    if (!is_finite(number) || is_nan(number)) return false;
  for (const Float number : {Limits::infinity(), -Limits::infinity()})
    if (is_finite(number) || is_nan(number)) return false;
  for (const Float number : {Limits::quiet_NaN(), -Limits::quiet_NaN()})
    if (is_finite(number) || !is_nan(number)) return false;
  return true;
}
}  // namespace

static_assert(knows<float>() && knows<double>());

TEST_CASE("numbers are finite, infinities and NaN are not, at build and at run time") {
  CHECK(knows<float>());
  CHECK(knows<double>());
}
