// SPDX-License-Identifier: MIT
// Room: compute. Matrix products by the product that every version of Eigen offers, in tiles of a constant size.
// Sees: Eigen's public interface, core.  Does not see: leaves, policies, programs.
// In: row-major pieces with run-time extents.  Out: PublicProducts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/eigen_core.hpp"

namespace heddle::compute_room {

#if defined(EIGEN_HAS_OPENMP) && !defined(EIGEN_DONT_PARALLELIZE)
inline constexpr bool eigen_starts_threads = true;
#else
inline constexpr bool eigen_starts_threads = false;
#endif
static_assert(
    !eigen_starts_threads,
    "[heddle.L15] with -fopenmp the products of this version of Eigen start threads of their own, but each device of a plan has one core. Fix: "
    "add -DEIGEN_DONT_PARALLELIZE to the command.");

/// Products in tiles, made by whatever version of Eigen is there.
///
/// Law     nothing is allocated: the packed operands of a tile, at most 128 KiB each, lie on the stack
/// Law     the order of every sum depends on the extents alone where the first cache has 16 KiB or more: Eigen splits no tile there
/// Errors  L15 at build with OpenMP
/// Tested  compute/eigen/public_products_test
struct PublicProducts {
  using Index = Eigen::Index;

  static constexpr Index most_side = 256;
  static constexpr Index most_depth = 128;
  static_assert(most_side * most_depth * static_cast<Index>(sizeof(float)) <= EIGEN_STACK_ALLOCATION_LIMIT);

  /// c (m, n) = or += a (m, k) b^T with b (n, k).
  static void nt(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* /*workspace*/,
                 const Tail* tail = nullptr) {
    product<Eigen::RowMajor, Eigen::ColMajor>(m, n, k, {a, k}, {b, k}, c, into);
    if (tail != nullptr) (*tail)(0, m * n);
  }
  /// c (m, n) = a (m, k) b^T with b (n, k), plus row (n) in every row.
  static void nt_plus_row(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, const float* row, float* c, void* workspace,
                          const Tail* tail = nullptr) {
    for (std::int64_t i = 0; i < m; ++i) EigenCompute::copy(c + i * n, row, n);
    nt(m, n, k, a, b, c, Into::add, workspace, tail);
  }
  /// c (m, n) = or += a (m, k) b with b (k, n).
  static void nn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* /*workspace*/,
                 const Tail* tail = nullptr) {
    product<Eigen::RowMajor, Eigen::RowMajor>(m, n, k, {a, k}, {b, n}, c, into);
    if (tail != nullptr) (*tail)(0, m * n);
  }
  /// c (m, n) = or += a^T b with a (k, m) and b (k, n).
  static void tn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* /*workspace*/) {
    product<Eigen::ColMajor, Eigen::RowMajor>(m, n, k, {a, m}, {b, n}, c, into);
  }

 private:
  template <int Order> using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Order>;
  template <class M> using View = Eigen::Map<M, Eigen::Unaligned, Eigen::OuterStride<>>;

  /// An operand as it lies in memory.
  template <int Order> struct Operand {
    const float* data;
    Index stride;
    [[nodiscard]] const float* at(Index i, Index j) const { return Order == Eigen::RowMajor ? data + i * stride + j : data + j * stride + i; }
    [[nodiscard]] View<const Matrix<Order>> piece(Index i, Index j, Index rows, Index columns) const {
      return {at(i, j), rows, columns, Eigen::OuterStride<>(stride)};
    }
  };

  /// The smallest number of nearly equal tiles of at most `most`.
  [[nodiscard]] static Index even(Index extent, Index most) {
    const Index tiles = std::max<Index>(1, (extent + most - 1) / most);
    return std::max<Index>(1, (extent + tiles - 1) / tiles);
  }

  template <int Left, int Right>
  static void product(Index m, Index n, Index k, const Operand<Left>& a, const Operand<Right>& b, float* c, Into into) {
    if (into == Into::overwrite) EigenCompute::zero(c, m * n);
    const Index rows = even(m, most_side);
    const Index columns = even(n, most_side);
    const Index depth = even(k, most_depth);
    for (Index j = 0; j < n; j += columns)
      for (Index l = 0; l < k; l += depth)
        for (Index i = 0; i < m; i += rows)
          tile(a, b, c + i * n + j, n, {i, j, l, std::min(rows, m - i), std::min(columns, n - j), std::min(depth, k - l)});
  }

  /// Where a tile lies: `i` and `j` are its row and column in C, `l` its place in the sum. A tile of 2 rows, 3 columns and depth 4 is 24 products.
  struct Place {
    Index i, j, l, rows, columns, depth;
  };
  template <int Left, int Right> static void tile(const Operand<Left>& a, const Operand<Right>& b, float* c, Index stride, const Place& p) {
    if (p.rows + p.columns + p.depth < 24) return small_tile(a, b, c, stride, p);
    View<Matrix<Eigen::RowMajor>> target(c, p.rows, p.columns, Eigen::OuterStride<>(stride));
    target.noalias() += a.piece(p.i, p.l, p.rows, p.depth) * b.piece(p.l, p.j, p.depth, p.columns);
  }

  /// Eigen multiplies small matrices element by element, in an order that may depend on addresses.
  template <int Left, int Right> static void small_tile(const Operand<Left>& a, const Operand<Right>& b, float* c, Index stride, const Place& p) {
    for (Index i = 0; i < p.rows; ++i)
      for (Index j = 0; j < p.columns; ++j) {
        float sum = 0;
        for (Index l = 0; l < p.depth; ++l) sum += *a.at(p.i + i, p.l + l) * *b.at(p.l + l, p.j + j);
        c[i * stride + j] += sum;
      }
  }
};

}  // namespace heddle::compute_room
