// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/gemm.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace heddle;

TEST_CASE("Eigen 3.4 gives the products inside it, every other version its public one") {
#if EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION == 4 && EIGEN_MINOR_VERSION < 90
  static_assert(std::is_same_v<EigenProducts, InternalProducts>);
#else
  static_assert(std::is_same_v<EigenProducts, PublicProducts>);
#endif
  CHECK(std::is_same_v<ProductsOf<EigenCompute>::type, EigenProducts>);
}
