// SPDX-License-Identifier: MIT
// Room: compute. The little that kernels ask of a library which computes whole layers on a card, such as cuDNN. Without one nothing is asked.
// Sees: graph/layers/window, compute/cuda/cuda, seams/concepts, core.  Does not see: any library by name, policies, programs.
// In: extents of a layer, then pointers of a card.  Out: CudaLibrary, CudaLibraryOptions, MakeCudaLibrary, ConvolutionShape,
// AttentionShape, taken_by_library.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/graph/layers/window.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::compute_room {

/// The extents of a Conv2d of so many rows. 8 rows of (4, 9, 9) through Conv2d<4, 6, KernelSize<3>, Groups<2>> are {8, 4, 9, 9, 6, 7, 7, 2} and
/// windows of 3 x 3.
struct ConvolutionShape {
  std::int64_t rows = 0, channels = 0, height = 0, width = 0, out = 0, down = 0, across = 0, groups = 1;
  graph_room::SlidingWindow window{};
  bool bias = false;
  std::size_t workspace_bytes = 0;  ///< what a call brings

  [[nodiscard]] static ConvolutionShape of(const Leaf& leaf, const graph_room::SlidingWindow& window, std::int64_t rows, Bytes workspace) {
    const Shape &in = leaf.in.shape, &out = leaf.out.shape;
    return {rows,
            in.sizes[0],
            in.sizes[1],
            in.sizes[2],
            out.sizes[0],
            out.sizes[1],
            out.sizes[2],
            in.sizes[0] / leaf.parameters[0].shape.sizes[1],
            window,
            leaf.parameter_count == 2,
            static_cast<std::size_t>(workspace.value)};
  }
  friend constexpr bool operator==(const ConvolutionShape&, const ConvolutionShape&) = default;
};

/// The extents of a SelfAttention without dropped weights: 2 sequences of 5 positions, 4 heads of 8 features that share 2 of keys and values, are
/// {2, 5, 4, 2, 8}; a position has (4 + 2 + 2) 8 values of the input. The scale of scores is 1 / sqrt(8).
struct AttentionShape {
  std::int64_t sequences = 0, positions = 0, heads = 0, key_values = 0, features = 0;
  bool causal = false;
  friend constexpr bool operator==(const AttentionShape&, const AttentionShape&) = default;
};
/// Pointers of a forward in bfloat16: what lies in a row of the input is heads of queries, then of keys, then of values. Log-sums (sequences,
/// positions, heads) are of powers of e: of scores 0 and 0 it is log 2. They are null where nothing reads them later.
struct AttentionTensors {
  const BFloat16* input;
  BFloat16* output;
  float* log_sums;
};
/// The same of a backward, with what its forward had and left: of 5 positions and 64 values of the input input_gradient has 320.
struct AttentionGradients {
  const BFloat16* input;
  const BFloat16* output;
  const float* log_sums;
  const BFloat16* output_gradient;
  BFloat16* input_gradient;
};

/// A library with a handle for one queue. takes() chooses algorithms and describes tensors the first time that it is asked about a shape; a run of
/// what it takes creates nothing, allocates nothing and asks no heuristic, so a capture may hold it. What it does not take, kernels of our own
/// compute.
///
/// Errors  R36 if a call fails
/// Tested  compute/cuda/library_test, compute/cuda/cudnn_test
class CudaLibrary {
 public:
  CudaLibrary() = default;
  CudaLibrary(const CudaLibrary&) = delete;
  CudaLibrary& operator=(const CudaLibrary&) = delete;
  virtual ~CudaLibrary() = default;

  /// Whether it computes all of such a layer: forward and both gradients. Nothing is taken of 0 rows.
  [[nodiscard]] virtual bool takes(const ConvolutionShape& shape) = 0;
  [[nodiscard]] virtual bool takes(const AttentionShape& shape) = 0;

  // ---- of shapes that it takes
  virtual void forward(const ConvolutionShape& shape, const ForwardCallIn<CudaMemory>& call) = 0;
  virtual void backward(const ConvolutionShape& shape, const BackwardCallIn<CudaMemory>& call) = 0;
  virtual void forward(const AttentionShape& shape, const AttentionTensors& at) = 0;
  virtual void backward(const AttentionShape& shape, const AttentionGradients& at) = 0;

  /// A sentence for each shape that it was asked about: by what it is computed, or why not by the library.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 protected:
  void note(std::string sentence) { notes_.push_back(std::move(sentence)); }

 private:
  std::vector<std::string> notes_;
};

/// Of a card whose steps have 64 rows and whose products may round to TF32 {stream, true, 64}.
struct CudaLibraryOptions {
  cudaStream_t stream = nullptr;
  bool tf32 = false;
  std::int64_t usual_rows = 0;  ///< of the whole batch of a step, for which algorithms are chosen; 0: those of the first shape
};
using MakeCudaLibrary = std::unique_ptr<CudaLibrary> (*)(const CudaLibraryOptions&);

/// Whether the queue of a call has a library that computes such a layer.
template <class Shape> [[nodiscard]] bool taken_by_library(const CudaMemory& space, const Shape& shape) {
  return space.queue->library != nullptr && space.queue->library->takes(shape);
}

}  // namespace heddle::compute_room
