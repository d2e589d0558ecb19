// SPDX-License-Identifier: MIT
#include "heddle/backend/cpu.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a layer is checked with the kernels of the CPU") { CHECK(gradcheck<GELU>().ok()); }
