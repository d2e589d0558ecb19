// SPDX-License-Identifier: MIT
// Room: compute. Conv2d on a card: the pixels of many windows side by side, of many samples, and products with them.
// Sees: graph/layers/convolution, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn, BackwardCallIn of CudaMemory.  Out: Kernel<Conv2d, CudaCompute>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/column_sums.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/compute/cuda/products.hpp"
#include "heddle/graph/layers/convolution.hpp"

namespace heddle::compute_room {

/// Run-time extents of one call, all from the leaf: where channels are split it is smaller. Of (4, 9, 9) through Conv2d<4, 6, KernelSize<3>,
/// Groups<2>> 3 outputs of a group see 2 channels, 18 pixels of a window, at 49 places; 36 rows of patches and 6 of outputs have room for 16,384
/// places, those of 334 samples.
struct ConvolutionSizes {
  std::int64_t channels, height, width, out, down, across, groups, depth;
  explicit constexpr ConvolutionSizes(const Leaf& leaf)
      : channels(leaf.in.shape.sizes[0]), height(leaf.in.shape.sizes[1]), width(leaf.in.shape.sizes[2]), out(leaf.out.shape.sizes[0]),
        down(leaf.out.shape.sizes[1]), across(leaf.out.shape.sizes[2]), groups(channels / leaf.parameters[0].shape.sizes[1]),
        depth(leaf.parameters[0].shape.elements() / out) {}

  [[nodiscard]] constexpr std::int64_t pixels() const { return height * width; }
  [[nodiscard]] constexpr std::int64_t places() const { return down * across; }
  /// Rows of patches, of all groups.
  [[nodiscard]] constexpr std::int64_t patch_rows() const { return groups * depth; }
  /// Places for which the scratch has room, a multiple of 64.
  [[nodiscard]] constexpr std::int64_t room() const {
    return std::clamp(usual_floats / (patch_rows() + out) / least_places * least_places, least_places, most_places);
  }
  /// Samples that are computed at once; 0 where one has more places than there is room for.
  [[nodiscard]] constexpr std::int64_t together() const { return room() / places(); }
  /// Of the whole leaf; that of a part of its channels is no larger.
  [[nodiscard]] static constexpr Bytes scratch(const Leaf& leaf) {
    const ConvolutionSizes e(leaf);
    const std::int64_t rows = e.patch_rows() + e.out;
    return std::min(most_places * rows, std::max(usual_floats, least_places * rows)) * Bytes{sizeof(float)} + column_sums_scratch(e.out);
  }

 private:
  static constexpr std::int64_t usual_floats = std::int64_t{16} << 20U;
  static constexpr std::int64_t least_places = 64, most_places = 16 * 1024;
};

/// What is computed at once: of `samples` samples from `sample` on the places `first` .. `first` + places - 1. The second and third of samples of 49
/// places are {1, 2, 0, 49}, and have 98 columns of patches.
struct PlacesOfSamples {
  std::int64_t sample, samples, first, places;
  [[nodiscard]] HEDDLE_HOST_DEVICE std::int64_t count() const { return samples * places; }
};

/// The extents as kernels read them, with divisors for that piece. Column t of patches and outputs is of place first + t % places of sample
/// sample + t / places; of the piece {1, 2, 0, 49} column 50 is of place 1 of sample 2.
struct ConvolutionPiece {
  std::int64_t channels, height, width, out, down, across, pitch;
  PlacesOfSamples piece;
  graph_room::SlidingWindow window;
  Divisor by_count, by_places, by_across, by_width, by_height, by_channels, by_stride[2];

  ConvolutionPiece(const ConvolutionSizes& e, const graph_room::SlidingWindow& w, const PlacesOfSamples& p)
      : channels(e.channels), height(e.height), width(e.width), out(e.out), down(e.down), across(e.across), pitch(e.room()), piece(p), window(w),
        by_count(p.count()), by_places(p.places), by_across(e.across), by_width(e.width), by_height(e.height),
        by_channels(e.channels), by_stride{Divisor{w.stride[0]}, Divisor{w.stride[1]}} {}

