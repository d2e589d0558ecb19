// SPDX-License-Identifier: MIT
#include "heddle/compute/field/positions.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace in_field;

TEST_CASE("rows of the table are added, and have the sums of gradients; rows of no position have 0") {
  using L = LearnedPositions<3, 2>;
  const Leaf leaf = L::describe(Spec{Shape{2, 2}});
  const auto x = elements(8), table = elements(6, 50), dy = elements(8, 90);
  std::vector<float> y(8), dx(8), dt(6);
  const float* const parameters[] = {table.data()};
  float* const gradients[] = {dt.data()};
  FieldKernel<L>::forward({&leaf, 2, x.data(), y.data(), parameters});
  FieldKernel<L>::backward({&leaf, 2, nullptr, nullptr, dy.data(), dx.data(), parameters, gradients});
  for (std::size_t i = 0; i < 8; ++i) CHECK(Field::read(y[i]) == Field::read(FieldArithmetic::plus(x[i], table[i % 4])));
  CHECK(same(dx, dy));
  for (std::size_t i = 0; i < 6; ++i) CHECK(Field::read(dt[i]) == (i < 4 ? Field::read(FieldArithmetic::plus(dy[i], dy[i + 4])) : 0));
}

TEST_CASE("heads are turned alike and by themselves, values are not, position 0 is not, and a gradient is turned back") {
  using L = Rotary<4, Heads<2>>;
  const Leaf leaf = L::describe(Spec{Shape{2, 24}});
  const auto x = elements(48);
  std::vector<float> y(48), back(48);
  FieldKernel<L>::forward({&leaf, 1, x.data(), y.data(), nullptr});
  CHECK(same({y.begin(), y.begin() + 24}, {x.begin(), x.begin() + 24}));
  CHECK(same({y.begin() + 40, y.end()}, {x.begin() + 40, x.end()}));
  for (std::size_t i = 24; i < 40; ++i) CHECK(Field::read(y[i]) != Field::read(x[i]));
  const Leaf half = local_leaf(leaf, leaf.signatures[0], 2);
  std::vector<float> part, part_out(24);
  for (const std::size_t position : {0U, 24U})
    for (const std::size_t section : {0U, 8U, 16U})
      for (std::size_t i = 4; i < 8; ++i) part.push_back(x[position + section + i]);  // head 1
  FieldKernel<L>::forward({&half, 1, part.data(), part_out.data(), nullptr});
  CHECK(same({part_out.begin() + 12, part_out.begin() + 16}, {y.begin() + 28, y.begin() + 32}));
  CHECK(same({part_out.begin() + 16, part_out.begin() + 20}, {y.begin() + 36, y.begin() + 40}));
  // <turned x, z> = <x, z turned back>, for any z
  const auto z = elements(48, 500);
  FieldKernel<L>::backward({&leaf, 1, nullptr, nullptr, z.data(), back.data(), nullptr});
  FieldSum there, here;
  for (std::size_t i = 0; i < 48; ++i) {
    there.add(Field::read(y[i]), Field::read(z[i]));
    here.add(Field::read(x[i]), Field::read(back[i]));
  }
  CHECK(Field::read(there.element()) == Field::read(here.element()));
}
