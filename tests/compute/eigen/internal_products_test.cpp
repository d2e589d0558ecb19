// SPDX-License-Identifier: MIT
#include "compute/eigen/counted_allocations.hpp"

#include "heddle/compute/eigen/eigen_core.hpp"

#if EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION == 4
#include "heddle/compute/eigen/internal_products.hpp"
namespace {
using Products = heddle::InternalProducts;
}
#include "compute/eigen/products.hpp"

TEST_CASE("the blocks of a product fit the workspace for all extents") {
  for (const std::int64_t m : {1, 10, 1000, 4096, 50257})
    for (const std::int64_t n : {1, 64, 1024, 50257})
      for (const std::int64_t k : {0, 1, 7, 64, 255, 257, 784, 50257}) {
        const gemm::Blocks block(m, n, k);
        CHECK(block.rows > 0);
        CHECK(block.columns > 0);
        CHECK(block.depth > 0);
        CHECK(block.rows * block.depth <= gemm::most_left);
        CHECK(block.columns * block.depth <= gemm::most_right);
      }
}

#else
#include <doctest/doctest.h>
TEST_CASE("what lies inside this version of Eigen is not used") { MESSAGE("SKIPPED: this is not Eigen 3.4"); }
#endif
