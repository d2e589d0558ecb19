// SPDX-License-Identifier: MIT
// A layer with a __global__ kernel of its own, in a plan: nvcc compiles it (docs/extending.md quotes it).
#include <heddle/compute/cuda/cuda.hpp>
#include <heddle/heddle.hpp>

#include <concepts>
#include <cstdint>

using namespace heddle;
using namespace heddle::extending;

struct Cubed {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Cubed";
    leaf.spelled << "Cubed";
    leaf.in = leaf.out = in;
    leaf.forward_flops = 2 * in.elements();
    leaf.backward_flops = 3 * in.elements();
    return leaf;
  }
};

__global__ void cube(std::int64_t n, const float* x, float* y) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] * x[i];
}
__global__ void cube_back(std::int64_t n, const float* x, const float* dy, float* dx) {
  const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) dx[i] = 3 * x[i] * x[i] * dy[i];
}

template <std::derived_from<CudaCompute> C> struct heddle::Kernel<Cubed, C> {
  static unsigned blocks(std::int64_t n) { return static_cast<unsigned>((n + 255) / 256); }
  static void forward(const ForwardCallIn<CudaMemory>& call) {
    const std::int64_t n = call.rows * call.leaf->in.elements();
    if (n == 0) return;  // a grain without rows: CUDA refuses 0 blocks
    cube<<<blocks(n), 256, 0, call.space.queue->stream>>>(n, call.input, call.output);
    check_cuda(cudaGetLastError(), "cube");
  }
  static void backward(const BackwardCallIn<CudaMemory>& call) {
    const std::int64_t n = call.rows * call.leaf->in.elements();
    if (n == 0 || call.input_gradient == nullptr) return;
    cube_back<<<blocks(n), 256, 0, call.space.queue->stream>>>(n, call.input, call.output_gradient, call.input_gradient);
    check_cuda(cudaGetLastError(), "cube_back");
  }
};

struct Net : Sequential<Linear<16, 32>, Cubed, Linear<32, 4>> {};
static_assert(check<Plan<Net, CrossEntropy, AdamW, Batch<64>, DataParallel<2>>>().ok());

void pass(const ForwardCallIn<CudaMemory>& forward, const BackwardCallIn<CudaMemory>& backward) {
  Kernel<Cubed, CudaCompute>::forward(forward);
  Kernel<Cubed, CudaCompute>::backward(backward);
}
