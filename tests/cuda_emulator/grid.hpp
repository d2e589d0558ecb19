// SPDX-License-Identifier: MIT
// Room: tests. Runs a launch on the host: blocks in random order, the threads of a block as fibers in random order between barriers.
// Sees: compute/cuda/launch.  Does not see: streams, memory of cards.
// In: a HostKernel, its arguments and extents.  Out: run_grid, leave_kernel, GridResult.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <random>
#include <string>

#include "heddle/compute/cuda/launch.hpp"

namespace cuda_emulator {

/// What a launch was: "" where nothing was wrong, else a sentence with the kernel and the place. 3 blocks that meet twice each have 6 barriers.
struct GridResult {
  std::string wrong;
  cudaError_t error = cudaSuccess;
  long blocks = 0;
  long switches = 0;
  long barriers = 0;
  long warp_products = 0;
};

/// How a kernel is launched: {.blocks = 3, .threads = 256, .shared_bytes = 128}.
struct GridExtents {
  int blocks;
  int threads;
  std::size_t shared_bytes;
};
[[nodiscard]] GridResult run_grid(const heddle::compute_room::HostKernel& kernel, void* const* arguments, GridExtents extents,
                                  std::mt19937_64& random);

/// Called where a signal says that memory at `place` must not be touched: ends the kernel that runs on this thread. It returns if none runs, and
/// under the thread sanitizer, whose handler of signals wants a return.
void leave_kernel(const char* place);
/// The kernel that runs on this thread, or "host code".
[[nodiscard]] const char* who_runs();

}  // namespace cuda_emulator
