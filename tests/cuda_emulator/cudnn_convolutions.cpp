// SPDX-License-Identifier: MIT
// cuDNN, algorithms of convolutions and convolutions:
//   cudnnGetConvolution{Forward,BackwardData,BackwardFilter}Algorithm_v7 cudnnGetConvolution{Forward,BackwardData,BackwardFilter}WorkspaceSize
//   cudnnConvolutionForward cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter cudnnConvolutionBackwardBias cudnnAddTensor
#include <algorithm>
#include <memory>
#include <string>

#include "cudnn.hpp"
#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

constexpr int algorithms = 4;
constexpr std::size_t pack_bytes = 16;

/// The descriptors of one convolution, whichever of its tensors is made.
struct Described {
  cudnnTensorDescriptor_t x;
  cudnnFilterDescriptor_t w;
  cudnnConvolutionDescriptor_t windows;
  cudnnTensorDescriptor_t y;
};
/// What they say; a violation, and false, where they do not fit together.
bool read(const char* name, const Described& d, ConvolutionExtents& e) {
  if (!known(d.x) || !known(d.w) || !known(d.windows) || !known(d.y)) return false;
  const auto odd = [&](const char* what) {
    violation(std::string(name) + " is given " + what + ".");
    return false;
  };
  if (d.x->sizes[0] == 0 || d.w->sizes[0] == 0 || d.y->sizes[0] == 0 || d.windows->stride[0] == 0) return odd("a descriptor that nobody has set");
  const cudnnConvolutionStruct& c = *d.windows;
  e.n = d.x->sizes[0], e.channels = d.x->sizes[1], e.height = d.x->sizes[2], e.width = d.x->sizes[3];
  e.out = d.y->sizes[1], e.down = d.y->sizes[2], e.across = d.y->sizes[3], e.groups = c.groups;
  e.turned = c.mode == CUDNN_CONVOLUTION;
  for (int i = 0; i < 2; ++i) e.size[i] = d.w->sizes[2 + i], e.padding[i] = c.padding[i], e.stride[i] = c.stride[i], e.dilation[i] = c.dilation[i];
  if (d.y->sizes[0] != e.n) return odd("tensors of different numbers of samples");
  if (d.w->sizes[0] != e.out || d.w->sizes[1] * e.groups != e.channels || e.out % e.groups != 0) return odd("channels that do not fit its weights");
  for (int i = 0; i < 2; ++i) {
    const std::int64_t extent = i == 0 ? e.height : e.width, places = i == 0 ? e.down : e.across;
    if ((extent + 2 * e.padding[i] - (e.size[i] - 1) * e.dilation[i] - 1) / e.stride[i] + 1 != places) return odd("windows that have other places");
  }
  return true;
}
/// Those numbers of algorithms whose sums a card may add in another order each time.
bool varies(Way way, int algorithm) { return algorithm == 0 && way != Way::forward; }
/// Algorithm 3 wants room that grows with the rows, algorithm 1 a little, the others none.
std::size_t workspace_of(const ConvolutionExtents& e, int algorithm) {
  if (algorithm == 3) return static_cast<std::size_t>(e.n * e.channels * e.height * e.width * e.size[0] * e.size[1]) * 64;
  return algorithm == 1 ? 4096 : 0;
}
/// Algorithm 1 takes no dilated windows; with more than 1 group there is algorithm 2 alone.
bool takes(const ConvolutionExtents& e, int algorithm) {
  const bool dilated = e.dilation[0] != 1 || e.dilation[1] != 1;
  return algorithm >= 0 && algorithm < algorithms && !(algorithm == 1 && dilated) && !(e.groups > 1 && algorithm != 2);
}

