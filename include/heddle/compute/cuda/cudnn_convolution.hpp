// SPDX-License-Identifier: MIT
// Room: compute. Conv2d by cuDNN: descriptors of a shape, algorithms that are chosen once, and the calls of a step.
// Sees: compute/cuda/library, compute/cuda/cudnn_calls.  Does not see: policies, programs.
// In: ConvolutionShape, then pointers of a card.  Out: CudnnConvolutions.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cudnn_calls.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/core/grouped_digits.hpp"

namespace heddle::compute_room {

/// What cuDNN is told of a convolution of so many rows; windows apart for each direction, since the type of mathematics is a part of them.
struct CudnnConvolution {
  CudnnTensor x, y, bias;
  CudnnFilter weight;
  CudnnWindows forward, data, filter;
};

/// The three directions of a convolution, as cuDNN names them: what it offers, and the workspace of an algorithm.
struct CudnnForward {
  using Algorithm = cudnnConvolutionFwdAlgo_t;
  using Offer = cudnnConvolutionFwdAlgoPerf_t;
  static constexpr const char* name = "the forward";
  static cudnnStatus_t offers(cudnnHandle_t handle, const CudnnConvolution& c, int wanted, int* found, Offer* all) {
    return cudnnGetConvolutionForwardAlgorithm_v7(handle, c.x.get(), c.weight.get(), c.forward.get(), c.y.get(), wanted, found, all);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const CudnnConvolution& c, Algorithm algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionForwardWorkspaceSize(handle, c.x.get(), c.weight.get(), c.forward.get(), c.y.get(), algorithm, bytes);
  }
};
/// The same of the gradient of the input.
struct CudnnData {
  using Algorithm = cudnnConvolutionBwdDataAlgo_t;
  using Offer = cudnnConvolutionBwdDataAlgoPerf_t;
  static constexpr const char* name = "the gradient of the input";
  static cudnnStatus_t offers(cudnnHandle_t handle, const CudnnConvolution& c, int wanted, int* found, Offer* all) {
    return cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, c.weight.get(), c.y.get(), c.data.get(), c.x.get(), wanted, found, all);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const CudnnConvolution& c, Algorithm algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardDataWorkspaceSize(handle, c.weight.get(), c.y.get(), c.data.get(), c.x.get(), algorithm, bytes);
  }
};
/// The same of the gradient of the weight.
struct CudnnWeights {
  using Algorithm = cudnnConvolutionBwdFilterAlgo_t;
  using Offer = cudnnConvolutionBwdFilterAlgoPerf_t;
  static constexpr const char* name = "the gradient of the weight";
  static cudnnStatus_t offers(cudnnHandle_t handle, const CudnnConvolution& c, int wanted, int* found, Offer* all) {
    return cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, c.x.get(), c.y.get(), c.filter.get(), c.weight.get(), wanted, found, all);
  }
  static cudnnStatus_t workspace(cudnnHandle_t handle, const CudnnConvolution& c, Algorithm algorithm, std::size_t* bytes) {
    return cudnnGetConvolutionBackwardFilterWorkspaceSize(handle, c.x.get(), c.y.get(), c.filter.get(), c.weight.get(), algorithm, bytes);
  }
};

/// Convolutions of one handle. An algorithm is chosen once for all numbers of rows, for the usual ones: the first one offered that is deterministic,
/// has the mathematics that is allowed and fits into the workspace of the call. What has been asked for stays known, with its descriptors: a net of 4
/// convolutions in steps of 64 and of 10 rows has 8 plans and 4 choices of 3 algorithms.
///
/// Law     a program has the same bits again; those of a row may depend on the rows beside it
/// Errors  R36
/// Tested  compute/cuda/cudnn_convolution_test
class CudnnConvolutions {
 public:
  CudnnConvolutions(cudnnHandle_t handle, bool tf32, std::int64_t usual_rows) : handle_(handle), tf32_(tf32), usual_rows_(usual_rows) {}

