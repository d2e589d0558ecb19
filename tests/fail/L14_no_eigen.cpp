// SPDX-License-Identifier: MIT
// mistake: Eigen is not found
// Eigen lies in a folder of its own, which the command must name.
// broken-without: Eigen/Core
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: fatal error: '?\[heddle\.L14\] Eigen/Core is not found\. Fix: apt install libeigen3-dev, and add -I /usr/include/eigen3
#include "heddle/compute/eigen/gemm.hpp"

using heddle::compute_room::EigenCompute;
