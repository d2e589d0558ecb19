// SPDX-License-Identifier: MIT
#include "heddle/compute/field/norm.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace in_field;

namespace {

using Layer = LayerNorm<3>;

struct Run {
  std::vector<float> output, statistics, input_gradient, weight_gradient, bias_gradient;
};

/// Forward and backward of a leaf, which may be a part. `spoils` changes one statistic between them.
template <class L> Run run(const Leaf& leaf, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy, bool spoils = false) {
  const auto w = elements(3, 200), b = elements(3, 300);
  Run out{std::vector<float>(x.size()), std::vector<float>(static_cast<std::size_t>(rows * leaf.statistics_elements())), std::vector<float>(x.size()),
          std::vector<float>(3), std::vector<float>(3)};
  const float* parameters[] = {w.data(), b.data()};
  float* gradients[] = {out.weight_gradient.data(), out.bias_gradient.data()};
  FieldKernel<L>::forward({&leaf, rows, x.data(), out.output.data(), parameters, nullptr, 0, out.statistics.data()});
  if (spoils) out.statistics[1] = Field::write(Field::plus(Field::read(out.statistics[1]), 1));
  FieldKernel<L>::backward(
      {&leaf, rows, x.data(), nullptr, dy.data(), out.input_gradient.data(), parameters, gradients, false, nullptr, 0, out.statistics.data()});
  return out;
}

std::vector<float> part(const std::vector<float>& all, std::size_t from, std::size_t count) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from), all.begin() + static_cast<std::ptrdiff_t>(from + count)};
}

}  // namespace

TEST_CASE("vectors stand alone: two halves of a sequence are the whole, and their gradients of parameters are its terms") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{4, 3}});
  constexpr Leaf half = local_leaf(leaf, leaf.signatures[0], 2);
  const auto x = elements(12), dy = elements(12, 100);
  const Run whole = run<Layer>(leaf, 1, x, dy);
  const Run first = run<Layer>(half, 1, part(x, 0, 6), part(dy, 0, 6));
  const Run second = run<Layer>(half, 1, part(x, 6, 6), part(dy, 6, 6));
  CHECK(same(part(whole.output, 0, 6), first.output));
  CHECK(same(part(whole.output, 6, 6), second.output));
  CHECK(same(part(whole.statistics, 4, 4), second.statistics));
  CHECK(same(part(whole.input_gradient, 6, 6), second.input_gradient));
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(Field::read(whole.weight_gradient[j]) == Field::plus(Field::read(first.weight_gradient[j]), Field::read(second.weight_gradient[j])));
    CHECK(Field::read(whole.bias_gradient[j]) == Field::plus(Field::read(first.bias_gradient[j]), Field::read(second.bias_gradient[j])));
  }
}

TEST_CASE("all features of a vector are in each output, those of another in none") {
  constexpr Leaf leaf = RMSNorm<3>::describe(Spec{Shape{2, 3}});
  const auto dy = elements(6, 100);
  auto x = elements(6);
  const Run before = run<RMSNorm<3>>(leaf, 1, x, dy);
  x[5] = Field::write(77);
  const Run after = run<RMSNorm<3>>(leaf, 1, x, dy);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK((Field::read(before.output[i]) != Field::read(after.output[i])) == (i >= 3));
    CHECK((Field::read(before.input_gradient[i]) != Field::read(after.input_gradient[i])) == (i >= 3));
  }
}

TEST_CASE("the backward reads the statistics that were left: another one is another gradient of input and weight, not of the bias") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{3}});
  const auto x = elements(6), dy = elements(6, 100);
  const Run right = run<Layer>(leaf, 2, x, dy);
  const Run wrong = run<Layer>(leaf, 2, x, dy, true);
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(Field::read(right.input_gradient[j]) != Field::read(wrong.input_gradient[j]));
    CHECK(Field::read(right.input_gradient[3 + j]) == Field::read(wrong.input_gradient[3 + j]));
    CHECK(Field::read(right.weight_gradient[j]) != Field::read(wrong.weight_gradient[j]));
  }
  CHECK(same(right.bias_gradient, wrong.bias_gradient));
}

TEST_CASE("without statistics the output is the same, and gradients are added where they must be") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{3}});
  const auto x = elements(6), dy = elements(6, 100), w = elements(3, 200), b = elements(3, 300);
  const Run once = run<Layer>(leaf, 2, x, dy);
  std::vector<float> y(6), dw = once.weight_gradient, db = once.bias_gradient;
  const float* parameters[] = {w.data(), b.data()};
  float* gradients[] = {dw.data(), db.data()};
  FieldKernel<Layer>::forward({&leaf, 2, x.data(), y.data(), parameters});
  CHECK(same(y, once.output));
  FieldKernel<Layer>::backward({&leaf, 2, x.data(), nullptr, dy.data(), nullptr, nullptr, gradients, true, nullptr, 0, once.statistics.data()});
  for (std::size_t j = 0; j < 3; ++j) {
    CHECK(Field::read(dw[j]) == Field::plus(Field::read(once.weight_gradient[j]), Field::read(once.weight_gradient[j])));
    CHECK(Field::read(db[j]) == Field::plus(Field::read(once.bias_gradient[j]), Field::read(once.bias_gradient[j])));
  }
}
