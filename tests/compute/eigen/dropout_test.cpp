// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/dropout.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

namespace {

using Tenth = Dropout<1, 10>;

/// Forward of ones: 1 / (1 - p) or 0.
template <class L> Array mask(const Leaf& leaf, std::int64_t rows, const CallContext& context) {
  const Array ones(rows * leaf.in.elements(), 0, 1);
  Array out(ones.elements(), 0, arrays::nan);
  Kernel<L, EigenCompute>::forward({&leaf, rows, ones.data(), out.data(), nullptr, nullptr, 0, nullptr, nullptr, context});
  CHECK(out.guarded());
  return out;
}
const CallContext here{Seed{7}, 3, 5};

}  // namespace

TEST_CASE("the mask is that of the words of each element, one by one") {
  constexpr Leaf leaf = Tenth::describe(Spec{Shape{3, 7}});
  CallContext context = here;
  context.first_row = 11;
  const Array out = mask<Tenth>(leaf, 4, context);
  for (std::int64_t i = 0; i < 84; ++i) {
    const bool kept = mask_bits(Seed{7}, (std::uint64_t{5} << 40) + 3, static_cast<std::uint64_t>(11 * 21 + i)) >= Tenth::threshold();
    CHECK(out[i] == (kept ? Tenth::scale() : 0.0F));
  }
}

TEST_CASE("as many elements are dropped as the probability says, and the mean stays") {
  constexpr Leaf leaf = Tenth::describe(Spec{Shape{1000}});
  const Array out = mask<Tenth>(leaf, 100, here);
  int dropped = 0;
  double sum = 0;
  for (std::int64_t i = 0; i < out.elements(); ++i) {
    dropped += out[i] == 0 ? 1 : 0;
    sum += static_cast<double>(out[i]);
  }
  // 100,000 draws of 1/10 have a deviation of sqrt(100,000 x 0.09) = 95; five of them are passed by chance once in two million.
  CHECK(std::abs(dropped - 10'000) < 475);
  CHECK(std::abs(sum / 100'000 - 1) < 475 / 90'000.0);
}

TEST_CASE("the backward draws the mask of the forward, in place too, and nothing where no gradient is needed") {
  constexpr Leaf leaf = Dropout<1, 2>::describe(Spec{Shape{13}});
  const Array kept = mask<Dropout<1, 2>>(leaf, 6, here);
  const Array dy(6 * 13, 3);
  Array dx(6 * 13, 0, arrays::nan);
  using K = Kernel<Dropout<1, 2>, EigenCompute>;
  K::backward({&leaf, 6, nullptr, nullptr, dy.data(), dx.data(), nullptr, nullptr, false, nullptr, 0, nullptr, nullptr, here});
  for (std::int64_t i = 0; i < 78; ++i) CHECK(dx[i] == (kept[i] == 0 ? 0.0F : dy[i] * 2));
  Array both = dy;
  K::backward({&leaf, 6, nullptr, nullptr, both.data(), both.data(), nullptr, nullptr, false, nullptr, 0, nullptr, nullptr, here});
  CHECK(both.same_bits(dx));
  K::backward({&leaf, 6, nullptr, nullptr, dy.data(), nullptr, nullptr, nullptr, false, nullptr, 0, nullptr, nullptr, here});
}

TEST_CASE("another seed, step or layer is another mask; an evaluation drops nothing, nor does a probability of 0") {
  constexpr Leaf leaf = Tenth::describe(Spec{Shape{50}});
  const Array one = mask<Tenth>(leaf, 8, here);
  CHECK(mask<Tenth>(leaf, 8, here).same_bits(one));
  CHECK_FALSE(mask<Tenth>(leaf, 8, {Seed{8}, 3, 5}).same_bits(one));
  CHECK_FALSE(mask<Tenth>(leaf, 8, {Seed{7}, 4, 5}).same_bits(one));
  CHECK_FALSE(mask<Tenth>(leaf, 8, {Seed{7}, 3, 6}).same_bits(one));
  const Array whole(8 * 50, 0, 1);
  CHECK(mask<Tenth>(leaf, 8, {Seed{7}, 3, 5, false}).same_bits(whole));
  CHECK(mask<Dropout<0>>(leaf, 8, here).same_bits(whole));
}

TEST_CASE("rows and parts that are drawn apart are those of the whole, along either dimension") {
  constexpr Leaf leaf = Tenth::describe(Spec{Shape{4, 6}});
  const Array whole = mask<Tenth>(leaf, 3, here);
  CallContext later = here;
  later.first_row = 2;
  const Array last = mask<Tenth>(leaf, 1, later);
  for (std::int64_t i = 0; i < 24; ++i) CHECK(last[i] == whole[48 + i]);
  for (int d = 0; d < 2; ++d)
    for (int part = 0; part < 2; ++part) {
      Leaf half = leaf;
      half.in.shape.sizes[d] /= 2;
      half.out = half.in;
      CallContext context = here;
      context.parts = 2;
      context.part = part;
      context.runs = d == 0 ? 1 : 4;
      const Array own = mask<Tenth>(half, 3, context);
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t i = 0; i < 12; ++i) {
          const std::int64_t there = d == 0 ? part * 12 + i : i / 3 * 6 + part * 3 + i % 3;
          CHECK(own[r * 12 + i] == whole[r * 24 + there]);
        }
    }
}

TEST_CASE("no rows are legal") { CHECK(mask<Tenth>(Tenth::describe(Spec{Shape{5}}), 0, here).elements() == 0); }
