// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/eigen.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

TEST_CASE("EigenCompute is a Compute with a workspace of a few hundred KiB") {
  static_assert(Compute<EigenCompute>);
  CHECK(EigenCompute::workspace <= 1_MiB);
  CHECK(EigenCompute::workspace.value % 64 == 0);
}

TEST_CASE("a short block repeats its first element and stores no more than it was given") {
  const Array a(20, 1);
  FloatBlock block;
  block.load(a.data(), 3);
  for (int i = 0; i < block_elements; ++i) CHECK(block.values[i] == a[i < 3 ? i : 0]);
  const Array target(20, 0, 7);
  block.store(target.data(), 3);
  for (int i = 0; i < 20; ++i) CHECK(target[i] == (i < 3 ? a[i] : 7.0F));
  block.load(a.data(), 20);
  block.store(target.data(), 20);
  for (int i = 0; i < 20; ++i) CHECK(target[i] == (i < block_elements ? a[i] : 7.0F));
}
