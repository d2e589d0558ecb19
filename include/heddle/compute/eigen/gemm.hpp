// SPDX-License-Identifier: MIT
// Room: compute. Matrix products: Eigen's packing and micro-kernels under block loops with constant sizes and a given workspace.
// Sees: Eigen, core.  Does not see: leaves, policies, programs.
// In: row-major pieces with run-time extents.  Out: product_nt, product_nn, product_tn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "heddle/compute/eigen/eigen.hpp"

namespace heddle::inline compute {

static_assert(EIGEN_VERSION_AT_LEAST(3, 4, 0), "heddle's CPU backend needs Eigen 3.4 or newer; install libeigen3-dev 3.4");

/// What happens to the target of a product: target = a b, or target += a b.
enum class Into : std::uint8_t { overwrite, add };

namespace gemm {

// Eigen's own product asks the machine for cache sizes (other bits on another machine) and allocates its packing buffers.
// Here both are fixed. In the words below the target is column-major: a row-major C (M, N) is C^T (N, M), so "left" is B^T and "right" is A^T.
using Index = Eigen::Index;
using Traits = Eigen::internal::gebp_traits<float, float>;
using Target = Eigen::internal::blas_data_mapper<float, Index, Eigen::ColMajor, Eigen::Unaligned, 1>;
using Kernel = Eigen::internal::gebp_kernel<float, float, Index, Target, Traits::mr, Traits::nr, false, false>;

template <int Order> using Source = Eigen::internal::const_blas_data_mapper<float, Index, Order>;
template <int Order>
using PackLeft = Eigen::internal::gemm_pack_lhs<float, Index, Source<Order>, Traits::mr, Traits::LhsProgress, Traits::LhsPacket4Packing, Order>;
template <int Order> using PackRight = Eigen::internal::gemm_pack_rhs<float, Index, Source<Order>, Traits::nr, Order>;

// Chosen by bench/kernels on a core with 32 KiB + 1 MiB of cache; any value gives correct products.
inline constexpr Index most_depth = 256;
inline constexpr Index most_left = 64 * 1024;   // floats of packed left operand
inline constexpr Index most_right = 32 * 1024;  // floats of packed right operand
inline constexpr Index most_tile = 64 * 1024;   // floats of target between clearing and adding
static_assert((most_left + most_right) * static_cast<Index>(sizeof(float)) <= EigenCompute::workspace.value);

/// The smallest number of equal blocks of at most `most`, as a block size that is a multiple of `step`.
inline Index even_block(Index extent, Index most, Index step) {
  const Index blocks = std::max<Index>(1, (extent + most - 1) / most);
  const Index block = (extent + blocks - 1) / blocks;
  return (block + step - 1) / step * step;
}

inline void clear(float* target, Index stride, Index rows, Index columns) {
  for (Index j = 0; j < columns; ++j) std::memset(target + j * stride, 0, static_cast<std::size_t>(rows) * sizeof(float));
}

/// Block sizes of one product: functions of its extents alone, so every machine sums in the same order.
struct Blocks {
  Index rows;
  Index columns;
  Index depth;
  bool left_stays;  // the whole left operand is packed once

  Blocks(Index m, Index n, Index k) : depth(std::max<Index>(1, std::min(k, even_block(k, most_depth, 8)))) {
    rows = even_block(m, most_left / depth / Traits::mr * Traits::mr, Traits::mr);
    columns = even_block(n, std::min(most_right / depth, most_tile / Traits::mr) / Traits::nr * Traits::nr, Traits::nr);
    left_stays = m <= rows && k <= depth;
    if (left_stays)
      columns = even_block(n, std::min(columns, std::max<Index>(most_tile / rows / Traits::nr, 1) * Traits::nr), Traits::nr);
    else
      rows = even_block(m, std::min(rows, most_tile / columns / Traits::mr * Traits::mr), Traits::mr);
  }
};

/// target (rows, columns), column-major, = or += left (rows, depth) right (depth, columns).
///
/// Law     the order of every sum depends on the extents alone: addresses, strides and cache sizes change no bit
template <int LeftOrder, int RightOrder>
void product(Index rows, Index columns, Index depth, const Source<LeftOrder>& left, const Source<RightOrder>& right, float* target, Into into,
             void* workspace) {
  if (rows == 0 || columns == 0) return;
  auto* const packed_left = static_cast<float*>(workspace);
  float* const packed_right = packed_left + most_left;
  const Blocks block(rows, columns, depth);
  if (depth == 0 && into == Into::overwrite) clear(target, rows, rows, columns);
  for (Index j = 0; j < columns; j += block.columns) {
    const Index width = std::min(block.columns, columns - j);
    for (Index k = 0; k < depth; k += block.depth) {
      const Index thickness = std::min(block.depth, depth - k);
      PackRight<RightOrder>{}(packed_right, right.getSubMapper(k, j), thickness, width);
      for (Index i = 0; i < rows; i += block.rows) {
        const Index height = std::min(block.rows, rows - i);
        if (!block.left_stays || j == 0) PackLeft<LeftOrder>{}(packed_left, left.getSubMapper(i, k), thickness, height);
        float* const tile = target + i + j * rows;
        if (k == 0 && into == Into::overwrite) clear(tile, rows, height, width);
        Kernel{}(Target(tile, rows), packed_left, packed_right, height, thickness, width, 1.0F);
      }
    }
  }
}

}  // namespace gemm

/// c (m, n) = or += a (m, k) b^T with b (n, k).
inline void product_nt(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace) {
  gemm::product<Eigen::RowMajor, Eigen::ColMajor>(n, m, k, {b, k}, {a, k}, c, into, workspace);
}
/// c (m, n) = or += a (m, k) b with b (k, n).
inline void product_nn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace) {
  gemm::product<Eigen::ColMajor, Eigen::ColMajor>(n, m, k, {b, n}, {a, k}, c, into, workspace);
}
/// c (m, n) = or += a^T b with a (k, m) and b (k, n).
inline void product_tn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace) {
  gemm::product<Eigen::ColMajor, Eigen::RowMajor>(n, m, k, {b, n}, {a, m}, c, into, workspace);
}

}  // namespace heddle::inline compute
