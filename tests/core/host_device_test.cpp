// SPDX-License-Identifier: MIT
#include "heddle/core/host_device.hpp"

#include <doctest/doctest.h>

namespace {

HEDDLE_HOST_DEVICE constexpr float twice(float x) { return x + x; }

struct Relu {
  HEDDLE_HOST_DEVICE static float forward(float x) { return x > 0 ? x : 0; }
};

}  // namespace

static_assert(twice(2.0F) == 4.0F);  // the macro takes nothing away from a constant expression

TEST_CASE("a marked function runs on the host") {
  CHECK(twice(1.5F) == 3.0F);
  CHECK(Relu::forward(-1.0F) == 0.0F);
  CHECK(Relu::forward(2.0F) == 2.0F);
}
