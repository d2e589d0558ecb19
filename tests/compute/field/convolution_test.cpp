// SPDX-License-Identifier: MIT
#include "heddle/compute/field/convolution.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

struct Run {
  std::vector<float> output, input_gradient, weight, bias;
};
template <class L>
Run run(const Leaf& leaf, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy, const std::vector<float>& weight,
        const std::vector<float>& bias) {
  Run out{std::vector<float>(dy.size()), std::vector<float>(x.size()), std::vector<float>(weight.size()), std::vector<float>(bias.size())};
  const float* const parameters[] = {weight.data(), bias.data()};
  float* const gradients[] = {out.weight.data(), out.bias.data()};
  FieldKernel<L>::forward({&leaf, rows, x.data(), out.output.data(), parameters});
  FieldKernel<L>::backward({&leaf, rows, x.data(), nullptr, dy.data(), out.input_gradient.data(), parameters, gradients});
  return out;
}
float plus(float a, float b) { return FieldArithmetic::plus(a, b); }
float times(float a, float b) { return Field::write(Field::times(Field::read(a), Field::read(b))); }

}  // namespace

TEST_CASE("products and sums of a window are those of the numbers, modulo the prime") {
  using L = Conv2d<1, 1, KernelSize<1, 2>, Padding<0, 1>>;
  const auto x = elements(2), dy = elements(3, 50), weight = elements(2, 90), bias = elements(1, 70);
  const Run made = run<L>(L::describe(Spec{Shape{1, 1, 2}}), 1, x, dy, weight, bias);
  CHECK(same(made.output, {plus(times(x[0], weight[1]), bias[0]), plus(plus(times(x[0], weight[0]), times(x[1], weight[1])), bias[0]),
                           plus(times(x[1], weight[0]), bias[0])}));
  CHECK(same(made.input_gradient, {plus(times(dy[0], weight[1]), times(dy[1], weight[0])), plus(times(dy[1], weight[1]), times(dy[2], weight[0]))}));
  CHECK(same(made.weight, {plus(times(dy[1], x[0]), times(dy[2], x[1])), plus(times(dy[0], x[0]), times(dy[1], x[1]))}));
  CHECK(same(made.bias, {plus(plus(dy[0], dy[1]), dy[2])}));
}

TEST_CASE("parts of the channels of the input add up to the whole, those of the output are parts of it, and groups are convolutions of their own") {
  using L = Conv2d<2, 4, KernelSize<2>, Dilation<1, 2>>;
  const Leaf leaf = L::describe(Spec{Shape{2, 3, 4}});
  const auto x = elements(24), dy = elements(leaf.out.elements(), 100), weight = elements(32, 200), bias = elements(4, 300);
  const Run whole = run<L>(leaf, 1, x, dy, weight, bias);
  const Leaf half = local_leaf(leaf, leaf.signatures[1], 2);
  const auto channels = [&](int of) {
    std::vector<float> part;
    for (std::size_t o = 0; o < 4; ++o)
      for (std::size_t k = 0; k < 4; ++k) part.push_back(weight[o * 8 + static_cast<std::size_t>(of) * 4 + k]);
    return part;
  };
  const Run first = run<L>(half, 1, {x.begin(), x.begin() + 12}, dy, channels(0), bias);
  const Run second = run<L>(half, 1, {x.begin() + 12, x.end()}, dy, channels(1), std::vector<float>(4, 0.0F));
  for (std::size_t i = 0; i < dy.size(); ++i) CHECK(Field::read(plus(first.output[i], second.output[i])) == Field::read(whole.output[i]));
  CHECK(same({whole.input_gradient.begin() + 12, whole.input_gradient.end()}, second.input_gradient));
  using Grouped = Conv2d<2, 4, KernelSize<2>, Dilation<1, 2>, Groups<2>>;
  const std::vector<float> few{weight.begin(), weight.begin() + 16};
  const Run grouped = run<Grouped>(Grouped::describe(Spec{Shape{2, 3, 4}}), 1, x, dy, few, bias);
  using Alone = Conv2d<1, 2, KernelSize<2>, Dilation<1, 2>>;
  const std::size_t places = dy.size() / 4;
  const Run alone = run<Alone>(Alone::describe(Spec{Shape{1, 3, 4}}), 1, {x.begin() + 12, x.end()},
                               {dy.begin() + 2 * static_cast<long>(places), dy.end()}, {few.begin() + 8, few.end()}, {bias[2], bias[3]});
  CHECK(same({grouped.output.begin() + 2 * static_cast<long>(places), grouped.output.end()}, alone.output));
  CHECK(same({grouped.weight.begin() + 8, grouped.weight.end()}, alone.weight));
  CHECK(same({grouped.input_gradient.begin() + 12, grouped.input_gradient.end()}, alone.input_gradient));
}

TEST_CASE("degrees: a product has those of both, and no rows leave gradients of 0") {
  using L = Conv2d<1, 1, KernelSize<1>>;
  const Leaf leaf = L::describe(Spec{Shape{1, 1, 2}});
  {
    const Drawn counted{1, FieldMode::degrees};
    CHECK(same(run<L>(leaf, 1, variables(2), variables(2), variables(1), variables(1)).output, {Field::write(2), Field::write(2)}));
  }
  const Run none = run<L>(leaf, 0, {}, {}, elements(1), elements(1));
  CHECK(same(none.weight, {0.0F}));
  CHECK(same(none.bias, {0.0F}));
}
