// SPDX-License-Identifier: MIT
// Room: compute. cuDNN as the library of a queue: convolutions by its legacy interface, attention by its graphs.
// Sees: compute/cuda/cudnn_convolution, compute/cuda/cudnn_attention, compute/cuda/library.  Does not see: policies, programs.
// In: CudaLibraryOptions.  Out: Cudnn, make_cudnn.
#pragma once

#include <cudnn.h>

#include <memory>
#include <string>
#include <utility>

#include "heddle/compute/cuda/cudnn_attention.hpp"
#include "heddle/compute/cuda/cudnn_calls.hpp"
#include "heddle/compute/cuda/cudnn_convolution.hpp"
#include "heddle/compute/cuda/library.hpp"

namespace heddle::compute_room {

/// One handle of cuDNN, whose calls stand in the queue of a card. What it takes of a network with two Conv2d of one shape is one plan.
///
/// Errors  R36 if a call fails, R14 if the card has no room for a workspace
/// Source  sources.md#cudnn
/// Tested  compute/cuda/cudnn_test
class Cudnn final : public CudaLibrary {
 public:
  explicit Cudnn(const CudaLibraryOptions& how) : handle_(on(how.stream)), convolutions_(handle_.get(), how.tf32, how.usual_rows) {}

  [[nodiscard]] bool takes(const ConvolutionShape& shape) override {
    return convolutions_.takes(shape, [this](std::string said) { note(std::move(said)); });
  }
  [[nodiscard]] bool takes(const AttentionShape& shape) override {
    return attentions_.takes(handle_.get(), shape, [this](std::string said) { note(std::move(said)); });
  }
  void forward(const ConvolutionShape& shape, const ForwardCallIn<CudaMemory>& call) override { convolutions_.forward(shape, call); }
  void backward(const ConvolutionShape& shape, const BackwardCallIn<CudaMemory>& call) override { convolutions_.backward(shape, call); }
  void forward(const AttentionShape& shape, const AttentionTensors& at) override { attentions_.forward(handle_.get(), shape, at); }
  void backward(const AttentionShape& shape, const AttentionGradients& at) override { attentions_.backward(handle_.get(), shape, at); }

 private:
  [[nodiscard]] static CudnnHandle on(cudaStream_t stream) {
    CudnnHandle made;
    check_cudnn(cudnnCreate(made.slot()), "cudnnCreate");
    check_cudnn(cudnnSetStream(made.get(), stream), "cudnnSetStream");
    return made;
  }

  CudnnHandle handle_;
  CudnnConvolutions convolutions_;
  CudnnAttentions attentions_;
};

/// Errors  R36
[[nodiscard]] HEDDLE_COLD inline std::unique_ptr<CudaLibrary> make_cudnn(const CudaLibraryOptions& how) { return std::make_unique<Cudnn>(how); }

}  // namespace heddle::compute_room
