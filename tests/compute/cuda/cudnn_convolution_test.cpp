// SPDX-License-Identifier: MIT
// Conv2d by cuDNN, which the emulator stands for: against loops in double, against Eigen's kernel, and where cuDNN declines.
#include "heddle/compute/cuda/cudnn_convolution.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compute/convolutions.hpp"
#include "compute/cuda/cudnn_cases.hpp"
#include "conformance/compute.hpp"
#include "heddle/compute/cuda/convolution.hpp"
#include "heddle/compute/eigen/convolution.hpp"

using namespace heddle;
using arrays::Array;
using cudnn_cases::ByCuDNN;
using on_card::Card;

namespace {

/// What is told of each new shape by plans of one handle.
struct Told {
  cuda_emulator::tests::OneCard card;
  CudnnHandle handle;
  std::vector<std::string> notes;
  Told() {
    check_cudnn(cudnnCreate(handle.slot()), "cudnnCreate");
    check_cudnn(cudnnSetStream(handle.get(), card.stream()), "cudnnSetStream");
  }
  bool takes(CudnnConvolutions& all, const ConvolutionShape& shape) {
    return all.takes(shape, [this](std::string said) { notes.push_back(std::move(said)); });
  }
};
template <class L> ConvolutionShape shape_of(const Shape& in, std::int64_t rows, Bytes workspace = 64_MiB) {
  return ConvolutionShape::of(L::describe(Spec{in}), L::windows, rows, workspace);
}

}  // namespace

TEST_CASE("Conv2d by cuDNN, emulated, keeps the laws of every Compute: windows of one pixel, padded ones, and all options at once") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<Conv2d<2, 3, KernelSize<1>>, ByCuDNN<>>(20) == "");
  CHECK(conformance::broken_law_of_layer<Conv2d<2, 3, KernelSize<3>, Padding<1>>, ByCuDNN<>>(20) == "");
  using Options = Conv2d<4, 6, KernelSize<3, 2>, Stride<2>, Padding<1, 2>, Dilation<2, 1>, Groups<2>, NoBias>;
  CHECK(conformance::broken_law_of_layer<Options, ByCuDNN<>>(20) == "");
  CHECK(cuda_emulator::counts().convolutions > 100);
  CHECK(cuda_emulator::counts().products == 0);
}

TEST_CASE("convolutions by hand have the bits of all backends: a window is not turned, groups see their own channels, a dilated window is wide") {
  const Card card;
  convolutions::one_channel<ByCuDNN<>>();
  convolutions::groups_and_dilation<ByCuDNN<>>();
  CHECK(cuda_emulator::counts().convolutions > 0);
}

TEST_CASE("mathematics is that of float32, or rounds to TF32 where that is allowed") {
  const Card card;
  using L = Conv2d<3, 4, KernelSize<3>>;
  CHECK(conformance::broken_law_of_layer<L, ByCuDNN<true>>(3, conformance::Asked::all, conformance::precision_of_tf32) == "");
  CHECK(conformance::broken_law_of_layer<L, ByCuDNN<true>>(3) != "");
}

TEST_CASE("an algorithm is chosen once for all numbers of rows: one that is deterministic and fits; a shape that is known asks nothing") {
  const Card card;
  Told told;
  CudnnConvolutions all{told.handle.get(), false, 16};
  using L = Conv2d<2, 3, KernelSize<3>>;
  CHECK(told.takes(all, shape_of<L>(Shape{2, 9, 9}, 4, Bytes{4096})));
  const cuda_emulator::Counts first = cuda_emulator::counts();
  CHECK(first.heuristics == 3);
  CHECK(told.takes(all, shape_of<L>(Shape{2, 9, 9}, 7, Bytes{4096})));
  CHECK(cuda_emulator::counts().heuristics == 3);
  const long calls = cuda_emulator::calls();
  CHECK(told.takes(all, shape_of<L>(Shape{2, 9, 9}, 7, Bytes{4096})));
  CHECK(cuda_emulator::calls() == calls);
  CHECK_FALSE(told.takes(all, shape_of<L>(Shape{2, 9, 9}, 0)));
  REQUIRE(told.notes.size() == 2);
  CHECK(told.notes[0] ==
        "Conv2d of 4 rows of (2, 9, 9) to (3, 7, 7), windows of 3 x 3, is computed by cuDNN: algorithms 0, 2 and 2 of forward, input and weight.");
}

TEST_CASE("an algorithm that wants more workspace for other rows than there is does not take them") {
  const Card card;
  Told told;
  CudnnConvolutions all{told.handle.get(), false, 2};
  using L = Conv2d<2, 3, KernelSize<3>>;
  CHECK(told.takes(all, shape_of<L>(Shape{2, 9, 9}, 2, Bytes{200'000})));
  CHECK_FALSE(told.takes(all, shape_of<L>(Shape{2, 9, 9}, 3, Bytes{200'000})));
  REQUIRE(told.notes.size() == 2);
  CHECK(told.notes[0].find("algorithms 0, 3 and 3 of forward, input and weight.") != std::string::npos);
  CHECK(told.notes[1].find("the algorithm of cuDNN for the gradient of the input of the usual rows does not take 3 rows.") != std::string::npos);
}

TEST_CASE("what cuDNN does not take is said, and computed by kernels of Heddle") {
  const Card card{cuda_emulator::Options{.seed = 1, .algorithms = 1}};  // the first that is offered alone
  Told told;
  CudnnConvolutions all{told.handle.get(), false, 0};
  CHECK_FALSE(told.takes(all, shape_of<Conv2d<2, 3, KernelSize<3>>>(Shape{2, 9, 9}, 4)));
  CHECK_FALSE(told.takes(all, shape_of<Conv2d<1, 1, KernelSize<1>>>(Shape{1, 40'000, 60'000}, 1)));
  REQUIRE(told.notes.size() == 2);
  CHECK(
      told.notes[0] ==
      "Conv2d of 4 rows of (2, 9, 9) to (3, 7, 7), windows of 3 x 3, is computed by kernels of Heddle: cuDNN has no deterministic algorithm for the "
      "gradient of the input of 4 rows in 67,108,864 bytes of workspace.");
  CHECK(told.notes[1].find("cuDNN takes tensors of at most 2,147,483,647 elements.") != std::string::npos);
  CHECK(conformance::broken_law_of_layer<Conv2d<2, 3, KernelSize<3>>, ByCuDNN<>>(3) == "");
  CHECK(cuda_emulator::counts().convolutions == 0);
  CHECK(cuda_emulator::counts().products > 0);
}
