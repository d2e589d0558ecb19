// SPDX-License-Identifier: MIT
#include "heddle/backend/cpu.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {
struct AnyPairing {
  using Compute = EigenCompute;
};
}  // namespace

TEST_CASE("kernels of a pairing take a fixed scratch beside the arena") {
  static_assert(external_memory<AnyPairing> == EigenCompute::workspace);
  CHECK(external_memory<AnyPairing>.value % 64 == 0);
}

TEST_CASE("a layer is checked with the kernels of the CPU") { CHECK(gradcheck<GELU>().ok()); }
