// SPDX-License-Identifier: MIT
// Room: compute. Conv2d on Eigen: the pixels of many windows side by side, and products with them.
// Sees: graph/layers/convolution, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<Conv2d, EigenCompute>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/gemm.hpp"
#include "heddle/compute/eigen/linear.hpp"
#include "heddle/compute/eigen/norm.hpp"
#include "heddle/graph/layers/convolution.hpp"

namespace heddle::compute_room {

/// Run-time extents of one call, all from the leaf: where channels are split it is smaller. Of (4, 9, 9) through Conv2d<4, 6, KernelSize<3>,
/// Groups<2>> 3 outputs of a group see 2 channels, 18 pixels of a window, at 49 places.
struct ConvolutionExtents {
  std::int64_t channels, height, width, out, down, across, groups, outputs, inputs, depth;
  explicit ConvolutionExtents(const Leaf& leaf)
      : channels(leaf.in.shape.sizes[0]), height(leaf.in.shape.sizes[1]), width(leaf.in.shape.sizes[2]), out(leaf.out.shape.sizes[0]),
        down(leaf.out.shape.sizes[1]), across(leaf.out.shape.sizes[2]), groups(channels / leaf.parameters[0].shape.sizes[1]), outputs(out / groups),
        inputs(channels / groups), depth(leaf.parameters[0].shape.elements() / out) {}

  [[nodiscard]] std::int64_t pixels() const { return height * width; }
  [[nodiscard]] std::int64_t places() const { return down * across; }
  /// Places that are computed at once: as many as the scratch has room for, whole lines of them.
  [[nodiscard]] std::int64_t block() const { return block_of(depth, outputs); }
  [[nodiscard]] static constexpr std::int64_t block_of(std::int64_t depth, std::int64_t outputs) {
    return std::max(least_places, usual_floats / (depth + outputs) / block_elements * block_elements);
  }
  /// Of the whole leaf; that of a part of its channels is no larger.
  [[nodiscard]] static constexpr Bytes scratch(const Leaf& leaf) {
    const std::int64_t depth = leaf.parameters[0].shape.elements() / leaf.out.shape.sizes[0], outputs = leaf.out.shape.sizes[0];
    return Bytes{static_cast<std::int64_t>(sizeof(float)) * std::max(usual_floats, (depth + outputs) * least_places)};
  }

