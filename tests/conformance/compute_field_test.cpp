// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "compute/field/field.hpp"
#include "conformance/compute.hpp"
#include "conformance/layers.hpp"
#include "heddle/backend/field_threads.hpp"

using namespace heddle;

TEST_CASE("every layer in the field keeps to its tensors: what it overwrites, adds to, leaves out and reads is what a kernel with floats does") {
  const in_field::Drawn drawn{7};
  conformance::for_each_of<conformance::Layers>(
      []<class L> { CHECK(conformance::broken_law_of_layer<L, FieldCompute>(20, conformance::Asked::manners) == ""); });
}
