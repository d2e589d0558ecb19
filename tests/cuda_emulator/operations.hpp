// SPDX-License-Identifier: MIT
// Room: tests. Operations of a graph of cuDNN one after another, by plain loops. It is compiled with every sanitizer, as touch is.
// Sees: touch.  Does not see: streams, descriptors.
// In: tensors with sizes and strides, operations on them.  Out: OperationTensor, Operation, Operations, touch_operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "touch.hpp"

namespace cuda_emulator {

/// (n, heads, rows, columns) of numbers on a card, of one number, or between two operations: then numbers are floats of the host, which are rounded
/// to the type that they have.
struct OperationTensor {
  void* numbers = nullptr;
  cudaDataType_t type = CUDA_R_16BF;
  bool between = false, by_value = false;
  float value = 0;
  std::int64_t sizes[4] = {}, strides[4] = {};

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t last = 1;
    for (int d = 0; d < 4; ++d) last += (sizes[d] - 1) * strides[d];
    return last;
  }
};

/// What one operation does with tensors by number: -1 where it has none.
struct Operation {
  enum class Kind : unsigned char { product, multiply, subtract, add, divide, exponential, logarithm, index, not_below, select, sum, most, reshape };
  Kind kind = Kind::product;
  int x = -1, other = -1, selects = -1, y = -1;
  int axis = -1;
};

struct Operations {
  std::vector<OperationTensor> tensors;
  std::vector<Operation> all;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
};
void touch_operations(const Operations& of);

}  // namespace cuda_emulator