  /// Whether it computes the shape; what is new is told by note(sentence).
  template <class Note> [[nodiscard]] bool takes(const ConvolutionShape& shape, const Note& note) {
    if (shape.rows == 0) return false;
    if (const Plan* const known = find(shape)) return known->why_not.empty();
    Plan made{shape, made_of(shape)};
    note(words(shape) + (made.why_not.empty() ? " is computed by cuDNN: algorithms " + numbers_of(made.chosen) + " of forward, input and weight."
                                              : " is computed by kernels of Heddle: " + made.why_not + "."));
    plans_.push_back(std::make_unique<Plan>(std::move(made)));
    return plans_.back()->why_not.empty();
  }

  void forward(const ConvolutionShape& shape, const ForwardCallIn<CudaMemory>& call) const {
    const Plan& p = *find(shape);
    const CudnnConvolution& c = p.described;
    check_cudnn(cudnnConvolutionForward(handle_, &one, c.x.get(), call.input, c.weight.get(), call.parameters[0], c.forward.get(), p.chosen.forward,
                                        call.workspace, shape.workspace_bytes, &none, c.y.get(), call.output),
                "cudnnConvolutionForward");
    if (shape.bias) check_cudnn(cudnnAddTensor(handle_, &one, c.bias.get(), call.parameters[1], &one, c.y.get(), call.output), "cudnnAddTensor");
  }
  void backward(const ConvolutionShape& shape, const BackwardCallIn<CudaMemory>& call) const {
    const Plan& p = *find(shape);
    const CudnnConvolution& c = p.described;
    const float* const kept = call.add ? &one : &none;
    if (call.parameter_gradients != nullptr) {
      check_cudnn(
          cudnnConvolutionBackwardFilter(handle_, &one, c.x.get(), call.input, c.y.get(), call.output_gradient, c.filter.get(), p.chosen.weight,
                                         call.workspace, shape.workspace_bytes, kept, c.weight.get(), call.parameter_gradients[0]),
          "cudnnConvolutionBackwardFilter");
      if (shape.bias)
        check_cudnn(cudnnConvolutionBackwardBias(handle_, &one, c.y.get(), call.output_gradient, kept, c.bias.get(), call.parameter_gradients[1]),
                    "cudnnConvolutionBackwardBias");
    }
    if (call.input_gradient != nullptr)
      check_cudnn(cudnnConvolutionBackwardData(handle_, &one, c.weight.get(), call.parameters[0], c.y.get(), call.output_gradient, c.data.get(),
                                               p.chosen.data, call.workspace, shape.workspace_bytes, &none, c.x.get(), call.input_gradient),
                  "cudnnConvolutionBackwardData");
  }

 private:
  static constexpr float one = 1, none = 0;
  /// Algorithms of the three directions: {1, 1, 1} are those of implicit products with indices that are made before, where cuDNN has them.
  struct Chosen {
    cudnnConvolutionFwdAlgo_t forward{};
    cudnnConvolutionBwdDataAlgo_t data{};
    cudnnConvolutionBwdFilterAlgo_t weight{};
    cudnnMathType_t mathematics[3]{};
  };
  /// What is known of one shape; where `why_not` says something, nothing else.
  struct Made {
    CudnnConvolution described;
    Chosen chosen;
    std::string why_not;
  };
  /// What is known of one shape, with the shape: of 8 rows and of 7 there are two.
  struct Plan : Made {
    ConvolutionShape shape;
    Plan(const ConvolutionShape& of, Made made) : Made(std::move(made)), shape(of) {}
  };
  /// Algorithms of all numbers of rows.
  struct Shared {
    ConvolutionShape shape;
    Chosen chosen;
    std::string why_not;
  };

