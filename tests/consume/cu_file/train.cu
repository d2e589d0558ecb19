// SPDX-License-Identifier: MIT
// What a .cu file with a plan needs of its build, in less than a plan: C++20, constexpr functions of the host in a kernel, the architecture that the
// page names, and both libraries of the toolkit. It runs where there is no card.
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <heddle/heddle.hpp>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ != 900
#error nvcc compiles for another architecture than docs/cuda.md says
#endif
__global__ void larger(float* a, const float* b) { *a = std::max(*a, *b); }

int main() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess && version >= 12040 && cublasLtGetVersion() > 0 ? 0 : 1;
}
