// SPDX-License-Identifier: MIT
#include "heddle/compute/field/softmax.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

struct Run {
  std::vector<float> output, input_gradient;
};
template <class L> Run run(std::int64_t vectors, const std::vector<float>& x, const std::vector<float>& dy) {
  const Leaf leaf = L::describe(Spec{Shape{vectors, 3}});
  Run out{std::vector<float>(x.size()), std::vector<float>(x.size())};
  FieldKernel<L>::forward({&leaf, 1, x.data(), out.output.data(), nullptr});
  FieldKernel<L>::backward({&leaf, 1, nullptr, out.output.data(), dy.data(), out.input_gradient.data(), nullptr});
  return out;
}

}  // namespace

TEST_CASE("vectors stand alone: each output and gradient is of all features of its vector, and of no other") {
  auto x = elements(6);
  const auto dy = elements(6, 100);
  const Run before = run<Softmax>(2, x, dy);
  const Run first = run<Softmax>(1, {x[0], x[1], x[2]}, {dy[0], dy[1], dy[2]});
  CHECK(same({before.output[0], before.output[1], before.output[2]}, first.output));
  CHECK(same({before.input_gradient[0], before.input_gradient[1], before.input_gradient[2]}, first.input_gradient));
  x[5] = Field::write(77);
  const Run after = run<Softmax>(2, x, dy);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK((Field::read(before.output[i]) != Field::read(after.output[i])) == (i >= 3));
    CHECK((Field::read(before.input_gradient[i]) != Field::read(after.input_gradient[i])) == (i >= 3));
  }
}

TEST_CASE("it is linear in the gradient, and both layers are functions of their own") {
  const auto x = elements(3), dy = elements(3, 100);
  std::vector<float> doubled;
  for (const float g : dy) doubled.push_back(FieldArithmetic::plus(g, g));
  const Run once = run<LogSoftmax>(1, x, dy), twice = run<LogSoftmax>(1, x, doubled), other = run<Softmax>(1, x, dy);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(Field::read(twice.input_gradient[i]) == Field::read(FieldArithmetic::plus(once.input_gradient[i], once.input_gradient[i])));
    CHECK(Field::read(once.output[i]) != Field::read(other.output[i]));
  }
}
