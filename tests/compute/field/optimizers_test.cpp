// SPDX-License-Identifier: MIT
#include "heddle/compute/field/optimizers.hpp"

#include <doctest/doctest.h>

#include "compute/field/field.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

using namespace in_field;

namespace {

struct Element {
  std::uint64_t parameter, gradient, first, second;
  friend bool operator==(const Element&, const Element&) = default;
};

Element adam(Element of, std::int64_t step = 1) {
  float p = Field::write(of.parameter), g = Field::write(of.gradient), s = Field::write(of.first), t = Field::write(of.second);
  float* states[] = {&s, &t};
  FieldOptimizer<Adam>::step(Adam::constants({}, step), 1, &p, &g, states);
  return {Field::read(p), Field::read(g), Field::read(s), Field::read(t)};
}

}  // namespace

TEST_CASE("parameter and states depend on all of them and on the constants of the step") {
  const Drawn drawn{4};
  const Element from{1, 2, 3, 4};
  const Element made = adam(from);
  CHECK(made == adam(from));
  CHECK(made.gradient == 2);
  CHECK((made.parameter != made.first && made.first != made.second));
  for (const Element& other : {Element{9, 2, 3, 4}, Element{1, 9, 3, 4}, Element{1, 2, 9, 4}, Element{1, 2, 3, 9}}) {
    const Element differs = adam(other);
    CHECK((differs.parameter != made.parameter && differs.first != made.first && differs.second != made.second));
  }
  CHECK(adam(from, 2).parameter != made.parameter);
}

TEST_CASE("zeros stay zeros, as padding does") {
  CHECK(adam({0, 0, 0, 0}) == Element{0, 0, 0, 0});
  CHECK_FALSE(adam({0, 0, 0, 1}).parameter == 0);
}

TEST_CASE("an optimizer without states has none to write") {
  const Drawn drawn{4};
  float p[] = {Field::write(3), Field::write(4)};
  const float g[] = {Field::write(5), Field::write(5)};
  FieldOptimizer<SGD>::step(SGD::constants({}, 1), 2, p, g, nullptr);
  CHECK(Field::read(p[0]) != 3);
  CHECK(Field::read(p[0]) != Field::read(p[1]));
}
