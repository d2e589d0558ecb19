// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/softmax.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

template <class L> std::vector<float> of(const std::vector<float>& x) {
  const Leaf leaf = L::describe(Spec{Shape{static_cast<std::int64_t>(x.size())}});
  std::vector<float> y(x.size());
  Kernel<L, EigenCompute>::forward({&leaf, 1, x.data(), y.data(), nullptr});
  return y;
}

}  // namespace

TEST_CASE("large elements do not overflow, and what is masked out by -infinity has no share") {
  CHECK(of<Softmax>({1000, 1000}) == std::vector<float>{0.5, 0.5});
  CHECK(of<Softmax>({-1000, -1000, -infinity, -1000, -1000}) == std::vector<float>{0.25, 0.25, 0, 0.25, 0.25});
  const std::vector<float> logs = of<LogSoftmax>({5, -infinity, 5});
  CHECK(logs[0] == -std::log(2.0F));
  CHECK(logs[1] == -infinity);
}

TEST_CASE("a vector with NaN, and one of -infinity alone, is NaN throughout, as PyTorch's; the next one is not") {
  const Leaf leaf = Softmax::describe(Spec{Shape{3, 2}});
  const float nan = std::nanf("");
  const float x[] = {1, nan, -infinity, -infinity, 2, 2};
  float y[6];
  Kernel<Softmax, EigenCompute>::forward({&leaf, 1, x, y, nullptr});
  for (int i = 0; i < 4; ++i) CHECK(std::isnan(y[i]));
  CHECK((y[4] == 0.5F && y[5] == 0.5F));
}

TEST_CASE("the bits of a vector are the same in every position, and the gradient may lie where the output's does") {
  const auto tried = []<class L>(const L*) {
    const Leaf many = L::describe(Spec{Shape{5, 19}}), one = L::describe(Spec{Shape{19}});
    Array x{95, 1}, y{95, 0, arrays::nan}, dy{95, 2}, dx{95, 0, arrays::nan};
    Kernel<L, EigenCompute>::forward({&many, 1, x.data(), y.data(), nullptr});
    Kernel<L, EigenCompute>::backward({&many, 1, nullptr, y.data(), dy.data(), dx.data(), nullptr});
    for (std::int64_t v = 0; v < 5; ++v) {
      Array own{19, 0, arrays::nan};
      Kernel<L, EigenCompute>::forward({&one, 1, x.data() + 19 * v, own.data(), nullptr});
      for (int j = 0; j < 19; ++j) CHECK(own[j] == y[19 * v + j]);
    }
    CHECK((y.guarded() && dx.guarded()));
    Kernel<L, EigenCompute>::backward({&many, 1, nullptr, y.data(), dy.data(), dy.data(), nullptr});
    CHECK(dy.same_bits(dx));
    Kernel<L, EigenCompute>::backward({&many, 1, nullptr, y.data(), dy.data(), nullptr, nullptr});  // nobody needs it
  };
  tried(static_cast<const Softmax*>(nullptr));
  tried(static_cast<const LogSoftmax*>(nullptr));
}
