// SPDX-License-Identifier: MIT
// nvcc 13 compiles for cards of compute capability 7.5 unless it is told of another one; as it says so itself, by __CUDA_ARCH__.
// broken-flags: -D__CUDA_ARCH__=750
// slow: clang++
// expect: fatal error: '?\[heddle\.L29\] Heddle's kernels run on cards of compute capability 8\.0 or newer, but
#include "heddle/compute/cuda/block.hpp"

static_assert(heddle::compute_room::warp_threads == 32);
