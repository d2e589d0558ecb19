// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/swiglu.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

TEST_CASE("the bits of a gate and its value are the same in every place of a vector, also in its tail") {
  const Leaf leaf = SwiGLU::describe(Spec{Shape{74}});
  Array x{2 * 74, 1}, y{2 * 37, 0, arrays::nan}, dy{2 * 37, 2}, dx{2 * 74, 0, arrays::nan};
  Kernel<SwiGLU, EigenCompute>::forward({&leaf, 2, x.data(), y.data(), nullptr});
  Kernel<SwiGLU, EigenCompute>::backward({&leaf, 2, x.data(), nullptr, dy.data(), dx.data(), nullptr});
  const Leaf one = SwiGLU::describe(Spec{Shape{2}});
  for (std::int64_t v = 0; v < 2; ++v)
    for (std::int64_t i = 0; i < 37; ++i) {
      Array pair{2}, out{1}, back{2};
      pair[0] = x[v * 74 + i];
      pair[1] = x[v * 74 + 37 + i];
      Kernel<SwiGLU, EigenCompute>::forward({&one, 1, pair.data(), out.data(), nullptr});
      Kernel<SwiGLU, EigenCompute>::backward({&one, 1, pair.data(), nullptr, dy.data() + v * 37 + i, back.data(), nullptr});
      CHECK(out[0] == y[v * 37 + i]);
      CHECK((back[0] == dx[v * 74 + i] && back[1] == dx[v * 74 + 37 + i]));
    }
  CHECK((y.guarded() && dx.guarded()));
}

TEST_CASE("no rows are legal, and nothing is written where nobody needs the gradient of the input") {
  const Leaf leaf = SwiGLU::describe(Spec{Shape{6}});
  Array x{6, 1}, y{3, 0, arrays::nan}, dy{3, 2};
  Kernel<SwiGLU, EigenCompute>::forward({&leaf, 0, x.data(), y.data(), nullptr});
  CHECK(std::isnan(y[0]));
  Kernel<SwiGLU, EigenCompute>::backward({&leaf, 1, x.data(), nullptr, dy.data(), nullptr, nullptr});
}
