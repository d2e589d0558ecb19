// SPDX-License-Identifier: MIT
// Numbers that stand for values of a network where times are measured. Zeros are no such values: a product of zeros switches fewer transistors, and a
// card at its limit of power clocks it higher (sources.md#power-of-products).
#pragma once

#include <cstdint>

#include "heddle/core/host_device.hpp"

namespace gpu_check {

/// The number of element i, uniform from -width to width, and the same for the same seed.
[[nodiscard]] HEDDLE_HOST_DEVICE inline float drawn(std::int64_t i, unsigned seed, float width) {
  unsigned h = static_cast<unsigned>(i) * 2654435761U + seed * 40503U;
  h ^= h >> 15U, h *= 2246822519U, h ^= h >> 13U, h *= 3266489917U, h ^= h >> 16U;
  return width * (static_cast<float>(h >> 8U) * 0x1p-23F - 1.0F);
}

}  // namespace gpu_check
