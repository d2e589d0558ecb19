// SPDX-License-Identifier: MIT
// Room: tests. What the opaque types of cuDNN hold, and what the body of each of its functions begins with.
// Sees: state, convolution.  Does not see: how anything is computed.
// In: descriptors.  Out: cudnnContext and its like, known, cudnn_call, cudnn_release, cudnn_mistake, cudnn_stream, on_card.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <string>

#include "convolution.hpp"
#include "queues.hpp"
#include "state.hpp"

struct cudnnContext {
  static constexpr const char* kind = "handles of cuDNN";
  int device = 0;
  cudaStream_t stream = nullptr;
};
struct cudnnTensorStruct {
  static constexpr const char* kind = "descriptors of tensors";
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int sizes[4] = {};  ///< 0: not set
};
struct cudnnFilterStruct {
  static constexpr const char* kind = "descriptors of filters";
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  int sizes[4] = {};
};
struct cudnnConvolutionStruct {
  static constexpr const char* kind = "descriptors of convolutions";
  int padding[2] = {}, stride[2] = {}, dilation[2] = {};  ///< stride 0: not set
  int groups = 1;
  cudnnConvolutionMode_t mode = CUDNN_CONVOLUTION;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t mathematics = CUDNN_DEFAULT_MATH;
};

namespace cuda_emulator {

/// The body of a function of cuDNN.
template <class Body> cudnnStatus_t cudnn_call(const char* name, Body&& body) {
  Call call(name);
  return call.failed() ? CUDNN_STATUS_INTERNAL_ERROR : body(call);
}
/// The same of one that gives something back.
template <class Body> cudnnStatus_t cudnn_release(const char* name, Body&& body) {
  Call call(name, Call::Kind::release);
  return body();
}
inline cudnnStatus_t cudnn_mistake(const std::string& sentence) {
  violation(sentence + ".");
  return CUDNN_STATUS_BAD_PARAM;
}
/// Whether something of cuDNN exists; if not, that is a violation.
template <class Held> [[nodiscard]] bool known(const Held* held) {
  const auto found = state().library_objects.find(held);
  if (found != state().library_objects.end() && found->second == Held::kind) return true;
  violation(std::string("cuDNN is given one of its ") + Held::kind + " that does not exist.");
  return false;
}
template <class Held> cudnnStatus_t cudnn_create(const char* name, Held** made) {
  return cudnn_call(name, [&](Call&) {
    *made = new Held{};
    state().library_objects[*made] = Held::kind;
    ++state().counts.descriptors;
    return CUDNN_STATUS_SUCCESS;
  });
}
template <class Held> cudnnStatus_t cudnn_destroy(const char* name, Held* held) {
  return cudnn_release(name, [&] {
    if (!known(held)) return CUDNN_STATUS_BAD_PARAM;
    state().library_objects.erase(held);
    delete held;
    return CUDNN_STATUS_SUCCESS;
  });
}
/// The queue of a handle, on whose card it is; or a violation.
[[nodiscard]] Stream* cudnn_stream(const char* name, cudnnHandle_t handle);
/// Adds a range to the work where it lies on the card; else a violation.
[[nodiscard]] bool on_card(const char* name, const char* what, const void* begin, std::size_t bytes, int device, Work& work);

}  // namespace cuda_emulator
