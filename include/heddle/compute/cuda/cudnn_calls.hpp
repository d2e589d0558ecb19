// SPDX-License-Identifier: MIT
// Room: compute. What every call of cuDNN has: a check of its status, and owners of what it hands out.
// Sees: compute/cuda/resources, seams/error, cudnn.  Does not see: layers, policies, programs.
// In: statuses and descriptors.  Out: check_cudnn, accepted_by_cudnn, CudnnHandle and owners of descriptors.
#pragma once

#include <cudnn.h>

#include <string>

#include "heddle/compute/cuda/resources.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::compute_room {

/// R36: a call of cuDNN has failed. `what` names it.
[[noreturn]] HEDDLE_COLD inline void refuse_cudnn(cudnnStatus_t status, const char* what) {
  throw Error(Code{'R', 36}, std::string{what} + " failed with " + cudnnGetErrorString(status) +
                                 ". Fix: look at the first such sentence of any rank; without cuDNN in its backend the program runs as well.");
}
inline void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status != CUDNN_STATUS_SUCCESS) refuse_cudnn(status, what);
}
/// Whether cuDNN computes what it was asked about: no is an answer, any other status a failure.
[[nodiscard]] inline bool accepted_by_cudnn(cudnnStatus_t status, const char* what) {
  const int category = CUDNN_STATUS_CATEGORY(static_cast<int>(status));
  if (category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM) return false;
  check_cudnn(status, what);
  return true;
}

/// Gives a handle of cuDNN back.
struct DestroyCudnn {
  cudnnStatus_t operator()(cudnnHandle_t handle) const { return cudnnDestroy(handle); }
};
/// Gives the description of a tensor back.
struct DestroyCudnnTensor {
  cudnnStatus_t operator()(cudnnTensorDescriptor_t tensor) const { return cudnnDestroyTensorDescriptor(tensor); }
};
/// Gives the description of weights back.
struct DestroyCudnnFilter {
  cudnnStatus_t operator()(cudnnFilterDescriptor_t filter) const { return cudnnDestroyFilterDescriptor(filter); }
};
/// Gives the description of windows back.
struct DestroyCudnnWindows {
  cudnnStatus_t operator()(cudnnConvolutionDescriptor_t windows) const { return cudnnDestroyConvolutionDescriptor(windows); }
};
/// Gives a descriptor of the graph API back.
struct DestroyCudnnDescriptor {
  cudnnStatus_t operator()(cudnnBackendDescriptor_t descriptor) const { return cudnnBackendDestroyDescriptor(descriptor); }
};
using CudnnHandle = Owner<cudnnHandle_t, DestroyCudnn>;
using CudnnTensor = Owner<cudnnTensorDescriptor_t, DestroyCudnnTensor>;
using CudnnFilter = Owner<cudnnFilterDescriptor_t, DestroyCudnnFilter>;
using CudnnWindows = Owner<cudnnConvolutionDescriptor_t, DestroyCudnnWindows>;
using CudnnDescriptor = Owner<cudnnBackendDescriptor_t, DestroyCudnnDescriptor>;

}  // namespace heddle::compute_room