  /// Where the element (row of outputs, column) lies among outputs (samples, out, down x across).
  [[nodiscard]] HEDDLE_DEVICE std::int64_t output(std::int64_t row, std::int64_t column) const {
    const std::int64_t sample = by_places.quotient_of(column);
    return ((piece.sample + sample) * out + row) * down * across + piece.first + column - sample * piece.places;
  }
  /// The place of a window that has this pixel as its pixel number `tap`, along one dimension; -1 if there is none.
  [[nodiscard]] HEDDLE_DEVICE std::int64_t place_of(int dimension, std::int64_t pixel, std::int64_t tap, std::int64_t places) const {
    const std::int64_t first = pixel + window.padding[dimension] - tap * window.dilation[dimension];
    if (first < 0) return -1;
    const std::int64_t place = by_stride[dimension].quotient_of(first);
    return place < places && place * window.stride[dimension] == first ? place : -1;
  }
};

/// Row (c, ky, kx) of patches has pixel (ky, kx) of channel c of the window at each place, 0 for the padding. A thread has one channel of a place.
struct GatherPatches {
  static constexpr const char* name = "GatherPatches";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, ConvolutionPiece e, const float* images, float* patches) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= e.channels * e.piece.count()) return;
    const std::int64_t channel = e.by_count.quotient_of(i), column = i - channel * e.piece.count();
    const std::int64_t sample = e.by_places.quotient_of(column), place = e.piece.first + column - sample * e.piece.places;
    const std::int64_t y = e.by_across.quotient_of(place), x = place - y * e.across;
    const float* const image = images + ((e.piece.sample + sample) * e.channels + channel) * e.height * e.width;
    float* to = patches + channel * e.window.size[0] * e.window.size[1] * e.pitch + column;
    const std::int64_t top = y * e.window.stride[0] - e.window.padding[0], left = x * e.window.stride[1] - e.window.padding[1];
    for (std::int64_t a = 0; a < e.window.size[0]; ++a) {
      const std::int64_t row = top + a * e.window.dilation[0];
      for (std::int64_t k = 0; k < e.window.size[1]; ++k, to += e.pitch) {
        const std::int64_t at = left + k * e.window.dilation[1];
        *to = row >= 0 && row < e.height && at >= 0 && at < e.width ? image[row * e.width + at] : 0.0F;
      }
    }
  }
};

/// The outputs of a piece, from where products leave them, with the bias.
struct SpreadOutputs {
  static constexpr const char* name = "SpreadOutputs";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, ConvolutionPiece e, const float* tile, const float* bias, float* outputs) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= e.out * e.piece.count()) return;
    const std::int64_t row = e.by_count.quotient_of(i), column = i - row * e.piece.count();
    const float made = tile[row * e.pitch + column];
    outputs[e.output(row, column)] = bias != nullptr ? made + bias[row] : made;
  }
};
/// The gradients of the outputs of a piece, where products read them.
struct CollectOutputs {
  static constexpr const char* name = "CollectOutputs";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, ConvolutionPiece e, const float* outputs, float* tile) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= e.out * e.piece.count()) return;
    const std::int64_t row = e.by_count.quotient_of(i), column = i - row * e.piece.count();
    tile[row * e.pitch + column] = outputs[e.output(row, column)];
  }
};

