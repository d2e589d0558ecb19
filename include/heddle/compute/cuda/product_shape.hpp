// SPDX-License-Identifier: MIT
// Room: compute. What a product of row-major matrices on a card is: extents, transposes, pitches, types.
// Sees: core.  Does not see: cuBLASLt, layers, policies, programs.
// In: extents.  Out: GrowsIn, Epilogue, ProductShape, ProductTypes, BesideProduct, type_of_values.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/core/bfloat16.hpp"
#include "heddle/core/shape.hpp"

namespace heddle::compute_room {

/// Which extent of a product grows with the rows of a batch, so that products that differ in it alone share an algorithm.
enum class GrowsIn : std::uint8_t { nothing, m, n, batch };

/// What cuBLASLt can do with a product before it is written, so that no kernel reads it again. Of Linear<4, 3> and then GELUTanh the forward keeps
/// what Linear gives and writes what GELUTanh makes of it; the backward behind GELUTanh reads what was kept, and writes its gradient.
enum class Epilogue : std::uint8_t {
  nothing,
  relu,           ///< c = max(c, 0)
  gelu,           ///< kept = c, then c = GELUTanh(c)
  gelu_gradient,  ///< c = c times the derivative of GELUTanh at kept
  sums_of_a       ///< sums (m) of the rows of op(a) as well: with dW = dY^T X those of dY, the gradient of a bias
};

/// One product in row-major terms: c (m, n) = or += scale op(a) op(b), where op(a) is (m, k) and op(b) is (k, n), all above 0.
/// y (8, 3) = x (8, 4) w^T + bias of Linear<4, 3> is {.m = 8, .n = 3, .k = 4, .b_transposed = true, .bias = true, .grows = GrowsIn::m, .rows = 8}.
///
/// Tested  compute/cuda/product_shape_test
struct ProductShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false;                              ///< a is stored as (k, m)
  bool b_transposed = false;                              ///< b is stored as (n, k)
  bool add = false;                                       ///< to what is in c
  bool bias = false;                                      ///< the same n numbers are added to each row of c
  std::int64_t a_pitch = 0, b_pitch = 0, c_pitch = 0;     ///< elements from a stored row to the next; 0: as many as it has
  std::int64_t batch = 1;                                 ///< so many products of the same extents
  std::int64_t a_stride = 0, b_stride = 0, c_stride = 0;  ///< elements from a matrix of the batch to the next
  Epilogue epilogue = Epilogue::nothing;
  GrowsIn grows = GrowsIn::nothing;
  std::int64_t rows = 1;   ///< that extent is of so many rows, and a multiple of them
  std::int64_t usual = 0;  ///< rows for which the algorithm is chosen; 0: CudaProductOptions::usual_rows

  [[nodiscard]] std::int64_t row_pitch() const { return c_pitch == 0 ? n : c_pitch; }
  /// Elements from the first of a, of b or of c to its last: of y above 32, 12 and 24.
  [[nodiscard]] std::int64_t elements_of_a() const { return a_transposed ? reach(k, m, a_pitch, a_stride) : reach(m, k, a_pitch, a_stride); }
  [[nodiscard]] std::int64_t elements_of_b() const { return b_transposed ? reach(n, k, b_pitch, b_stride) : reach(k, n, b_pitch, b_stride); }
  [[nodiscard]] std::int64_t elements_of_c() const { return reach(m, n, c_pitch, c_stride); }

 private:
  [[nodiscard]] std::int64_t reach(std::int64_t stored, std::int64_t columns, std::int64_t pitch, std::int64_t stride) const {
    return (stored - 1) * (pitch == 0 ? columns : pitch) + columns + (batch - 1) * stride;
  }
};
/// What a product reads and writes beside a, b and c: n numbers of the bias; (m, n) that GELUTanh reads; m sums.
template <class Made> struct BesideProduct {
  const Made* bias = nullptr;
  Made* kept = nullptr;
  float* sums = nullptr;
};

/// The types of factors, and of what is made with its bias; sums are float32. Gradients of weights in bfloat16 are {bfloat16, float32}.
struct ProductTypes {
  ElementType factors = ElementType::float32;
  ElementType made = ElementType::float32;
};
template <class Value> inline constexpr ElementType type_of_values = std::is_same_v<Value, float> ? ElementType::float32 : ElementType::bfloat16;

}  // namespace heddle::compute_room
