// SPDX-License-Identifier: MIT
// Room: tests. One product of cuBLASLt by plain loops, with its epilogue. It is compiled with every sanitizer, as touch is.
// Sees: the toolkit's types.  Does not see: streams, descriptors.
// In: pointers, extents, an order of sums.  Out: Product, touch_product.
#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>

namespace cuda_emulator {

/// A matrix stored by columns: element (row 2, column 3) of {p, CUDA_R_32F, 10} is p[2 + 3 * 10].
struct Matrix {
  void* numbers = nullptr;
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t pitch = 0;         ///< elements from a column to the next
  std::int64_t batch_stride = 0;  ///< elements from a matrix of a batch to the next
};

/// What an epilogue does, from the bits of cublasLtEpilogue_t.
struct EpilogueSteps {
  bool bias = false, relu = false, gelu = false, relu_gradient = false, gelu_gradient = false, bias_gradient = false, keeps = false;
  bool sums_of_a = false, sums_of_b = false;
};

/// d (m, n) = scale op(a) op(b) + add_scale c, then the epilogue. A sum over k is `parts` sums over consecutive shares of k, added in order.
struct Product {
  std::int64_t m = 0, n = 0, k = 0, batches = 1;
  bool a_transposed = false, b_transposed = false;
  bool tf32 = false;
  std::int64_t parts = 1;
  bool rounds_parts = false;  ///< each share is added as a number of the type of d
  Matrix a, b, c, d;
  float scale = 1, add_scale = 0;
  EpilogueSteps steps;
  bool relu_keeps_nan = false;
  void* bias = nullptr;
  cudaDataType_t bias_type = CUDA_R_32F;
  std::int64_t bias_stride = 0;
  Matrix kept;  ///< what the epilogue keeps or reads: bits of ReLU, numbers of GELU
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;  ///< that the algorithm uses
  float* scratch = nullptr;         ///< scratch_numbers of the host

  static constexpr std::int64_t columns_at_once = 4;
  [[nodiscard]] std::size_t scratch_numbers() const { return static_cast<std::size_t>(m * k + k * n + 2 * columns_at_once * m + m); }
};
void touch_product(const Product& product);

}  // namespace cuda_emulator
