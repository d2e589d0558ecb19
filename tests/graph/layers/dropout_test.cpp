// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layer.hpp"
#include "heddle/graph/layers/dropout.hpp"

using namespace heddle;

TEST_CASE("Dropout is no layer, and says that this version has none") {
  static_assert(!Layer<Dropout<1>>);
  constexpr Diagnosis found = diagnose_layer<Dropout<1>>();
  static_assert(found.code == Code{'G', 5});
  CHECK(std::string{found.sentence().view()}.find("Dropout<1> is no layer: this version has none. Fix: leave it out;") != std::string::npos);
}