/// images = or += what each pixel of the samples of a piece gets from patches: a thread gathers for one pixel, in the order of the window's pixels.
struct GatherPixels {
  static constexpr const char* name = "GatherPixels";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, ConvolutionPiece e, const float* patches, float* images, bool add) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread(), pixels = e.height * e.width;
    if (i >= e.piece.samples * e.channels * pixels) return;
    const std::int64_t line = e.by_width.quotient_of(i), x = i - line * e.width;
    const std::int64_t plane = e.by_height.quotient_of(line), y = line - plane * e.height;
    const std::int64_t sample = e.by_channels.quotient_of(plane), channel = plane - sample * e.channels;
    float* const to = images + e.piece.sample * e.channels * pixels + i;
    float sum = add ? *to : 0.0F;
    for (std::int64_t a = 0; a < e.window.size[0]; ++a) {
      const std::int64_t down = e.place_of(0, y, a, e.down);
      if (down < 0) continue;
      const float* const rows = patches + (channel * e.window.size[0] + a) * e.window.size[1] * e.pitch + sample * e.piece.places;
      for (std::int64_t k = 0; k < e.window.size[1]; ++k) {
        const std::int64_t right = e.place_of(1, x, k, e.across), place = down * e.across + right - e.piece.first;
        if (right >= 0 && place >= 0 && place < e.piece.places) sum += rows[k * e.pitch + place];
      }
    }
    *to = sum;
  }
};

/// Pieces of whole samples, or of a sample that is larger: patches (groups x depth, places), and a product of each group with the weights. The
/// scratch has them side by side, and the outputs of the piece.
///
/// Law     an output and the gradient of a pixel have the same bits among any number of samples, as CudaProducts says: pieces are cut alike in each
///         sample. Gradients of weights are sums over pieces in their order
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/convolution_test
class CudaConvolution {
 public:
  CudaConvolution(const Leaf& leaf, const graph_room::SlidingWindow& window, std::int64_t samples, void* workspace, const CudaQueue& queue)
      : e_(leaf), w_(window), samples_(samples), queue_(&queue), has_bias_(leaf.parameter_count == 2), patches_(static_cast<float*>(workspace)),
        tile_(patches_ + e_.patch_rows() * e_.room()), sums_(tile_ + e_.out * e_.room()) {}

  void forward(const ForwardCallIn<CudaMemory>& call) const {
    each_piece([&](const PlacesOfSamples& p) {
      const ConvolutionPiece piece(e_, w_, p);
      gather(piece, call.input);
      product(*queue_, of_places(p, e_.out / e_.groups, e_.depth, false), call.parameters[0], patches_, tile_);
      launch<SpreadOutputs>(queue_->stream, extents_of(e_.out * p.count()), piece, tile_, has_bias_ ? call.parameters[1] : nullptr, call.output);
    });
  }
  void backward(const BackwardCallIn<CudaMemory>& call) const {
    float* const* const gradients = call.parameter_gradients;
    if (gradients != nullptr && samples_ == 0 && !call.add) CudaCompute::zero(call.space, gradients[0], e_.out * e_.depth);
    if (gradients != nullptr && has_bias_)
      channel_sums(queue_->stream, samples_, e_.out, e_.places(), call.output_gradient, gradients[1], call.add, sums_);
    bool add = call.add;
    each_piece([&](const PlacesOfSamples& p) {
      const ConvolutionPiece piece(e_, w_, p);
      launch<CollectOutputs>(queue_->stream, extents_of(e_.out * p.count()), piece, call.output_gradient, tile_);
      if (gradients != nullptr) {
        gather(piece, call.input);
        product(*queue_, of_weights(p, add), tile_, patches_, gradients[0]);
        add = true;
      }
      if (call.input_gradient == nullptr) return;
      product(*queue_, of_places(p, e_.depth, e_.out / e_.groups, true), call.parameters[0], tile_, patches_);
      launch<GatherPixels>(queue_->stream, extents_of(p.samples * e_.channels * e_.pixels()), piece, patches_, call.input_gradient, p.first > 0);
    });
  }

