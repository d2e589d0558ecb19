// SPDX-License-Identifier: MIT
#include "heddle/compute/field/pool.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

using Largest = MaxPool2d<KernelSize<2>, Stride<1>>;
using Mean = AvgPool2d<KernelSize<2>, Stride<1>>;

struct Run {
  std::vector<float> output, input_gradient;
};
template <class L> Run run(const Shape& image, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy) {
  const Leaf leaf = L::describe(Spec{image});
  Run out{std::vector<float>(dy.size()), std::vector<float>(x.size())};
  FieldKernel<L>::forward({&leaf, rows, x.data(), out.output.data(), nullptr});
  FieldKernel<L>::backward({&leaf, rows, x.data(), nullptr, dy.data(), out.input_gradient.data(), nullptr});
  return out;
}
float twice(float of) { return FieldArithmetic::plus(of, of); }

}  // namespace

TEST_CASE("each channel has windows of its own: a part of the channels is the part of the whole") {
  const auto x = elements(3 * 6), dy = elements(3 * 2, 100);
  const auto check = [&]<class L>(const L*) {
    const Run whole = run<L>(Shape{3, 2, 3}, 1, x, dy);
    const Run part = run<L>(Shape{1, 2, 3}, 1, {x.begin() + 6, x.begin() + 12}, {dy[2], dy[3]});
    CHECK(same({whole.output[2], whole.output[3]}, part.output));
    CHECK(same({whole.input_gradient.begin() + 6, whole.input_gradient.begin() + 12}, part.input_gradient));
  };
  check(static_cast<const Largest*>(nullptr));
  check(static_cast<const Mean*>(nullptr));
}

TEST_CASE("a mean is the sum of its pixels by their number, and each has that part of the gradient") {
  const auto x = elements(6), dy = elements(2, 100);
  const Run made = run<Mean>(Shape{1, 2, 3}, 1, x, dy);
  const auto plus = [](float a, float b) { return FieldArithmetic::plus(a, b); };
  CHECK(same({twice(twice(made.output[0]))}, {plus(plus(x[0], x[1]), plus(x[3], x[4]))}));
  CHECK(same({twice(twice(made.input_gradient[1]))}, {plus(dy[0], dy[1])}));
  CHECK(same({twice(twice(made.input_gradient[5]))}, {dy[1]}));
}

TEST_CASE("an adaptive mean that divides the image evenly is that of windows side by side") {
  const auto x = elements(24), dy = elements(6, 100);
  const Run adaptive = run<AdaptiveAvgPool2d<2, 3>>(Shape{1, 4, 6}, 1, x, dy), fixed = run<AvgPool2d<KernelSize<2>>>(Shape{1, 4, 6}, 1, x, dy);
  CHECK(same(adaptive.output, fixed.output));
  CHECK(same(adaptive.input_gradient, fixed.input_gradient));
  const Run three = run<AdaptiveAvgPool2d<1, 3>>(Shape{1, 1, 5}, 1, {x.begin(), x.begin() + 5}, {dy[0], dy[1], dy[2]});
  CHECK(same({twice(three.output[0])}, {FieldArithmetic::plus(x[0], x[1])}));
  CHECK(same({twice(three.input_gradient[0]), twice(three.input_gradient[4])}, {dy[0], dy[2]}));
}

TEST_CASE("the largest depends on every pixel of its window, is not linear in them, and its gradient is linear in that of the output") {
  const auto x = elements(6), dy = elements(2, 100);
  const Run once = run<Largest>(Shape{1, 2, 3}, 1, x, dy);
  for (std::size_t i = 0; i < 6; ++i) {
    std::vector<float> other = x;
    other[i] = twice(other[i]);
    const Run changed = run<Largest>(Shape{1, 2, 3}, 1, other, dy);
    CHECK((Field::read(changed.output[0]) != Field::read(once.output[0])) == (i % 3 < 2));
    CHECK((Field::read(changed.output[1]) != Field::read(once.output[1])) == (i % 3 > 0));
    CHECK(!same(changed.input_gradient, once.input_gradient));
  }
  std::vector<float> doubled;
  for (const float v : x) doubled.push_back(twice(v));
  CHECK(Field::read(run<Largest>(Shape{1, 2, 3}, 1, doubled, dy).output[0]) != Field::read(twice(once.output[0])));
  const Run gradient = run<Largest>(Shape{1, 2, 3}, 1, x, {twice(dy[0]), twice(dy[1])});
  for (std::size_t i = 0; i < 6; ++i) CHECK(Field::read(gradient.input_gradient[i]) == Field::read(twice(once.input_gradient[i])));
  CHECK(Field::read(once.input_gradient[0]) != Field::read(once.input_gradient[3]));
}

TEST_CASE("degrees: a mean keeps that of its pixels, the largest is as good as drawn, and no rows are no windows") {
  const Drawn counted{1, FieldMode::degrees};
  CHECK(same(run<Mean>(Shape{1, 2, 3}, 1, variables(6), variables(2)).output, variables(2)));
  CHECK(same(run<Largest>(Shape{1, 2, 3}, 1, variables(6), variables(2)).output, variables(2)));
  (void)run<Mean>(Shape{1, 2, 3}, 0, {}, {});
}
