// SPDX-License-Identifier: MIT
// Room: tests. One convolution of cuDNN by plain loops, in each of its directions. It is compiled with every sanitizer, as touch is.
// Sees: nothing.  Does not see: streams, descriptors.
// In: pointers, extents, an order of sums.  Out: Convolution, ChannelNumbers, touch_convolution, touch_channels.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cuda_emulator {

/// Extents as descriptors have them: 8 samples of (4, 9, 9) through windows of 3 x 3 in 2 groups become (6, 7, 7).
struct ConvolutionExtents {
  std::int64_t n = 0, channels = 0, height = 0, width = 0, out = 0, down = 0, across = 0, groups = 1;
  std::int64_t size[2] = {1, 1}, padding[2] = {0, 0}, stride[2] = {1, 1}, dilation[2] = {1, 1};
  bool turned = false;  ///< the window is, as of a convolution in the sense of mathematics
};

/// Which of the three tensors is made of the other two.
enum class Way : unsigned char { forward, data, filter };

/// result = scale sum + add_scale result, where a sum is `parts` sums over every so many-th term, added in order.
struct Convolution {
  ConvolutionExtents e;
  Way way = Way::forward;
  const float* x = nullptr;  ///< of the result of `data` dx, and so on: the pointer of the result is `result`
  const float* w = nullptr;
  const float* y = nullptr;
  float* result = nullptr;
  float scale = 1, add_scale = 0;
  bool tf32 = false;
  std::int64_t parts = 1;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;  ///< that the algorithm uses
  double* scratch = nullptr;        ///< scratch_numbers of the host

  [[nodiscard]] std::size_t results() const {
    const std::int64_t filter = e.out * (e.channels / e.groups) * e.size[0] * e.size[1];
    return static_cast<std::size_t>(way == Way::forward ? e.n * e.out * e.down * e.across
                                    : way == Way::data  ? e.n * e.channels * e.height * e.width
                                                        : filter);
  }
  [[nodiscard]] std::size_t scratch_numbers() const { return results() * static_cast<std::size_t>(parts); }
};
void touch_convolution(const Convolution& of);

/// A number a channel and a tensor (n, channels, pixels): added to each of its pixels, or the sum of them.
struct ChannelNumbers {
  std::int64_t n = 0, channels = 0, pixels = 0;
  const float* from = nullptr;
  float* to = nullptr;
  float scale = 1, add_scale = 0;
  bool sums = false;
};
void touch_channels(const ChannelNumbers& of);

}  // namespace cuda_emulator
