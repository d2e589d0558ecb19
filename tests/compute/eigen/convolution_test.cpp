// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/convolution.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/convolutions.hpp"
#include "compute/eigen/arrays.hpp"
#include "heddle/compute/eigen/public_products.hpp"

using namespace heddle;
using arrays::Array;
using arrays::filled;
using compute_room::ConvolutionExtents;
using convolutions::Run;

TEST_CASE("convolutions by hand: a window is not turned, padding counts as zeros, groups see their own channels, a dilated window is wide") {
  convolutions::one_channel<EigenCompute>();
  convolutions::groups_and_dilation<EigenCompute>();
}

TEST_CASE("an image of more places than are computed at once is convolved in blocks, each sample as if it were alone") {
  using L = Conv2d<3, 5, KernelSize<3>, Padding<1>>;
  const Spec in{Shape{3, 70, 61}};
  const Leaf leaf = L::describe(in);
  const ConvolutionExtents e{leaf};
  REQUIRE(e.block() < e.places());
  const std::int64_t rows = 2;
  const Array x{rows * in.elements(), 1}, dy{rows * leaf.out.elements(), 2}, weight{5 * 27, 3}, bias{5, 4};
  const Run<L> run{in, rows, x, dy, weight, bias};
  for (std::int64_t r = 0; r < rows; ++r) {
    Array one{in.elements()}, gradient{leaf.out.elements()};
    for (std::int64_t i = 0; i < one.elements(); ++i) one[i] = x[r * one.elements() + i];
    for (std::int64_t i = 0; i < gradient.elements(); ++i) gradient[i] = dy[r * gradient.elements() + i];
    const Run<L> alone{in, 1, one, gradient, weight, bias};
    int other = 0;
    for (std::int64_t i = 0; i < gradient.elements(); ++i) other += alone.output[i] != run.output[r * gradient.elements() + i] ? 1 : 0;
    for (std::int64_t i = 0; i < one.elements(); ++i) other += alone.input_gradient[i] != run.input_gradient[r * one.elements() + i] ? 1 : 0;
    CHECK(other == 0);
  }
  // one output, and one gradient of a weight, by loops
  const std::int64_t o = 4, y = 69, column = 13;
  double sum = static_cast<double>(bias[o]), magnitudes = std::abs(sum);
  double slope = 0, slopes = 0;
  for (std::int64_t c = 0; c < 3; ++c)
    for (std::int64_t a = 0; a < 3; ++a)
      for (std::int64_t b = 0; b < 3; ++b) {
        if (y + a - 1 >= 70) continue;
        const double term = static_cast<double>(x[in.elements() + (c * 70 + y + a - 1) * 61 + column + b - 1]) *
                            static_cast<double>(weight[(o * 3 + c) * 9 + a * 3 + b]);
        sum += term;
        magnitudes += std::abs(term);
      }
  CHECK(std::abs(static_cast<double>(run.output[leaf.out.elements() + (o * 70 + y) * 61 + column]) - sum) <= arrays::dot_bound(28, magnitudes));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 1; i < 70; ++i)
      for (std::int64_t j = 0; j < 60; ++j) {  // weight (o, 2, 0, 2): the pixel above to the right
        const double term = static_cast<double>(dy[r * leaf.out.elements() + (o * 70 + i) * 61 + j]) *
                            static_cast<double>(x[r * in.elements() + (2 * 70 + i - 1) * 61 + j + 1]);
        slope += term;
        slopes += std::abs(term);
      }
  CHECK(std::abs(static_cast<double>(run.weight_gradient[(o * 3 + 2) * 9 + 2]) - slope) <= arrays::dot_bound(2 * 70 * 61, slopes));
}

TEST_CASE("a window of very many products has the places of two registers at least, and scratch that is stated") {
  using L = Conv2d<512, 600, KernelSize<3>>;
  const Leaf leaf = L::describe(Spec{Shape{512, 9, 9}});
  CHECK(ConvolutionExtents{leaf}.block() == 32);
  CHECK(Kernel<L, EigenCompute>::scratch(leaf) == Bytes{4 * 32 * (512 * 9 + 600)});
  const Leaf part = local_leaf(leaf, leaf.signatures[0], 3);
  CHECK(Kernel<L, EigenCompute>::scratch(part) <= Kernel<L, EigenCompute>::scratch(leaf));
  CHECK(Bytes{4 * (ConvolutionExtents{part}.depth + ConvolutionExtents{part}.outputs) * ConvolutionExtents{part}.block()} <=
        Kernel<L, EigenCompute>::scratch(leaf));
}

