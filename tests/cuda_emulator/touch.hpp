// SPDX-License-Identifier: MIT
// Room: tests. Copies, fills and sums in the memory of cards. They are compiled with every sanitizer, the rest of the emulator without the thread's.
// Sees: the toolkit's types.  Does not see: streams, descriptors.
// In: addresses and types.  Out: touch_copy, touch_fill, touch_fold, rounded_to_tf32, load_number, store_number.
#pragma once

#include <cuda_bf16.h>
#include <library_types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace cuda_emulator {

void touch_copy(void* target, const void* source, std::size_t bytes);
void touch_fill(void* target, int value, std::size_t bytes);

/// How the numbers of several ranks become one.
enum class Fold : unsigned char { sum, most, least, product, mean };
/// target[i] is the fold of sources[first], sources[first + 1] and so on around, for i from begin to end.
struct RanksFold {
  void* target;
  const void* const* sources;
  std::size_t ranks, first;
  std::size_t begin, end;
  cudaDataType_t type;
  Fold fold;
};
void touch_fold(const RanksFold& of);

/// 10 bits behind the point, to nearest.
[[nodiscard]] inline float rounded_to_tf32(float x) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7F800000U) != 0x7F800000U) bits = (bits + 0x0FFFU + ((bits >> 13U) & 1U)) & ~0x1FFFU;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
[[nodiscard]] inline std::size_t bytes_of(cudaDataType_t type) { return type == CUDA_R_16BF ? 2 : type == CUDA_R_64F ? 8 : 4; }
[[nodiscard]] inline float load_number(const void* numbers, cudaDataType_t type, std::int64_t i) {
  return type == CUDA_R_16BF ? __bfloat162float(static_cast<const __nv_bfloat16*>(numbers)[i]) : static_cast<const float*>(numbers)[i];
}
inline void store_number(void* numbers, cudaDataType_t type, std::int64_t i, float x) {
  if (type == CUDA_R_16BF)
    static_cast<__nv_bfloat16*>(numbers)[i] = __float2bfloat16(x);
  else
    static_cast<float*>(numbers)[i] = x;
}

}  // namespace cuda_emulator
