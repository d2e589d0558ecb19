// SPDX-License-Identifier: MIT
// Room: run. The arithmetic of a step that belongs to no layer: loss and norm sums, the loss scale, clipping.
// Sees: run/square_sum, core.  Does not see: programs, ranks, any backend.
// In: a compute backend that may bring its own.  Out: Arithmetic, a table of functions.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "heddle/run/square_sum.hpp"

namespace heddle::run_room {

/// Float arithmetic: what every backend uses that brings none of its own.
struct FloatArithmetic {
  static float plus(float a, float b) { return a + b; }
  static bool multiply(float* values, std::int64_t elements, float factor) { return multiply_finite(values, elements, factor); }
  static float square_sum(const float* values, std::int64_t elements) { return square_sum_of_part(values, elements); }
  static float norm(const float* square_sums, int count) {
    double squares = 0;
    for (int i = 0; i < count; ++i) squares += static_cast<double>(square_sums[i]);
    return static_cast<float>(std::sqrt(squares));
  }
  static float clip_factor(float norm, double max_norm) { return std::min(1.0F, static_cast<float>(max_norm / (static_cast<double>(norm) + 1e-6))); }
  static void clip(float* values, std::int64_t elements, float factor) {
    for (std::int64_t i = 0; i < elements && factor < 1; ++i) values[i] *= factor;
  }
  /// Inf becomes the limit, NaN stays, as in torch.clamp.
  static void clip_values(float* values, const float* /*parameters*/, std::int64_t elements, float limit) {
    for (std::int64_t i = 0; i < elements; ++i) values[i] = values[i] > limit ? limit : values[i] < -limit ? -limit : values[i];
  }
  static void fold(float* values, const float* sums, std::int64_t elements, float momentum, std::int64_t counted) {
    const auto each = static_cast<float>(1 / static_cast<double>(counted));
    for (std::int64_t i = 0; i < elements; ++i) values[i] = (1 - momentum) * values[i] + momentum * (sums[i] * each);
  }
};

/// A backend whose numbers are no floats has a `using Arithmetic` with these functions; a norm is what it takes for one.
struct Arithmetic {
  float (*plus)(float a, float b);                                       ///< of two grains' losses, of the squares of two parts
  bool (*multiply)(float* values, std::int64_t elements, float factor);  ///< by the loss scale or its inverse; true if all are finite
  float (*square_sum)(const float* values, std::int64_t elements);       ///< of whole lines
  float (*norm)(const float* square_sums, int count);                    ///< of all gradients, from the squares of each unit
  float (*clip_factor)(float norm, double max_norm);                     ///< what gradients are multiplied with
  void (*clip)(float* values, std::int64_t elements, float factor);      ///< multiplies gradients with the factor
  /// Takes each into -limit to limit. Numbers that are no floats are told apart by the parameters that they are of.
  void (*clip_values)(float* values, const float* parameters, std::int64_t elements, float limit);
  /// Takes what is tracked `momentum` of the way to sums / counted.
  void (*fold)(float* values, const float* sums, std::int64_t elements, float momentum, std::int64_t counted);
};

template <class Own>
inline constexpr Arithmetic arithmetic_in{&Own::plus,        &Own::multiply, &Own::square_sum,  &Own::norm,
                                          &Own::clip_factor, &Own::clip,     &Own::clip_values, &Own::fold};

/// That of a compute backend.
///
/// Tested  run/arithmetic_test
template <class Compute> [[nodiscard]] constexpr const Arithmetic& arithmetic_of() {
  if constexpr (requires { typename Compute::Arithmetic; })
    return arithmetic_in<typename Compute::Arithmetic>;
  else
    return arithmetic_in<FloatArithmetic>;
}

}  // namespace heddle::run_room
