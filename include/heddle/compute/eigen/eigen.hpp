// SPDX-License-Identifier: MIT
// Room: compute. The CPU backend on Eigen: its workspace, and sums and copies of flat arrays.
// Sees: core, seams/concepts.  Does not see: policies, programs, threads, transports.
// In: pointers and run-time extents.  Out: EigenCompute, FloatBlock, Into.
#pragma once

#include <cstdint>
#include <cstring>

#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::compute_room {

/// What happens to the target of a product: target = a b, or target += a b.
enum class Into : std::uint8_t { overwrite, add };

/// Elements that one loop body handles: a compile-time count, so that compilers make vector code of it at -O2.
inline constexpr int block_elements = 16;

/// As many floats as one register of the processor holds. GCC and clang compute with it as with one float.
#if defined(__AVX512F__)
inline constexpr int register_floats = 16;
#elif defined(__AVX__)
inline constexpr int register_floats = 8;
#else
inline constexpr int register_floats = 4;
#endif
using FloatRegister = float __attribute__((vector_size(register_floats * sizeof(float))));
static_assert(block_elements % register_floats == 0);

/// body(lane) for every lane of a block.
template <class Body> void for_lanes(const Body& body) {
#ifndef __CUDACC__
#pragma GCC unroll 1  // at -O3 GCC 12 would unroll this loop before it could make vector code of it
#endif
  for (int lane = 0; lane < block_elements; ++lane) body(lane);
}

/// A copy of a block. For AVX2 GCC makes a memcpy of a loop over floats, and it moves 16 bytes at a time: a load of 32 bytes then waits for the
/// stores before it, which made sums and ReLU six times slower. With AVX-512 the block is one register, and how wide the lanes are is the compiler's
/// choice.
[[gnu::always_inline]] inline void copy_block(float* target, const float* source) {
#if defined(__AVX__) && !defined(__AVX512F__)
  for (int i = 0; i < block_elements; i += register_floats) {
    FloatRegister piece;
    std::memcpy(&piece, source + i, sizeof piece);
    std::memcpy(target + i, &piece, sizeof piece);
  }
#else
  for_lanes([&](int l) { target[l] = source[l]; });
#endif
}

/// Up to block_elements floats; what lies past `count` repeats the first element, so that a tail runs the code of a full block.
/// The floats 1, 2, 3, 4 and 5 become these five and 11 times 1.
struct alignas(64) FloatBlock {
  float values[block_elements];

  void load(const float* source, std::int64_t count) {
    if (count >= block_elements) {
      copy_block(values, source);
    } else {
      for (int i = 0; i < block_elements; ++i) values[i] = source[i < count ? i : 0];
    }
  }
  void store(float* target, std::int64_t count) const {
    if (count >= block_elements) {
      copy_block(target, values);
    } else {
      std::memcpy(target, values, static_cast<std::size_t>(count) * sizeof(float));
    }
  }
};

/// Compute on one core with Eigen's product kernels. Every kernel of this room also serves what derives from EigenCompute.
///
/// Law     an element's bits depend on its operands alone, never on its position in the array or on addresses
/// Tested  compute/eigen/eigen_test
struct EigenCompute {
  static constexpr Bytes workspace = 384_KiB;  // packed operands of a product, see internal_products.hpp

  /// target = a + b; target may be a or b.
  static void add(float* target, const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += block_elements) {
      FloatBlock x;
      FloatBlock y;
      x.load(a + i, n - i);
      y.load(b + i, n - i);
      for_lanes([&](int l) { x.values[l] += y.values[l]; });
      x.store(target + i, n - i);
    }
  }
  static void copy(float* target, const float* source, std::int64_t n) {
    if (n > 0) std::memcpy(target, source, static_cast<std::size_t>(n) * sizeof(float));
  }
  static void zero(float* target, std::int64_t n) {
    if (n > 0) std::memset(target, 0, static_cast<std::size_t>(n) * sizeof(float));
  }
};

static_assert(Compute<EigenCompute>);

}  // namespace heddle::compute_room

namespace heddle::extending {
using compute_room::EigenCompute;
}  // namespace heddle::extending
