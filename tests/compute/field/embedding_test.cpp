// SPDX-License-Identifier: MIT
#include "heddle/compute/field/embedding.hpp"

#include <doctest/doctest.h>

#include "compute/field/field.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace in_field;

namespace {

using Table = Embedding<6, 3>;
constexpr Leaf leaf = Table::describe(Spec{Shape{4}});
const std::vector<std::int32_t> ids{2, 5, 0, 2};

}  // namespace

TEST_CASE("rows are looked up, and gradients of an id that stands twice are added") {
  const auto w = elements(18), dy = elements(12, 100);
  std::vector<float> y(12), dw(18, Field::write(9));
  const float* parameters[] = {w.data()};
  float* gradients[] = {dw.data()};
  FieldKernel<Table>::forward({&leaf, 1, nullptr, y.data(), parameters, nullptr, 0, nullptr, ids.data()});
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j) CHECK(Field::read(y[i * 3 + j]) == Field::read(w[static_cast<std::size_t>(ids[i]) * 3 + j]));
  FieldKernel<Table>::backward({&leaf, 1, nullptr, nullptr, dy.data(), nullptr, parameters, gradients, false, nullptr, 0, nullptr, ids.data()});
  CHECK(Field::read(dw[6]) == Field::plus(Field::read(dy[0]), Field::read(dy[9])));
  CHECK(Field::read(dw[3]) == 0);
  FieldKernel<Table>::backward({&leaf, 1, nullptr, nullptr, dy.data(), nullptr, parameters, gradients, true, nullptr, 0, nullptr, ids.data()});
  CHECK(Field::read(dw[0]) == Field::times(2, Field::read(dy[6])));
}

TEST_CASE("the row of padding is looked up and has no gradient") {
  constexpr Leaf padded = Embedding<6, 3, PaddingIndex<2>>::describe(Spec{Shape{4}});
  const auto w = elements(18), dy = elements(12, 100);
  std::vector<float> y(12), dw(18);
  const float* parameters[] = {w.data()};
  float* gradients[] = {dw.data()};
  FieldKernel<Embedding<6, 3, PaddingIndex<2>>>::forward({&padded, 1, nullptr, y.data(), parameters, nullptr, 0, nullptr, ids.data()});
  CHECK(Field::read(y[0]) == Field::read(w[6]));
  FieldKernel<Embedding<6, 3, PaddingIndex<2>>>::backward(
      {&padded, 1, nullptr, nullptr, dy.data(), nullptr, parameters, gradients, false, nullptr, 0, nullptr, ids.data()});
  CHECK(Field::read(dw[6]) == 0);
  CHECK(Field::read(dw[15]) == Field::read(dy[3]));
}

TEST_CASE("parts of the vocabulary sum to the whole") {
  const auto w = elements(18);
  std::vector<float> whole(12), sum(12), y(12);
  const float* parameters[] = {w.data()};
  FieldKernel<Table>::forward({&leaf, 1, nullptr, whole.data(), parameters, nullptr, 0, nullptr, ids.data()});
  static_assert(leaf.signatures[0].output.partial());
  const Leaf part = local_leaf(leaf, leaf.signatures[0], 2);
  for (int p = 0; p < 2; ++p) {
    const float* own[] = {w.data() + 9 * p};
    FieldKernel<Table>::forward({&part, 1, nullptr, y.data(), own, nullptr, p, nullptr, ids.data()});
    FieldCompute::add(sum.data(), sum.data(), y.data(), 12);
  }
  CHECK(same(sum, whole));
}
