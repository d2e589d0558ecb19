// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/rescaling.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

TEST_CASE("every byte becomes the number of the table, and nothing else is written") {
  constexpr Leaf leaf = Rescaling<>::describe(Spec{Shape{8}});
  std::vector<std::uint8_t> bytes(256);
  for (std::size_t x = 0; x < bytes.size(); ++x) bytes[x] = static_cast<std::uint8_t>(255 - x);
  Array out(256, 0, arrays::nan);
  ForwardCall call{&leaf, 32, nullptr, out.data()};
  call.bytes = bytes.data();
  Kernel<Rescaling<>, EigenCompute>::forward(call);
  for (std::int64_t i = 0; i < 256; ++i) CHECK(out[i] == static_cast<float>((255 - static_cast<int>(i)) / 255.0));
  CHECK(out.guarded());
  call.rows = 0;
  call.bytes = nullptr;
  call.output = nullptr;
  Kernel<Rescaling<>, EigenCompute>::forward(call);
}

TEST_CASE("the backward has nothing to make") {
  constexpr Leaf leaf = Rescaling<>::describe(Spec{Shape{4}});
  const Array back(8, 3);
  const Array before = back;
  Kernel<Rescaling<>, EigenCompute>::backward({&leaf, 2, nullptr, nullptr, back.data()});
  CHECK(back.same_bits(before));
}
