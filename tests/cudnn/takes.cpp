// SPDX-License-Identifier: MIT
// What cuDNN itself says of the descriptors that Heddle makes, which needs no card: the one program of the tests that is linked with the library, so
// that attributes, types and sizes are not those of the emulator alone.
#include <cstdio>

#include "heddle/compute/cuda/cudnn.hpp"

using namespace heddle::compute_room;

namespace {

int wrong = 0;
void check(bool good, const char* what) {
  if (!good) ++wrong, std::printf("wrong: %s\n", what);
}

/// A product of (2, 8) and (of_rows, 8).
CudnnGraph product(std::int64_t of_rows) {
  CudnnGraph g;
  const int a = g.tensor({1, {1, 1, 2, 8}, {16, 16, 8, 1}}), b = g.tensor({2, {1, 1, of_rows, 8}, {64, 64, 8, 1}});
  g.product(a, b, g.tensor({3, {1, 1, 2, 8}, {16, 16, 8, 1}}));
  return g;
}

}  // namespace

int main() {
  std::printf("cuDNN %zu, built with %d\n", cudnnGetVersion(), CUDNN_VERSION);
  for (const bool causal : {false, true})
    for (const std::int64_t key_values : {4, 2, 1})
      for (const CudnnAttentionWay way : {CudnnAttentionWay::forward, CudnnAttentionWay::backward})
        check(CudnnAttentionGraph::of({2, 17, 4, key_values, 64, causal}, way).taken(), "a graph of attention is not taken");
  check(product(8).taken(), "a product is not taken");
  check(!product(9).taken(), "a product whose sizes do not fit is taken");
  CudnnTensor tensor;
  check_cudnn(cudnnCreateTensorDescriptor(tensor.slot()), "cudnnCreateTensorDescriptor");
  check(accepted_by_cudnn(cudnnSetTensor4dDescriptor(tensor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 3, 8, 8), "a tensor"),
        "a tensor is not taken");
  check(!accepted_by_cudnn(cudnnSetTensor4dDescriptor(tensor.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, 2, 0, 8, 8), "a tensor"),
        "a tensor without channels is taken");
  CudnnWindows windows;
  check_cudnn(cudnnCreateConvolutionDescriptor(windows.slot()), "cudnnCreateConvolutionDescriptor");
  check_cudnn(cudnnSetConvolution2dDescriptor(windows.get(), 1, 2, 2, 1, 1, 3, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT), "windows");
  check_cudnn(cudnnSetConvolutionMathType(windows.get(), CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");
  check_cudnn(cudnnSetConvolutionGroupCount(windows.get(), 2), "cudnnSetConvolutionGroupCount");
  std::printf(wrong == 0 ? "cuDNN takes what Heddle describes\n" : "%d wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
