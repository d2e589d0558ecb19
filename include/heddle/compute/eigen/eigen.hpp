// SPDX-License-Identifier: MIT
// Room: compute. The CPU backend on Eigen: its workspace, and sums and copies of flat arrays.
// Sees: core, run/concepts.  Does not see: policies, programs, threads, transports.
// In: pointers and run-time extents.  Out: EigenCompute, FloatBlock.
#pragma once

#if !__has_include(<Eigen/Core>)
#include "[heddle.L14] Eigen/Core is not found. Fix: apt install libeigen3-dev, and add -I /usr/include/eigen3 or the folder that has Eigen."
#endif

// GCC 12 takes the deliberately undefined registers of its own AVX-512 intrinsics for uninitialised variables (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
#include <cstdint>
#include <cstring>

#include "heddle/core/units.hpp"
#include "heddle/run/concepts.hpp"

namespace heddle::inline compute_room {

/// Elements that one loop body handles: a compile-time count, so that compilers make vector code of it at -O2.
inline constexpr int block_elements = 16;

/// body(lane) for every lane of a block.
template <class Body> void for_lanes(const Body& body) {
#pragma GCC unroll 1  // at -O3 GCC 12 would unroll this loop before it could make vector code of it
  for (int lane = 0; lane < block_elements; ++lane) body(lane);
}

/// Up to block_elements floats; what lies past `count` repeats the first element, so that a tail runs the code of a full block.
struct alignas(64) FloatBlock {
  float values[block_elements];

  void load(const float* source, std::int64_t count) {
    if (count >= block_elements) {
      for_lanes([&](int l) { values[l] = source[l]; });  // a memcpy would store narrower than the lanes are loaded, and stall
    } else {
      for (int i = 0; i < block_elements; ++i) values[i] = source[i < count ? i : 0];
    }
  }
  void store(float* target, std::int64_t count) const {
    if (count >= block_elements) {
      for_lanes([&](int l) { target[l] = values[l]; });
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
  static constexpr Bytes workspace = 384_KiB;  // packed operands of a product, see gemm.hpp

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

}  // namespace heddle::inline compute_room
