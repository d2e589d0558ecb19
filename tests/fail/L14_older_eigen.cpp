// SPDX-License-Identifier: MIT
// slow: clang++
// expect: \[heddle\.L14\] this Eigen is older than 3\.4\. Fix: apt install libeigen3-dev, or name the folder of a newer Eigen with -I\.
#include "heddle/compute/eigen/eigen_core.hpp"

#undef EIGEN_MAJOR_VERSION
#ifdef HEDDLE_REPAIRED
#define EIGEN_MAJOR_VERSION 4
#else
#define EIGEN_MAJOR_VERSION 3
#endif
#include "heddle/compute/eigen/gemm.hpp"

using heddle::compute_room::EigenProducts;
