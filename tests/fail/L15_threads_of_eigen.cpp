// SPDX-License-Identifier: MIT
// With OpenMP the public product of Eigen would start threads inside each device.
// slow: clang++
// expect: \[heddle\.L15\] with -fopenmp the products of this version of Eigen start threads of their own, but each device
#include "heddle/compute/eigen/eigen_core.hpp"

#define EIGEN_HAS_OPENMP  // what Eigen defines where it is compiled with -fopenmp
#ifdef HEDDLE_REPAIRED
#define EIGEN_DONT_PARALLELIZE
#endif
#include "heddle/compute/eigen/public_products.hpp"

using heddle::compute_room::PublicProducts;