 private:
  static constexpr std::int64_t usual_floats = 128 * 1024;
  static constexpr std::int64_t least_places = 32;
};

/// The pixels of the windows at `block` places of a sample, side by side: row (c, ky, kx) has pixel (ky, kx) of channel c of each, 0 for the padding.
/// With these a convolution is a product of matrices, for each sample and each group by itself.
///
/// Law     the order of every sum depends on the extents of the leaf alone: a sample has the same bits among any number of others
/// Errors  none; rows may be 0
/// Tested  compute/eigen/convolution_test
template <class Products> class ConvolutionKernel {
 public:
  ConvolutionKernel(const Leaf& leaf, const graph_room::SlidingWindow& window, std::int64_t samples, void* workspace)
      : e_(leaf), w_(window), samples_(samples), workspace_(workspace),
        patches_(reinterpret_cast<float*>(static_cast<char*>(workspace) + EigenCompute::workspace.value)), tile_(patches_ + e_.depth * e_.block()),
        has_bias_(has_bias(leaf)) {}

  void forward(const ForwardCall& call) {
    each_block([&](const Block& b) {
      gather(call.input + b.input, b);
      float* const made = all_places(b) ? call.output + b.output : tile_;
      if (has_bias_)
        for (std::int64_t o = 0; o < e_.outputs; ++o) std::fill_n(made + o * b.count, b.count, call.parameters[1][b.group * e_.outputs + o]);
      Products::nn(e_.outputs, b.count, e_.depth, weights(call.parameters[0], b), patches_, made, has_bias_ ? Into::add : Into::overwrite,
                   workspace_);
      for (std::int64_t o = 0; o < e_.outputs && made == tile_; ++o)
        EigenCompute::copy(call.output + b.output + o * e_.places() + b.first, tile_ + o * b.count, b.count);
    });
  }
  void backward(const BackwardCall& call) {
    float* const* const gradients = call.parameter_gradients;
    if (gradients != nullptr && !call.add) {
      EigenCompute::zero(gradients[0], e_.out * e_.depth);
      if (has_bias_) EigenCompute::zero(gradients[1], e_.out);
    }
    if (call.input_gradient != nullptr) EigenCompute::zero(call.input_gradient, samples_ * e_.channels * e_.pixels());
    each_block([&](const Block& b) {
      const float* const given = all_places(b) ? call.output_gradient + b.output : tile_;
      for (std::int64_t o = 0; o < e_.outputs && given == tile_; ++o)
        EigenCompute::copy(tile_ + o * b.count, call.output_gradient + b.output + o * e_.places() + b.first, b.count);
      if (gradients != nullptr) {
        gather(call.input + b.input, b);
        Products::nt(e_.outputs, e_.depth, b.count, given, patches_, weights(gradients[0], b), Into::add, workspace_);
        for (std::int64_t o = 0; o < e_.outputs && has_bias_; ++o) gradients[1][b.group * e_.outputs + o] += total(given + o * b.count, b.count);
      }
      if (call.input_gradient == nullptr) return;
      Products::tn(e_.depth, b.count, e_.outputs, weights(call.parameters[0], b), given, patches_, Into::overwrite, workspace_);
      scatter(call.input_gradient + b.input, b);
    });
  }

 private:
  /// Places `first` .. of one group of one sample, whose channels begin at `input` and `output`.
  /// The second 48 of 96 places of group 1 of Conv2d<4, 6, KernelSize<3>, Groups<2>> have first 48, and output 3 times 96.
  struct Block {
    std::int64_t group, first, count, input, output;
  };
  template <class Body> void each_block(const Body& body) const {
    for (std::int64_t s = 0; s < samples_; ++s)
      for (std::int64_t g = 0; g < e_.groups; ++g)
        for (std::int64_t first = 0; first < e_.places(); first += e_.block())
          body(Block{g, first, std::min(e_.block(), e_.places() - first), (s * e_.channels + g * e_.inputs) * e_.pixels(),
                     (s * e_.out + g * e_.outputs) * e_.places()});
  }
  /// Outputs of a group then lie as a product of the block makes them.
  [[nodiscard]] bool all_places(const Block& b) const { return b.count == e_.places(); }
  template <class Float> [[nodiscard]] Float* weights(Float* all, const Block& b) const { return all + b.group * e_.outputs * e_.depth; }

  /// visit(row of patches, its channel's first pixel, rows and columns by which the window's pixel is off) for each pixel of a window.
  template <class Visit> void each_tap(const Block& b, const Visit& visit) const {
    float* row = patches_;
    for (std::int64_t c = 0; c < e_.inputs; ++c)
      for (std::int64_t a = 0; a < w_.size[0]; ++a)
        for (std::int64_t k = 0; k < w_.size[1]; ++k, row += b.count)
          visit(row, c * e_.pixels(), a * w_.dilation[0] - w_.padding[0], k * w_.dilation[1] - w_.padding[1]);
  }
  /// visit(first place of the block, places, row of pixels or -1, first column) for each line of places of a block.
  template <class Visit> void each_line(const Block& b, std::int64_t off, const Visit& visit) const {
    for (std::int64_t at = 0; at < b.count;) {
      const std::int64_t y = (b.first + at) / e_.across, x = (b.first + at) % e_.across;
      const std::int64_t count = std::min(e_.across - x, b.count - at);
      const std::int64_t row = y * w_.stride[0] + off;
      visit(at, count, row >= 0 && row < e_.height ? row : -1, x);
      at += count;
    }
  }
  /// Of `count` places from x on, those whose pixel lies in the image: [begin, end).
  /// Of 5 places with 1 of padding the first pixel of a window of 3 is inside from place 1 to the last: {1, 5}.
  struct Inside {
    std::int64_t begin, end;
  };
  [[nodiscard]] Inside inside(std::int64_t x, std::int64_t count, std::int64_t off) const {
    const std::int64_t step = w_.stride[1];
    const std::int64_t first = off >= 0 ? 0 : (-off + step - 1) / step;                        // the first place whose pixel is not before the image
    const std::int64_t behind = e_.width - off <= 0 ? 0 : (e_.width - off + step - 1) / step;  // the first whose pixel is behind it
    const std::int64_t begin = std::clamp<std::int64_t>(first - x, 0, count);
    return {begin, std::max(begin, std::clamp<std::int64_t>(behind - x, 0, count))};
  }
  /// Lines of places are as long as those of pixels, one pixel apart: the pixel of a place is a fixed number of pixels away, wherever it is.
  [[nodiscard]] bool is_shift() const { return w_.stride[0] == 1 && w_.stride[1] == 1 && e_.across == e_.width; }
  /// Of the places of a block, counted from its first, those whose pixel lies in the image, but for the columns that a shift takes to a line beside.
  [[nodiscard]] Inside shifted(const Block& b, std::int64_t down, std::int64_t right) const {
    const std::int64_t by = down * e_.width + right;
    const std::int64_t begin = std::min(std::max({b.first, -down * e_.width, -by}) - b.first, b.count);
    const std::int64_t end = std::min({b.first + b.count, (e_.height - down) * e_.width, e_.pixels() - by}) - b.first;
    return {begin, std::max(begin, end)};
  }
  /// 0 in those columns: of 28 places with `right` 1 the last, with -1 the first.
  void clear_beside(float* row, const Block& b, std::int64_t right) const {
    const std::int64_t from = right > 0 ? e_.across - std::min(right, e_.across) : 0, count = std::min(right > 0 ? right : -right, e_.across);
    for (std::int64_t x = from; x < from + count; ++x)
      for (std::int64_t at = (x - b.first % e_.across + e_.across) % e_.across; at < b.count; at += e_.across) row[at] = 0;
  }
  void gather(const float* input, const Block& b) const {
    if (is_shift())
      return each_tap(b, [&](float* row, std::int64_t channel, std::int64_t down, std::int64_t right) {
        const Inside in = shifted(b, down, right);
        std::fill(row, row + in.begin, 0.0F);
        if (in.begin < in.end) EigenCompute::copy(row + in.begin, input + channel + b.first + in.begin + down * e_.width + right, in.end - in.begin);
        std::fill(row + in.end, row + b.count, 0.0F);
        clear_beside(row, b, right);
      });
    each_tap(b, [&](float* row, std::int64_t channel, std::int64_t down, std::int64_t right) {
      each_line(b, down, [&](std::int64_t at, std::int64_t count, std::int64_t y, std::int64_t x) {
        float* const to = row + at;
        const Inside in = y < 0 ? Inside{count, count} : inside(x, count, right);
        const std::int64_t from = channel + y * e_.width + right;  // a pixel beside the image, to which nothing may point, where none is inside
        std::fill(to, to + in.begin, 0.0F);
        if (w_.stride[1] == 1 && in.begin < in.end)
          EigenCompute::copy(to + in.begin, input + from + x + in.begin, in.end - in.begin);
        else
          for (std::int64_t i = in.begin; i < in.end; ++i) to[i] = input[from + (x + i) * w_.stride[1]];
        std::fill(to + in.end, to + count, 0.0F);
      });
    });
  }
  /// The image += its pixels in the patches.
  void scatter(float* image, const Block& b) const {
    if (is_shift())
      return each_tap(b, [&](float* row, std::int64_t channel, std::int64_t down, std::int64_t right) {
        const Inside in = shifted(b, down, right);
        clear_beside(row, b, right);
        if (in.begin >= in.end) return;
        float* const to = image + channel + b.first + in.begin + down * e_.width + right;
        EigenCompute::add(to, to, row + in.begin, in.end - in.begin);
      });
    each_tap(b, [&](const float* row, std::int64_t channel, std::int64_t down, std::int64_t right) {
      each_line(b, down, [&](std::int64_t at, std::int64_t count, std::int64_t y, std::int64_t x) {
        if (y < 0) return;
        const Inside in = inside(x, count, right);
        const std::int64_t to = channel + y * e_.width + right;
        if (w_.stride[1] == 1 && in.begin < in.end)
          EigenCompute::add(image + to + x + in.begin, image + to + x + in.begin, row + at + in.begin, in.end - in.begin);
        else
          for (std::int64_t i = in.begin; i < in.end; ++i) image[to + (x + i) * w_.stride[1]] += row[at + i];
      });
    });
  }
  [[nodiscard]] static float total(const float* from, std::int64_t count) {
    FloatBlock sum{};
    for (std::int64_t i = 0; i < count; i += block_elements) {
      FloatBlock more{};
      if (count - i >= block_elements)
        more.load(from + i, block_elements);
      else
        std::copy(from + i, from + count, more.values);
      for_lanes([&](int l) { sum.values[l] += more.values[l]; });
    }
    return sum_of_lanes(sum);
  }

  ConvolutionExtents e_;
  graph_room::SlidingWindow w_;
  std::int64_t samples_;
  void* workspace_;
  float* patches_;  // (depth, block)
  float* tile_;     // (outputs, block)
  bool has_bias_;
};

}  // namespace heddle::compute_room

namespace heddle {

/// Conv2d on EigenCompute or what derives from it; the code does not depend on channels.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/convolution_test
template <std::int64_t In, std::int64_t Out, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Conv2d<In, Out, Options...>, C> {
  using Convolution = compute_room::ConvolutionKernel<typename compute_room::ProductsOf<C>::type>;
  static constexpr bool backward_in_parts = true;
  static constexpr Bytes scratch(const graph_room::Leaf& leaf) { return compute_room::ConvolutionExtents::scratch(leaf); }
  static void forward(const seams_room::ForwardCall& call) {
    Convolution(*call.leaf, graph_room::Conv2d<In, Out, Options...>::windows, call.rows, call.workspace).forward(call);
  }
  static void backward(const seams_room::BackwardCall& call) {
    Convolution(*call.leaf, graph_room::Conv2d<In, Out, Options...>::windows, call.rows, call.workspace).backward(call);
  }
};

}  // namespace heddle
