// SPDX-License-Identifier: MIT
// A library that takes what a test wants, in the place of cuDNN.
#include "heddle/compute/cuda/library.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "compute/cuda/on_card.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/compute/cuda/attention.hpp"
#include "heddle/compute/cuda/convolution.hpp"

using namespace heddle;
using namespace heddle::compute_room;

namespace {

/// Takes convolutions of at most 4 rows, and every attention; counts what it is asked and given.
class Counting final : public CudaLibrary {
 public:
  int asked = 0, forwards = 0, backwards = 0, attended = 0;
  ConvolutionShape last{};
  AttentionShape heads{};
  [[nodiscard]] bool takes(const ConvolutionShape& shape) override {
    ++asked;
    last = shape;
    return shape.rows <= 4;
  }
  [[nodiscard]] bool takes(const AttentionShape& shape) override {
    ++asked;
    heads = shape;
    return true;
  }
  void forward(const ConvolutionShape&, const ForwardCallIn<CudaMemory>&) override { ++forwards; }
  void backward(const ConvolutionShape&, const BackwardCallIn<CudaMemory>&) override { ++backwards; }
  void forward(const AttentionShape&, const AttentionTensors&) override { ++attended; }
  void backward(const AttentionShape&, const AttentionGradients&) override { ++attended; }
};

}  // namespace

TEST_CASE("a convolution goes to the library of its queue where that takes it, with the extents of its leaf") {
  const on_card::Card card;
  using L = Conv2d<4, 6, KernelSize<3>, Groups<2>>;
  const Leaf leaf = L::describe(Spec{Shape{4, 9, 9}});
  Counting library;
  const CudaQueue queue{nullptr, nullptr, nullptr, false, &library};
  ForwardCallIn<CudaMemory> forward{&leaf, 3};
  forward.space = {&queue};
  BackwardCallIn<CudaMemory> backward{&leaf, 3};
  backward.space = {&queue};
  Kernel<L, CudaCompute>::forward(forward);
  Kernel<L, CudaCompute>::backward(backward);
  CHECK(library.forwards == 1);
  CHECK(library.backwards == 1);
  const ConvolutionShape& s = library.last;
  CHECK(s == ConvolutionShape{3, 4, 9, 9, 6, 7, 7, 2, L::windows, true, static_cast<std::size_t>(ConvolutionSizes::scratch(leaf).value)});
  Kernel<L, CudaCompute>::prepare(leaf, 8, {&queue});
  CHECK(library.last.rows == 8);
  CHECK(library.asked == 3);
  const CudaQueue alone{};
  CHECK_FALSE(taken_by_library(CudaMemory{&alone}, s));
}

TEST_CASE("attention goes to it in bfloat16, and never where weights are dropped") {
  Counting library;
  const CudaQueue queue{nullptr, nullptr, nullptr, false, &library};
  const auto attend = [&]<class L, class Value>(L, Value, const Leaf& leaf, std::int64_t rows) {
    ForwardCallIn<CudaMemory> forward{&leaf, rows};
    forward.space = {&queue};
    Kernel<L, CudaCompute>::template prepare<Value>(leaf, rows, forward.space);
    if (rows > 0) Kernel<L, CudaCompute>::template forward<Value>(forward);
  };
  using Plain = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>;
  attend(Plain{}, BFloat16{}, Plain::describe(Spec{Shape{5, 64}}), 2);
  CHECK(library.attended == 1);
  CHECK(library.heads == AttentionShape{2, 5, 4, 2, 8, true});
  CHECK(library.asked == 2);
  attend(Plain{}, float{}, Plain::describe(Spec{Shape{5, 64}}), 0);
  using Drops = SelfAttention<Heads<4>, Dropout<1, 4>>;
  attend(Drops{}, BFloat16{}, Drops::describe(Spec{Shape{5, 96}}), 0);
  CHECK(library.asked == 2);
}
