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

TEST_CASE("a sum is that of the elements, also into one of its operands, and writes nothing else") {
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 31, 32, 33, 100}) {
    const Array a(n, 1);
    const Array b(n, 2);
    const Array apart(n, 0, arrays::nan);
    const Array into_a = a;
    const Array into_b = b;
    EigenCompute::add(apart.data(), a.data(), b.data(), n);
    EigenCompute::add(into_a.data(), into_a.data(), b.data(), n);
    EigenCompute::add(into_b.data(), a.data(), into_b.data(), n);
    for (std::int64_t i = 0; i < n; ++i) CHECK(apart[i] == a[i] + b[i]);
    CHECK(into_a.same_bits(apart));
    CHECK(into_b.same_bits(apart));
    CHECK(apart.guarded());
    CHECK(into_a.guarded());
  }
}

TEST_CASE("copy and zero touch n elements") {
  const Array a(40, 1);
  for (const std::int64_t n : {0, 1, 16, 33}) {
    const Array target(40, 2);
    const Array before = target;
    EigenCompute::copy(target.data(), a.data(), n);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(target[i] == (i < n ? a[i] : before[i]));
    EigenCompute::zero(target.data(), n);
    for (std::int64_t i = 0; i < 40; ++i) CHECK(target[i] == (i < n ? 0.0F : before[i]));
  }
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
