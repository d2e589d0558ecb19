// SPDX-License-Identifier: MIT
#include "heddle/compute/field/swiglu.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

struct Run {
  std::vector<float> output, input_gradient;
};
Run run(std::int64_t features, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy) {
  const Leaf leaf = SwiGLU::describe(Spec{Shape{features}});
  Run out{std::vector<float>(dy.size()), std::vector<float>(x.size())};
  FieldKernel<SwiGLU>::forward({&leaf, rows, x.data(), out.output.data(), nullptr});
  FieldKernel<SwiGLU>::backward({&leaf, rows, x.data(), nullptr, dy.data(), out.input_gradient.data(), nullptr});
  return out;
}

}  // namespace

TEST_CASE("each gate has its own value: a part of both halves is the part of the whole") {
  const auto x = elements(16), dy = elements(8, 100);
  const Run whole = run(8, 2, x, dy);
  const Run part = run(4, 2, {x[2], x[3], x[6], x[7], x[10], x[11], x[14], x[15]}, {dy[2], dy[3], dy[6], dy[7]});
  CHECK(same({whole.output[2], whole.output[3], whole.output[6], whole.output[7]}, part.output));
  const std::vector<float>& dx = whole.input_gradient;
  CHECK(same({dx[2], dx[3], dx[6], dx[7], dx[10], dx[11], dx[14], dx[15]}, part.input_gradient));
}

TEST_CASE("it is linear in the value and in the gradient, and not in the gate") {
  const std::vector<float> x = elements(4), dy = elements(2, 100);
  const Run once = run(4, 1, x, dy);
  const auto twice = [](float of) { return FieldArithmetic::plus(of, of); };
  const Run value = run(4, 1, {x[0], x[1], twice(x[2]), x[3]}, dy);
  CHECK(Field::read(value.output[0]) == Field::read(twice(once.output[0])));
  CHECK(Field::read(value.input_gradient[0]) == Field::read(twice(once.input_gradient[0])));
  CHECK(same({value.output[1], value.input_gradient[2]}, {once.output[1], once.input_gradient[2]}));
  const Run gate = run(4, 1, {twice(x[0]), x[1], x[2], x[3]}, dy);
  CHECK(Field::read(gate.output[0]) != Field::read(twice(once.output[0])));
  const Run gradient = run(4, 1, x, {twice(dy[0]), dy[1]});
  CHECK(same({gradient.input_gradient[0], gradient.input_gradient[2]}, {twice(once.input_gradient[0]), twice(once.input_gradient[2])}));
}