 private:
  template <class Body> void each_piece(const Body& body) const {
    const std::int64_t together = e_.together(), places = e_.places(), room = e_.room();
    for (std::int64_t s = 0; s < samples_; s += std::max<std::int64_t>(together, 1))
      if (together > 0)
        body(PlacesOfSamples{s, std::min(together, samples_ - s), 0, places});
      else
        for (std::int64_t first = 0; first < places; first += room) body(PlacesOfSamples{s, 1, first, std::min(room, places - first)});
  }
  void gather(const ConvolutionPiece& piece, const float* images) const {
    launch<GatherPatches>(queue_->stream, extents_of(e_.channels * piece.piece.count()), piece, images, patches_);
  }
  /// (m, places) = weights (m, k), or the transposed, by (k, places), for each group.
  [[nodiscard]] ProductShape of_places(const PlacesOfSamples& p, std::int64_t m, std::int64_t k, bool transposed) const {
    const std::int64_t room = e_.room(), usual = e_.together() > 0 ? e_.together() * e_.places() : room;
    return {.m = m,
            .n = p.count(),
            .k = k,
            .a_transposed = transposed,
            .b_pitch = room,
            .c_pitch = room,
            .batch = e_.groups,
            .a_stride = m * k,
            .b_stride = k * room,
            .c_stride = m * room,
            .grows = GrowsIn::n,
            .rows = p.count(),
            .usual = usual};
  }
  /// (outputs of a group, depth) = gradients (outputs, places) by the transposed of patches (depth, places), for each group.
  [[nodiscard]] ProductShape of_weights(const PlacesOfSamples& p, bool add) const {
    const std::int64_t room = e_.room(), outputs = e_.out / e_.groups;
    return {.m = outputs,
            .n = e_.depth,
            .k = p.count(),
            .b_transposed = true,
            .add = add,
            .a_pitch = room,
            .b_pitch = room,
            .batch = e_.groups,
            .a_stride = outputs * room,
            .b_stride = e_.depth * room,
            .c_stride = outputs * e_.depth};
  }

  ConvolutionSizes e_;
  graph_room::SlidingWindow w_;
  std::int64_t samples_;
  const CudaQueue* queue_;
  bool has_bias_;
  float* patches_;  // (groups x depth, room)
  float* tile_;     // (out, room)
  float* sums_;     // of the gradient of the bias
};

}  // namespace heddle::compute_room

namespace heddle {

/// Conv2d on CudaCompute or what derives from it; the code does not depend on channels. A library of its queue comes first, where there is one.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/convolution_test
template <std::int64_t In, std::int64_t Out, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Conv2d<In, Out, Options...>, C> {
  using L = graph_room::Conv2d<In, Out, Options...>;
  static constexpr bool backward_in_parts = true;
  static constexpr Bytes scratch(const graph_room::Leaf& leaf) { return compute_room::ConvolutionSizes::scratch(leaf); }
  using Shape = compute_room::ConvolutionShape;
  static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    if (const Shape shape = shape_of(*call.leaf, call.rows); compute_room::taken_by_library(call.space, shape))
      return call.space.queue->library->forward(shape, call);
    compute_room::CudaConvolution(*call.leaf, L::windows, call.rows, call.workspace, *call.space.queue).forward(call);
  }
  static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (const Shape shape = shape_of(*call.leaf, call.rows); compute_room::taken_by_library(call.space, shape))
      return call.space.queue->library->backward(shape, call);
    compute_room::CudaConvolution(*call.leaf, L::windows, call.rows, call.workspace, *call.space.queue).backward(call);
  }
  /// Before the first step: a library chooses then how it computes so many rows.
  static void prepare(const graph_room::Leaf& leaf, std::int64_t rows, const compute_room::CudaMemory& space) {
    static_cast<void>(compute_room::taken_by_library(space, shape_of(leaf, rows)));
  }

 private:
  [[nodiscard]] static Shape shape_of(const graph_room::Leaf& leaf, std::int64_t rows) { return Shape::of(leaf, L::windows, rows, scratch(leaf)); }
};

}  // namespace heddle