TEST_CASE("of no rows the gradients of parameters are 0, or stay; a first layer makes no gradient of its input") {
  using L = Conv2d<1, 2, KernelSize<2>>;
  const Array weight{8, 1}, bias{2, 2}, none{1, 3};
  const Run<L> empty{Spec{Shape{1, 3, 3}}, 0, none, none, weight, bias};
  for (std::int64_t i = 0; i < 8; ++i) CHECK(empty.weight_gradient[i] == 0);
  CHECK(empty.bias_gradient[1] == 0);
  CHECK(std::isnan(empty.output[0]));
  const Run<L> kept{Spec{Shape{1, 3, 3}}, 0, none, none, weight, bias, true};
  CHECK(kept.weight_gradient[7] == 3);
  const Leaf leaf = L::describe(Spec{Shape{1, 3, 3}});
  Array x{9, 1}, dy{8, 2}, gradient{8}, of_bias{2}, workspace{(EigenCompute::workspace + Kernel<L, EigenCompute>::scratch(leaf)).value / 4};
  const float* const parameters[] = {weight.data(), bias.data()};
  float* const gradients[] = {gradient.data(), of_bias.data()};
  Kernel<L, EigenCompute>::backward({&leaf, 1, x.data(), nullptr, dy.data(), nullptr, parameters, gradients, false, workspace.data()});
  CHECK(gradient[0] != 0);
  // the part that makes the gradient of the input alone reads no input
  Kernel<L, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, dy.data(), x.data(), parameters, nullptr, false, workspace.data()});
}

namespace {

/// Outputs and gradients of a convolution whose lines of places are as long as those of pixels, by loops over every place and pixel of a window.
template <class L> void check_by_loops(const Spec& in) {
  const Leaf leaf = L::describe(in);
  CAPTURE(leaf.spelled.view());
  CAPTURE(in.shape);
  REQUIRE(leaf.fault.ok());
  const std::int64_t rows = 2, channels = in.shape.sizes[0], height = in.shape.sizes[1], width = in.shape.sizes[2];
  const std::int64_t outputs = leaf.out.shape.sizes[0], down = leaf.out.shape.sizes[1], across = leaf.out.shape.sizes[2];
  REQUIRE(across == width);
  const Array x{rows * in.elements(), 1}, dy{rows * leaf.out.elements(), 2}, weight{leaf.parameters[0].shape.elements(), 3}, bias{outputs, 4};
  const Run<L> run{in, rows, x, dy, weight, bias};
  std::vector<double> y, dx(static_cast<std::size_t>(x.elements())), dw(static_cast<std::size_t>(weight.elements()));
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < outputs; ++o)
      for (std::int64_t i = 0; i < down; ++i)
        for (std::int64_t j = 0; j < across; ++j) {
          const double slope = static_cast<double>(dy[((r * outputs + o) * down + i) * across + j]);
          double sum = static_cast<double>(bias[o]);
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t a = 0; a < L::windows.size[0]; ++a)
              for (std::int64_t b = 0; b < L::windows.size[1]; ++b) {
                const std::int64_t py = i + a * L::windows.dilation[0] - L::windows.padding[0];
                const std::int64_t px = j + b * L::windows.dilation[1] - L::windows.padding[1];
                if (py < 0 || py >= height || px < 0 || px >= width) continue;
                const std::int64_t pixel = ((r * channels + c) * height + py) * width + px;
                const std::int64_t at = ((o * channels + c) * L::windows.size[0] + a) * L::windows.size[1] + b;
                sum += static_cast<double>(x[pixel]) * static_cast<double>(weight[at]);
                dx[static_cast<std::size_t>(pixel)] += slope * static_cast<double>(weight[at]);
                dw[static_cast<std::size_t>(at)] += slope * static_cast<double>(x[pixel]);
              }
          y.push_back(sum);
        }
  const auto near = [&](const Array& is, const std::vector<double>& wanted) {
    double far = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (!(std::abs(static_cast<double>(is[static_cast<std::int64_t>(i)]) - wanted[i]) <= far))
        far = std::abs(static_cast<double>(is[static_cast<std::int64_t>(i)]) - wanted[i]);
    return far;
  };
  // Up to 200 products of numbers below 2, each rounded to 2^-24 of a sum below 100.
  CHECK(near(run.output, y) < 1e-3);
  CHECK(near(run.input_gradient, dx) < 1e-3);
  CHECK(near(run.weight_gradient, dw) < 1e-3);
}

}  // namespace

TEST_CASE("windows that shift by one pixel agree with loops, whatever lies beside the image and however narrow it is") {
  for (const Shape& shape : {Shape{2, 1, 1}, Shape{2, 1, 3}, Shape{2, 3, 1}, Shape{2, 2, 2}, Shape{2, 5, 4}}) {
    check_by_loops<Conv2d<2, 3, KernelSize<3>, Padding<1>>>(Spec{shape});
    check_by_loops<Conv2d<2, 3, KernelSize<5>, Padding<2>>>(Spec{shape});
    check_by_loops<Conv2d<2, 3, KernelSize<3>, Padding<2>, Dilation<2>>>(Spec{shape});
    check_by_loops<Conv2d<2, 3, KernelSize<1, 3>, Padding<0, 1>>>(Spec{shape});
    check_by_loops<Conv2d<2, 3, KernelSize<1, 7>, Padding<3, 3>>>(Spec{shape});
    check_by_loops<Conv2d<2, 3, KernelSize<1>>>(Spec{shape});
  }
  check_by_loops<Conv2d<2, 3, KernelSize<3, 1>>>(Spec{Shape{2, 4, 3}});
}
