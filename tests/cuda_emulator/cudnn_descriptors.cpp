// SPDX-License-Identifier: MIT
// cuDNN, its handle and what a convolution is described by:
//   cudnnCreate cudnnDestroy cudnnSetStream cudnnGetVersion cudnnGetErrorString
//   cudnnCreateTensorDescriptor cudnnDestroyTensorDescriptor cudnnSetTensor4dDescriptor
//   cudnnCreateFilterDescriptor cudnnDestroyFilterDescriptor cudnnSetFilter4dDescriptor
//   cudnnCreateConvolutionDescriptor cudnnDestroyConvolutionDescriptor cudnnSetConvolution2dDescriptor cudnnSetConvolutionGroupCount
//   cudnnSetConvolutionMathType
#include <algorithm>
#include <array>

#include "code_texts.hpp"
#include "cudnn.hpp"

namespace cuda_emulator {
namespace {

constexpr CodeText<cudnnStatus_t> status_texts[] = {
    CUDA_EMULATOR_CODE(CUDNN_STATUS_SUCCESS, "CUDNN_STATUS_SUCCESS"),
    CUDA_EMULATOR_CODE(CUDNN_STATUS_BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"),
    CUDA_EMULATOR_CODE(CUDNN_STATUS_NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"),
    CUDA_EMULATOR_CODE(CUDNN_STATUS_INTERNAL_ERROR, "CUDNN_STATUS_INTERNAL_ERROR"),
    CUDA_EMULATOR_CODE(CUDNN_STATUS_EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"),
};
constexpr CodeText<cudnnStatus_t> unknown_status{CUDNN_STATUS_INTERNAL_ERROR, "unknown status", "a status that the emulator does not name"};

/// Extents above 0 of a tensor in float32 whose last extent lies in one piece.
template <class Held> cudnnStatus_t set_sizes(Held* held, cudnnTensorFormat_t format, cudnnDataType_t type, const std::array<int, 4>& sizes) {
  if (!known(held)) return CUDNN_STATUS_BAD_PARAM;
  if (format != CUDNN_TENSOR_NCHW || type != CUDNN_DATA_FLOAT)
    return cudnn_mistake("cuDNN is told of a tensor that is not NCHW in float32, which the emulator does not know");
  if (std::any_of(sizes.begin(), sizes.end(), [](int size) { return size <= 0; }))
    return cudnn_mistake("cuDNN is told of a tensor with an extent below 1");
  held->type = type;
  std::copy(sizes.begin(), sizes.end(), held->sizes);
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

Stream* cudnn_stream(const char* name, cudnnHandle_t handle) {
  if (!known(handle)) return nullptr;
  if (handle->stream == nullptr) {
    violation(std::string(name) + " is given a handle without a stream: the default stream is refused.");
    return nullptr;
  }
  Stream* const stream = stream_of(handle->stream);
  if (stream != nullptr && stream->device != handle->device) {
    violation(std::string(name) + " is given a handle of another device than its stream's.");
    return nullptr;
  }
  return stream;
}
bool on_card(const char* name, const char* what, const void* begin, std::size_t bytes, int device, Work& work) {
  if (state().memory.on_device(begin, bytes, device)) {
    work.ranges.push_back({begin, bytes});
    return true;
  }
  char text[160];
  state().memory.describe(begin, text, sizeof text);
  violation(std::string(name) + " is given " + what + " with " + std::to_string(bytes) + " bytes at " + text + ".");
  return false;
}

}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

size_t cudnnGetVersion() { return CUDNN_VERSION; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  return said_of(text_of(status_texts, unknown_status, status), status != CUDNN_STATUS_SUCCESS);
}
cudnnStatus_t cudnnCreate(cudnnHandle_t* made) {
  return cudnn_call(__func__, [&](Call&) {
    if (forbidden_in_capture("cudnnCreate")) return CUDNN_STATUS_INTERNAL_ERROR;  // it makes memory
    *made = new cudnnContext{current_device(), nullptr};
    state().library_objects[*made] = cudnnContext::kind;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) { return cudnn_destroy(__func__, handle); }
cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  return cudnn_call(__func__, [&](Call&) {
    if (!known(handle) || stream_of(stream) == nullptr) return CUDNN_STATUS_BAD_PARAM;
    handle->stream = stream;
    return CUDNN_STATUS_SUCCESS;
  });
}

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) { return cudnn_create(__func__, made); }
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t held) { return cudnn_destroy(__func__, held); }
cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t held, cudnnTensorFormat_t format, cudnnDataType_t type, int n, int c, int h, int w) {
  return cudnn_call(__func__, [&](Call&) { return set_sizes(held, format, type, {n, c, h, w}); });
}
cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) { return cudnn_create(__func__, made); }
cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t held) { return cudnn_destroy(__func__, held); }
cudnnStatus_t cudnnSetFilter4dDescriptor(cudnnFilterDescriptor_t held, cudnnDataType_t type, cudnnTensorFormat_t format, int k, int c, int h, int w) {
  return cudnn_call(__func__, [&](Call&) { return set_sizes(held, format, type, {k, c, h, w}); });
}
cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) { return cudnn_create(__func__, made); }
cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t held) { return cudnn_destroy(__func__, held); }
cudnnStatus_t cudnnSetConvolution2dDescriptor(cudnnConvolutionDescriptor_t held, int pad_h, int pad_w, int u, int v, int dilation_h, int dilation_w,
                                              cudnnConvolutionMode_t mode, cudnnDataType_t type) {
  return cudnn_call(__func__, [&](Call&) {
    if (!known(held)) return CUDNN_STATUS_BAD_PARAM;
    if (pad_h < 0 || pad_w < 0 || u <= 0 || v <= 0 || dilation_h <= 0 || dilation_w <= 0 || type != CUDNN_DATA_FLOAT)
      return cudnn_mistake("cudnnSetConvolution2dDescriptor is told of a padding below 0, a stride or dilation below 1, or sums that are no float32");
    const cudnnConvolutionStruct before = *held;
    *held = {{pad_h, pad_w}, {u, v}, {dilation_h, dilation_w}, before.groups, mode, type, before.mathematics};
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t held, int groups) {
  return cudnn_call(__func__, [&](Call&) {
    if (!known(held)) return CUDNN_STATUS_BAD_PARAM;
    if (groups <= 0) return cudnn_mistake("cudnnSetConvolutionGroupCount is told of less than 1 group");
    held->groups = groups;
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t held, cudnnMathType_t mathematics) {
  return cudnn_call(__func__, [&](Call&) {
    if (!known(held)) return CUDNN_STATUS_BAD_PARAM;
    held->mathematics = mathematics;
    return CUDNN_STATUS_SUCCESS;
  });
}

}  // extern "C"
