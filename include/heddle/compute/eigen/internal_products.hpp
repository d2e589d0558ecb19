// SPDX-License-Identifier: MIT
// Room: compute. Matrix products: Eigen's packing and micro-kernels under block loops with constant sizes and a given workspace.
// Sees: what lies inside Eigen 3.4, and nothing else of Heddle does; core.  Does not see: leaves, policies, programs.
// In: row-major pieces with run-time extents.  Out: InternalProducts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/eigen_core.hpp"

namespace Eigen::internal {

/// Products of floats as Eigen has them, but for one thing: a loaded left operand stays in its register. GCC 12 otherwise loads it again in each
/// of the four multiply-adds that use it, and the loads, not the arithmetic, set the pace. No sum changes. The first conjugation flag means
/// nothing for real numbers and is never set by Eigen for them: here it tells these traits from Eigen's own.
template <int Arch, int PacketSize>
class gebp_traits<float, float, true, false, Arch, PacketSize> : public gebp_traits<float, float, false, false, Arch, PacketSize> {
 public:
  template <class Packet> EIGEN_STRONG_INLINE void loadLhs(const float* source, Packet& target) const {
    target = pload<Packet>(source);
#if defined(__GNUC__) && defined(__AVX512F__)
    asm("" : "+v"(target));
#elif defined(__GNUC__) && defined(__AVX__)
    asm("" : "+x"(target));
#endif
  }
};

}  // namespace Eigen::internal

namespace heddle::compute_room {

namespace gemm {

// Eigen's own product asks the machine for cache sizes (other bits on another machine) and allocates its packing buffers.
// Here both are fixed. In the words below the target is column-major: a row-major C (M, N) is C^T (N, M), so "left" is B^T and "right" is A^T.
using Index = Eigen::Index;
using Traits = Eigen::internal::gebp_traits<float, float, true, false>;

/// Where the sums of a target start: at zero, at what is there, or at the same column for every column of it.
struct Origin {
  const float* data;
  Index row_step;
  Index column_step;

  [[nodiscard]] static Origin zero() {
    alignas(64) static constexpr float zeros[Traits::mr] = {};  // the most that is read in one row or column
    return {zeros, 0, 0};
  }
  [[nodiscard]] static Origin column(const float* values) { return {values, 1, 0}; }
  [[nodiscard]] static Origin present(const float* target, Index rows) { return {target, 1, rows}; }

  [[nodiscard]] EIGEN_ALWAYS_INLINE const float* at(Index i, Index j) const { return data + i * row_step + j * column_step; }
  [[nodiscard]] Origin from(Index i, Index j) const { return {at(i, j), row_step, column_step}; }
};

/// The target as Eigen's kernel sees it: what it loads comes from the origin, so that no pass has to clear or fill the target before.
class Target {
 public:
  /// One column of the target: Eigen loads a packet of sums from the origin and stores it to the target. With AVX2 a packet has 8 floats.
  class LinearMapper {
   public:
    EIGEN_ALWAYS_INLINE LinearMapper(float* target, const float* origin) : target_(target), origin_(origin) {}
    EIGEN_ALWAYS_INLINE void prefetch(int i) const { Eigen::internal::prefetch(target_ + i); }
    template <class Packet> EIGEN_ALWAYS_INLINE Packet loadPacket(Index i) const { return Eigen::internal::ploadu<Packet>(origin_ + i); }
    template <class Packet> EIGEN_ALWAYS_INLINE void storePacket(Index i, const Packet& packet) const {
      Eigen::internal::pstoreu(target_ + i, packet);
    }

   private:
    float* target_;
    const float* origin_;
  };
  /// One element of the target, where Eigen adds a single sum: with 2 at the origin and a sum of 3 the target gets 5.
  struct Element {
    float* target;
    const float* origin;
    EIGEN_ALWAYS_INLINE void operator+=(float sum) const { *target = *origin + sum; }
  };

  Target(float* target, Index stride, Origin origin) : target_(target), stride_(stride), origin_(origin) {}

  EIGEN_ALWAYS_INLINE LinearMapper getLinearMapper(Index i, Index j) const { return {target_ + i + j * stride_, origin_.at(i, j)}; }
  EIGEN_ALWAYS_INLINE Element operator()(Index i, Index j) const { return {target_ + i + j * stride_, origin_.at(i, j)}; }
  template <class Packet> EIGEN_ALWAYS_INLINE Packet gatherPacket(Index i, Index j) const {
    return Eigen::internal::pgather<float, Packet>(origin_.at(i, j), origin_.column_step);
  }
  template <class Packet> EIGEN_ALWAYS_INLINE void scatterPacket(Index i, Index j, const Packet& packet) const {
    Eigen::internal::pscatter<float, Packet>(target_ + i + j * stride_, packet, stride_);
  }

