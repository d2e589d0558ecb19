// SPDX-License-Identifier: MIT
// Room: tests. One scaled dot-product attention of cuDNN by plain loops, forward or backward. It is compiled with every sanitizer, as touch is.
// Sees: touch.  Does not see: streams, descriptors.
// In: pointers, sizes and strides.  Out: AttentionTensor, Attention, touch_attention.
#pragma once

#include <cstddef>
#include <cstdint>

#include "touch.hpp"

namespace cuda_emulator {

/// Of (sequences, heads, positions, features), in elements; without numbers where a graph does not have it.
struct AttentionTensor {
  void* numbers = nullptr;
  cudaDataType_t type = CUDA_R_16BF;
  std::int64_t sizes[4] = {}, strides[4] = {};

  [[nodiscard]] std::int64_t at(std::int64_t n, std::int64_t head, std::int64_t position, std::int64_t feature) const {
    return n * strides[0] + head * strides[1] + position * strides[2] + feature * strides[3];
  }
  [[nodiscard]] std::size_t bytes() const {
    std::int64_t last = 0;
    for (int d = 0; d < 4; ++d) last += (sizes[d] - 1) * strides[d];
    return static_cast<std::size_t>(last + 1) * bytes_of(type);
  }
};

/// Softmax(scale Q K^T) V; weights, and slopes of scores, are rounded to bfloat16 where they are factors, as tensor cores take them. Heads of queries
/// share those of keys and values in order.
struct Attention {
  AttentionTensor q, k, v, o, log_sums, dout, dq, dk, dv;
  float scale = 1;
  bool backward = false;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  float* scratch = nullptr;  ///< scratch_numbers of the host

  /// Weights and slopes of one query, and sums of gradients of keys and values of one head.
  [[nodiscard]] std::size_t scratch_numbers() const { return static_cast<std::size_t>(2 * k.sizes[2] + 2 * k.sizes[2] * k.sizes[3]); }
};
void touch_attention(const Attention& of);

}  // namespace cuda_emulator