/// All algorithms that take it, those that are best to a heuristic first: what varies, what wants much room, then which one depends on the extents.
/// All but the first also on tensor cores, which round to TF32, whatever was asked; none that leaves open whether it does.
template <class Offer> cudnnStatus_t offer(const char* name, Way way, cudnnHandle_t handle, const Described& d, int wanted, int* found, Offer* all) {
  return cudnn_call(name, [&](Call&) {
    ConvolutionExtents e;
    ++state().counts.heuristics;
    *found = 0;
    if (!known(handle) || wanted < 1 || !read(name, d, e)) return CUDNN_STATUS_BAD_PARAM;
    const int favourite = static_cast<int>((e.n + e.channels + e.height) % 2) + 1;
    const int order[algorithms] = {0, 3, favourite, 3 - favourite};
    for (const int number : order)
      for (const cudnnMathType_t mathematics : {CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH}) {
        if (number == 0 && mathematics != CUDNN_FMA_MATH && d.windows->mathematics == CUDNN_FMA_MATH) continue;
        if (*found == std::min(wanted, state().options.algorithms)) return CUDNN_STATUS_SUCCESS;
        Offer& made = all[(*found)++];
        made = {};
        made.algo = static_cast<decltype(made.algo)>(number);
        made.status = takes(e, number) ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
        made.memory = workspace_of(e, number);
        made.determinism = varies(way, number) ? CUDNN_NON_DETERMINISTIC : CUDNN_DETERMINISTIC;
        made.mathType = mathematics;
      }
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t room(const char* name, cudnnHandle_t handle, const Described& d, int algorithm, std::size_t* bytes) {
  return cudnn_call(name, [&](Call&) {
    ConvolutionExtents e;
    if (!known(handle) || bytes == nullptr || !read(name, d, e)) return CUDNN_STATUS_BAD_PARAM;
    if (!takes(e, algorithm)) return CUDNN_STATUS_NOT_SUPPORTED;
    *bytes = workspace_of(e, algorithm);
    return CUDNN_STATUS_SUCCESS;
  });
}

/// The pointers and numbers of one call.
struct At {
  const void* scale;
  const void* x;
  const void* w;
  const void* y;
  int algorithm;
  void* workspace;
  std::size_t workspace_bytes;
  const void* add_scale;
};
cudnnStatus_t queue(Stream& stream, Work work) {
  return enqueue(stream, std::move(work)) == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
cudnnStatus_t convolve(const char* name, Way way, cudnnHandle_t handle, const Described& d, const At& at) {
  return cudnn_call(name, [&](Call&) {
    Convolution made;
    Stream* const stream = cudnn_stream(name, handle);
    if (stream == nullptr || at.scale == nullptr || at.add_scale == nullptr || !read(name, d, made.e)) return CUDNN_STATUS_BAD_PARAM;
    if (!takes(made.e, at.algorithm)) return CUDNN_STATUS_NOT_SUPPORTED;
    if (d.windows->mathematics == CUDNN_DEFAULT_MATH)
      return cudnn_mistake(std::string(name) + " is given windows without the mathematics with which its algorithm was offered");
    made.workspace_bytes = workspace_of(made.e, at.algorithm);
    if (made.workspace_bytes > at.workspace_bytes)
      return cudnn_mistake(std::string(name) + " is given " + std::to_string(at.workspace_bytes) +
                           " bytes of workspace, of which its algorithm takes " + std::to_string(made.workspace_bytes));
    Work work{name, {}};
    const ConvolutionExtents& e = made.e;
    const auto lies = [&](const char* what, const void* begin, std::int64_t numbers) {
      return on_card(name, what, begin, static_cast<std::size_t>(numbers) * sizeof(float), stream->device, work);
    };
    if (!lies("x", at.x, e.n * e.channels * e.height * e.width) || !lies("w", at.w, e.out * (e.channels / e.groups) * e.size[0] * e.size[1]) ||
        !lies("y", at.y, e.n * e.out * e.down * e.across))
      return CUDNN_STATUS_BAD_PARAM;
    if (made.workspace_bytes > 0 && (reinterpret_cast<std::uintptr_t>(at.workspace) % pack_bytes != 0 ||
                                     !on_card(name, "a workspace", at.workspace, made.workspace_bytes, stream->device, work)))
      return CUDNN_STATUS_BAD_PARAM;
    made.way = way;
    made.x = static_cast<const float*>(at.x), made.w = static_cast<const float*>(at.w), made.y = static_cast<const float*>(at.y);
    made.result = const_cast<float*>(way == Way::forward ? made.y : way == Way::data ? made.x : made.w);
    made.scale = *static_cast<const float*>(at.scale), made.add_scale = *static_cast<const float*>(at.add_scale);
    made.tf32 = d.windows->mathematics != CUDNN_FMA_MATH;
    made.parts = varies(way, at.algorithm) ? 1 + static_cast<std::int64_t>(chance() * 7) : at.algorithm + 1;
    made.workspace = at.workspace;
    work.start = [made]() mutable -> std::shared_ptr<Unfinished> {
      ++state().counts.convolutions;
      std::unique_ptr<double[]> scratch;
      if (const tsan::Silence silence; true) scratch = std::make_unique_for_overwrite<double[]>(made.scratch_numbers());
      made.scratch = scratch.get();
      touch_convolution(made);
      const tsan::Silence silence;
      scratch.reset();
      return nullptr;
    };
    return queue(*stream, std::move(work));
  });
}
/// Of a tensor (n, channels, h, w) and one of (1, channels, 1, 1).
cudnnStatus_t of_channels(const char* name, bool sums, cudnnHandle_t handle, cudnnTensorDescriptor_t tensor, const void* numbers,
                          cudnnTensorDescriptor_t each, const void* of_channel, const void* scale, const void* add_scale) {
  return cudnn_call(name, [&](Call&) {
    Stream* const stream = cudnn_stream(name, handle);
    if (stream == nullptr || !known(tensor) || !known(each) || scale == nullptr || add_scale == nullptr) return CUDNN_STATUS_BAD_PARAM;
    if (tensor->sizes[0] == 0 || each->sizes[0] != 1 || each->sizes[1] != tensor->sizes[1] || each->sizes[2] != 1 || each->sizes[3] != 1)
      return cudnn_mistake(std::string(name) + " is given tensors whose channels do not fit");
    ChannelNumbers made;
    made.n = tensor->sizes[0], made.channels = tensor->sizes[1], made.pixels = std::int64_t{tensor->sizes[2]} * tensor->sizes[3];
    Work work{name, {}};
    const auto bytes = static_cast<std::size_t>(made.n * made.channels * made.pixels) * sizeof(float);
    if (!on_card(name, "a tensor", numbers, bytes, stream->device, work) ||
        !on_card(name, "numbers of channels", of_channel, static_cast<std::size_t>(made.channels) * sizeof(float), stream->device, work))
      return CUDNN_STATUS_BAD_PARAM;
    made.from = static_cast<const float*>(sums ? numbers : of_channel);
    made.to = static_cast<float*>(const_cast<void*>(sums ? of_channel : numbers));
    made.scale = *static_cast<const float*>(scale), made.add_scale = *static_cast<const float*>(add_scale);
    made.sums = sums;
    work.start = [made]() -> std::shared_ptr<Unfinished> {
      touch_channels(made);
      return nullptr;
    };
    return queue(*stream, std::move(work));
  });
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;
using Handle = cudnnHandle_t;
using Tensor = cudnnTensorDescriptor_t;
using Filter = cudnnFilterDescriptor_t;
using Windows = cudnnConvolutionDescriptor_t;

extern "C" {

cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(Handle handle, const Tensor x, const Filter w, const Windows windows, const Tensor y,
                                                     const int wanted, int* found, cudnnConvolutionFwdAlgoPerf_t* all) {
  return offer(__func__, Way::forward, handle, {x, w, windows, y}, wanted, found, all);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataAlgorithm_v7(Handle handle, const Filter w, const Tensor dy, const Windows windows, const Tensor dx,
                                                          const int wanted, int* found, cudnnConvolutionBwdDataAlgoPerf_t* all) {
  return offer(__func__, Way::data, handle, {dx, w, windows, dy}, wanted, found, all);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterAlgorithm_v7(Handle handle, const Tensor x, const Tensor dy, const Windows windows, const Filter dw,
                                                            const int wanted, int* found, cudnnConvolutionBwdFilterAlgoPerf_t* all) {
  return offer(__func__, Way::filter, handle, {x, dw, windows, dy}, wanted, found, all);
}
cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(Handle handle, const Tensor x, const Filter w, const Windows windows, const Tensor y,
                                                      cudnnConvolutionFwdAlgo_t algorithm, size_t* bytes) {
  return room(__func__, handle, {x, w, windows, y}, algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardDataWorkspaceSize(Handle handle, const Filter w, const Tensor dy, const Windows windows, const Tensor dx,
                                                           cudnnConvolutionBwdDataAlgo_t algorithm, size_t* bytes) {
  return room(__func__, handle, {dx, w, windows, dy}, algorithm, bytes);
}
cudnnStatus_t cudnnGetConvolutionBackwardFilterWorkspaceSize(Handle handle, const Tensor x, const Tensor dy, const Windows windows, const Filter dw,
                                                             cudnnConvolutionBwdFilterAlgo_t algorithm, size_t* bytes) {
  return room(__func__, handle, {x, dw, windows, dy}, algorithm, bytes);
}
cudnnStatus_t cudnnConvolutionForward(Handle handle, const void* scale, const Tensor x_is, const void* x, const Filter w_is, const void* w,
                                      const Windows windows, cudnnConvolutionFwdAlgo_t algorithm, void* workspace, size_t bytes,
                                      const void* add_scale, const Tensor y_is, void* y) {
  return convolve(__func__, Way::forward, handle, {x_is, w_is, windows, y_is}, {scale, x, w, y, algorithm, workspace, bytes, add_scale});
}
cudnnStatus_t cudnnConvolutionBackwardData(Handle handle, const void* scale, const Filter w_is, const void* w, const Tensor dy_is, const void* dy,
                                           const Windows windows, cudnnConvolutionBwdDataAlgo_t algorithm, void* workspace, size_t bytes,
                                           const void* add_scale, const Tensor dx_is, void* dx) {
  return convolve(__func__, Way::data, handle, {dx_is, w_is, windows, dy_is}, {scale, dx, w, dy, algorithm, workspace, bytes, add_scale});
}
cudnnStatus_t cudnnConvolutionBackwardFilter(Handle handle, const void* scale, const Tensor x_is, const void* x, const Tensor dy_is, const void* dy,
                                             const Windows windows, cudnnConvolutionBwdFilterAlgo_t algorithm, void* workspace, size_t bytes,
                                             const void* add_scale, const Filter dw_is, void* dw) {
  return convolve(__func__, Way::filter, handle, {x_is, dw_is, windows, dy_is}, {scale, x, dw, dy, algorithm, workspace, bytes, add_scale});
}
cudnnStatus_t cudnnConvolutionBackwardBias(Handle handle, const void* scale, const Tensor dy_is, const void* dy, const void* add_scale,
                                           const Tensor db_is, void* db) {
  return of_channels(__func__, true, handle, dy_is, dy, db_is, db, scale, add_scale);
}
cudnnStatus_t cudnnAddTensor(Handle handle, const void* scale, const Tensor bias_is, const void* bias, const void* add_scale, const Tensor y_is,
                             void* y) {
  return of_channels(__func__, false, handle, y_is, y, bias_is, bias, scale, add_scale);
}

}  // extern "C"
