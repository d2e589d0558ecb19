// SPDX-License-Identifier: MIT
// Room: compute. Which matrix products the Eigen that is found gives.
// Sees: Eigen's version, compute/eigen.  Does not see: leaves, policies, programs.
// In: the version.  Out: FoundProducts.
#pragma once

#include "heddle/compute/eigen/eigen_core.hpp"

static_assert(EIGEN_WORLD_VERSION > 3 || (EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION >= 4),
              "[heddle.L14] this Eigen is older than 3.4. Fix: apt install libeigen3-dev, or name the folder of a newer Eigen with -I.");

// Eigen 5.0 calls itself world 3, major 5. What lies inside Eigen may change with every version: it is used in those it was tried with.
#if EIGEN_WORLD_VERSION == 3 && EIGEN_MAJOR_VERSION == 4 && EIGEN_MINOR_VERSION < 90
#include "heddle/compute/eigen/internal_products.hpp"
namespace heddle::compute_room {
using FoundProducts = InternalProducts;
}
#else
#include "heddle/compute/eigen/public_products.hpp"
namespace heddle::compute_room {
using FoundProducts = PublicProducts;
}
#endif
