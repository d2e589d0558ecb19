// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/found_products.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace heddle;

TEST_CASE("Eigen 3.4 gives the products inside it, every other version its public one") {
#if EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION == 4 && EIGEN_MINOR_VERSION < 90
  CHECK(std::is_same_v<FoundProducts, InternalProducts>);
#else
  CHECK(std::is_same_v<FoundProducts, PublicProducts>);
#endif
}
