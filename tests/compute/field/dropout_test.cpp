// SPDX-License-Identifier: MIT
#include "heddle/compute/field/dropout.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

using Half = Dropout<1, 2>;

std::vector<float> forward(const Leaf& leaf, std::int64_t rows, const std::vector<float>& x, const CallContext& context) {
  std::vector<float> y(x.size());
  FieldKernel<Half>::forward({&leaf, rows, x.data(), y.data(), nullptr, nullptr, 0, nullptr, nullptr, context});
  return y;
}
const CallContext here{Seed{7}, 3, 5};

}  // namespace

TEST_CASE("an element is twice itself or 0, by the words of the mask") {
  constexpr Leaf leaf = Half::describe(Spec{Shape{6}});
  const auto x = elements(24);
  const auto y = forward(leaf, 4, x, here);
  int dropped = 0;
  for (std::size_t i = 0; i < 24; ++i) {
    const bool kept = mask_bits(Seed{7}, here.stream(), i) >= Half::threshold();
    dropped += kept ? 0 : 1;
    CHECK(Field::read(y[i]) == (kept ? Field::plus(Field::read(x[i]), Field::read(x[i])) : 0));
  }
  CHECK((dropped > 3 && dropped < 21));
}

TEST_CASE("the backward has the mask of the forward, an evaluation none, and a part that of its place in the whole") {
  constexpr Leaf leaf = Half::describe(Spec{Shape{6}});
  const auto x = elements(24);
  const auto whole = forward(leaf, 4, x, here);
  std::vector<float> dx(24);
  FieldKernel<Half>::backward({&leaf, 4, nullptr, nullptr, x.data(), dx.data(), nullptr, nullptr, false, nullptr, 0, nullptr, nullptr, here});
  CHECK(same(dx, whole));
  CHECK(same(forward(leaf, 4, x, {Seed{7}, 3, 5, false}), x));
  CHECK_FALSE(same(forward(leaf, 4, x, {Seed{7}, 4, 5}), whole));
  constexpr Leaf part = Half::describe(Spec{Shape{3}});
  CallContext second = here;
  second.parts = 2;
  second.part = 1;
  std::vector<float> own;
  for (std::size_t i = 0; i < 24; ++i)
    if (i % 6 >= 3) own.push_back(x[i]);
  const auto half = forward(part, 4, own, second);
  for (std::size_t r = 0; r < 4; ++r)
    for (std::size_t i = 0; i < 3; ++i) CHECK(Field::read(half[r * 3 + i]) == Field::read(whole[r * 6 + 3 + i]));
}