  [[nodiscard]] const Plan* find(const ConvolutionShape& shape) const {
    const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& plan) { return plan->shape == shape; });
    return known == plans_.end() ? nullptr : known->get();
  }
  [[nodiscard]] Made made_of(const ConvolutionShape& shape) {
    Made made;
    const Shared& shared = shared_of(shape);
    made.chosen = shared.chosen;
    made.why_not = !shared.why_not.empty() ? shared.why_not : describe(shape, made.described);
    if (!made.why_not.empty()) return made;
    set_mathematics(made.described, made.chosen);
    for (std::string why :
         {lacks<CudnnForward>(shape, made.described, made.chosen.forward), lacks<CudnnData>(shape, made.described, made.chosen.data),
          lacks<CudnnWeights>(shape, made.described, made.chosen.weight)})
      if (made.why_not.empty()) made.why_not = std::move(why);
    return made;
  }
  const Shared& shared_of(const ConvolutionShape& shape) {
    ConvolutionShape usual = shape;
    usual.rows = usual_rows_;
    const auto known = std::find_if(shared_.begin(), shared_.end(), [&](const auto& of) {
      usual.rows = of->shape.rows;
      return of->shape == usual;
    });
    if (known != shared_.end()) return **known;
    usual.rows = usual_rows_ != 0 ? usual_rows_ : shape.rows;
    CudnnConvolution like;
    Shared made{usual, {}, describe(usual, like)};
    if (made.why_not.empty()) made.why_not = choose<CudnnForward>(usual, like, made.chosen.forward, made.chosen.mathematics[0]);
    if (made.why_not.empty()) made.why_not = choose<CudnnData>(usual, like, made.chosen.data, made.chosen.mathematics[1]);
    if (made.why_not.empty()) made.why_not = choose<CudnnWeights>(usual, like, made.chosen.weight, made.chosen.mathematics[2]);
    return *shared_.emplace_back(std::make_unique<Shared>(std::move(made)));
  }
  /// The first deterministic algorithm that is offered for these extents; else why there is none.
  template <class Way>
  [[nodiscard]] std::string choose(const ConvolutionShape& shape, const CudnnConvolution& c, typename Way::Algorithm& chosen,
                                   cudnnMathType_t& mathematics) const {
    constexpr int wanted = 8;
    typename Way::Offer offers[wanted] = {};
    int found = 0;
    if (!accepted_by_cudnn(Way::offers(handle_, c, wanted, &found, offers), "cudnnGetConvolution...Algorithm_v7")) found = 0;
    for (int i = 0; i < found; ++i) {
      if (offers[i].status != CUDNN_STATUS_SUCCESS || offers[i].determinism != CUDNN_DETERMINISTIC) continue;
      if (offers[i].memory > shape.workspace_bytes || (!tf32_ && offers[i].mathType != CUDNN_FMA_MATH)) continue;
      chosen = offers[i].algo;
      mathematics = offers[i].mathType;
      return "";
    }
    return std::string{"cuDNN has no deterministic algorithm for "} + Way::name + " of " + grouped_digits(shape.rows) + " rows in " +
           grouped_digits(static_cast<std::int64_t>(shape.workspace_bytes)) + " bytes of workspace";
  }
  /// Why an algorithm that was chosen for other rows does not compute these.
  template <class Way>
  [[nodiscard]] std::string lacks(const ConvolutionShape& shape, const CudnnConvolution& c, typename Way::Algorithm algorithm) const {
    std::size_t bytes = 0;
    const bool takes = accepted_by_cudnn(Way::workspace(handle_, c, algorithm, &bytes), "cudnnGetConvolution...WorkspaceSize");
    if (takes && bytes <= shape.workspace_bytes) return "";
    return std::string{"the algorithm of cuDNN for "} + Way::name + " of the usual rows does not take " + grouped_digits(shape.rows) + " rows";
  }
  /// Descriptors of a shape; else why cuDNN has none for it.
  [[nodiscard]] std::string describe(const ConvolutionShape& s, CudnnConvolution& c) const {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    if (s.rows * s.channels * s.height * s.width > most || s.rows * s.out * s.down * s.across > most)
      return "cuDNN takes tensors of at most 2,147,483,647 elements";
    const auto tensor = [](CudnnTensor& made, std::int64_t n, std::int64_t channels, std::int64_t h, std::int64_t w) {
      check_cudnn(cudnnCreateTensorDescriptor(made.slot()), "cudnnCreateTensorDescriptor");
      return accepted_by_cudnn(cudnnSetTensor4dDescriptor(made.get(), CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, static_cast<int>(n),
                                                          static_cast<int>(channels), static_cast<int>(h), static_cast<int>(w)),
                               "cudnnSetTensor4dDescriptor");
    };
    check_cudnn(cudnnCreateFilterDescriptor(c.weight.slot()), "cudnnCreateFilterDescriptor");
    const bool described = tensor(c.x, s.rows, s.channels, s.height, s.width) && tensor(c.y, s.rows, s.out, s.down, s.across) &&
                           tensor(c.bias, 1, s.out, 1, 1) &&
                           accepted_by_cudnn(cudnnSetFilter4dDescriptor(c.weight.get(), CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, static_cast<int>(s.out),
                                                                        static_cast<int>(s.channels / s.groups), static_cast<int>(s.window.size[0]),
                                                                        static_cast<int>(s.window.size[1])),
                                             "cudnnSetFilter4dDescriptor");
    return described && windows(s, c.forward) && windows(s, c.data) && windows(s, c.filter) ? "" : "cuDNN has no description of it";
  }
  [[nodiscard]] bool windows(const ConvolutionShape& s, CudnnWindows& made) const {
    const graph_room::SlidingWindow& w = s.window;
    const auto number = [](std::int64_t n) { return static_cast<int>(n); };
    check_cudnn(cudnnCreateConvolutionDescriptor(made.slot()), "cudnnCreateConvolutionDescriptor");
    if (!accepted_by_cudnn(
            cudnnSetConvolution2dDescriptor(made.get(), number(w.padding[0]), number(w.padding[1]), number(w.stride[0]), number(w.stride[1]),
                                            number(w.dilation[0]), number(w.dilation[1]), CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
            "cudnnSetConvolution2dDescriptor"))
      return false;
    check_cudnn(cudnnSetConvolutionMathType(made.get(), tf32_ ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH), "cudnnSetConvolutionMathType");
    return accepted_by_cudnn(cudnnSetConvolutionGroupCount(made.get(), number(s.groups)), "cudnnSetConvolutionGroupCount");
  }
  static void set_mathematics(const CudnnConvolution& c, const Chosen& chosen) {
    const CudnnWindows* const each[] = {&c.forward, &c.data, &c.filter};
    for (int way = 0; way < 3; ++way)
      check_cudnn(cudnnSetConvolutionMathType(each[way]->get(), chosen.mathematics[way]), "cudnnSetConvolutionMathType");
  }
  [[nodiscard]] static std::string numbers_of(const Chosen& chosen) {
    return std::to_string(chosen.forward) + ", " + std::to_string(chosen.data) + " and " + std::to_string(chosen.weight);
  }
  [[nodiscard]] static std::string words(const ConvolutionShape& s) {
    const auto shape = [](std::int64_t a, std::int64_t b, std::int64_t c) {
      return "(" + std::to_string(a) + ", " + std::to_string(b) + ", " + std::to_string(c) + ")";
    };
    return "Conv2d of " + grouped_digits(s.rows) + " rows of " + shape(s.channels, s.height, s.width) + " to " + shape(s.out, s.down, s.across) +
           ", windows of " + std::to_string(s.window.size[0]) + " x " + std::to_string(s.window.size[1]) +
           (s.groups > 1 ? ", " + std::to_string(s.groups) + " groups," : ",");
  }

  cudnnHandle_t handle_;
  bool tf32_;
  std::int64_t usual_rows_;
  std::vector<std::unique_ptr<Plan>> plans_;
  std::vector<std::unique_ptr<Shared>> shared_;
};

}  // namespace heddle::compute_room
