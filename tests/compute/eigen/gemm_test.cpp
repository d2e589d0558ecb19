// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/gemm.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace heddle;

TEST_CASE("what is compiled with the program has the products of the Eigen that is found, unless a backend names others") {
  CHECK(std::is_same_v<EigenProducts, FoundProducts>);
  CHECK(std::is_same_v<ProductsOf<EigenCompute>::type, EigenProducts>);
}
