// SPDX-License-Identifier: MIT
// Room: compute. The matrix products of a compute backend on Eigen.
// Sees: compute/eigen; Eigen itself only where the products are compiled with the program.  Does not see: leaves, policies, programs.
// In: row-major pieces with run-time extents.  Out: EigenProducts, ProductsOf.
#pragma once

#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#ifndef HEDDLE_COMPILED
#include "heddle/compute/eigen/found_products.hpp"
#endif

namespace heddle::compute_room {

#ifdef HEDDLE_COMPILED
/// FoundProducts, which lie in heddle::compiled: a program that links it includes no Eigen.
struct EigenProducts {
  static void nt(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace,
                 const Tail* tail = nullptr);
  static void nt_plus_row(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, const float* row, float* c, void* workspace,
                          const Tail* tail = nullptr);
  static void nn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace,
                 const Tail* tail = nullptr);
  static void tn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace);
};
#else
using EigenProducts = FoundProducts;
#endif

/// The products of a Compute. One that derives from EigenCompute may specialise this with a struct that has nt, nt_plus_row, nn and
/// tn. If the first three take a tail as their last argument they run it on what is final, else it runs when they are done.
///
/// Tested  compute/eigen/gemm_test
template <class C> struct ProductsOf { using type = EigenProducts; };

}  // namespace heddle::compute_room