 private:
  float* target_;
  Index stride_;
  Origin origin_;
};

using Kernel = Eigen::internal::gebp_kernel<float, float, Index, Target, Traits::mr, Traits::nr, true, false>;

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

inline void fill(float* target, Index rows, Index columns, const Origin& origin) {
  for (Index j = 0; j < columns; ++j)
    for (Index i = 0; i < rows; ++i) target[i + j * rows] = *origin.at(i, j);
}

/// FloatBlock sizes of one product: functions of its extents alone, so every machine sums in the same order.
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

/// The tail of a tile of the target that is final.
inline void finish(const Tail& tail, Index rows, Index i, Index j, Index height, Index width) {
  if (height == rows) return tail(j * rows, (j + width) * rows);
  for (Index column = j; column < j + width; ++column) tail(i + column * rows, i + column * rows + height);
}

/// target (rows, columns), column-major, = origin + left (rows, depth) right (depth, columns).
///
/// Law     the order of every sum depends on the extents alone: addresses, strides and cache sizes change no bit
template <int LeftOrder, int RightOrder>
void product(Index rows, Index columns, Index depth, const Source<LeftOrder>& left, const Source<RightOrder>& right, float* target,
             const Origin& origin, void* workspace, const Tail* tail = nullptr) {
  if (rows == 0 || columns == 0) return;
  auto* const packed_left = static_cast<float*>(workspace);
  float* const packed_right = packed_left + most_left;
  const Blocks block(rows, columns, depth);
  if (depth == 0) fill(target, rows, columns, origin);
  if (depth == 0 && tail != nullptr) finish(*tail, rows, 0, 0, rows, columns);
  for (Index j = 0; j < columns; j += block.columns) {
    const Index width = std::min(block.columns, columns - j);
    for (Index k = 0; k < depth; k += block.depth) {
      const Index thickness = std::min(block.depth, depth - k);
      PackRight<RightOrder>{}(packed_right, right.getSubMapper(k, j), thickness, width);
      for (Index i = 0; i < rows; i += block.rows) {
        const Index height = std::min(block.rows, rows - i);
        if (!block.left_stays || j == 0) PackLeft<LeftOrder>{}(packed_left, left.getSubMapper(i, k), thickness, height);
        float* const tile = target + i + j * rows;
        const Origin start = k == 0 ? origin.from(i, j) : Origin::present(tile, rows);
        Kernel{}(Target(tile, rows, start), packed_left, packed_right, height, thickness, width, 1.0F);
        if (tail != nullptr && k + thickness == depth) finish(*tail, rows, i, j, height, width);
      }
    }
  }
}

inline Origin origin_of(const float* target, Index rows, Into into) { return into == Into::add ? Origin::present(target, rows) : Origin::zero(); }

}  // namespace gemm

/// Products on the kernels inside Eigen 3.4: no allocation, and the order of every sum depends on the extents alone. A tail runs on each tile when it
/// is final, while it is in the cache.
///
/// Tested  compute/eigen/internal_products_test
struct InternalProducts {
  /// c (m, n) = or += a (m, k) b^T with b (n, k).
  static void nt(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace,
                 const Tail* tail = nullptr) {
    gemm::product<Eigen::RowMajor, Eigen::ColMajor>(n, m, k, {b, k}, {a, k}, c, gemm::origin_of(c, n, into), workspace, tail);
  }
  /// c (m, n) = a (m, k) b^T with b (n, k), plus row (n) in every row.
  static void nt_plus_row(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, const float* row, float* c, void* workspace,
                          const Tail* tail = nullptr) {
    gemm::product<Eigen::RowMajor, Eigen::ColMajor>(n, m, k, {b, k}, {a, k}, c, gemm::Origin::column(row), workspace, tail);
  }
  /// c (m, n) = or += a (m, k) b with b (k, n).
  static void nn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace,
                 const Tail* tail = nullptr) {
    gemm::product<Eigen::ColMajor, Eigen::ColMajor>(n, m, k, {b, n}, {a, k}, c, gemm::origin_of(c, n, into), workspace, tail);
  }
  /// c (m, n) = or += a^T b with a (k, m) and b (k, n).
  static void tn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace) {
    gemm::product<Eigen::ColMajor, Eigen::RowMajor>(n, m, k, {b, n}, {a, m}, c, gemm::origin_of(c, n, into), workspace);
  }
};

}  // namespace heddle::compute_room
