// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "conformance/compute.hpp"
#include "conformance/layers.hpp"
#include "heddle/backend/cpu.hpp"

using namespace heddle;

TEST_CASE("every layer computes with Eigen what loops in double compute, of any extents and rows, and keeps to its tensors") {
  conformance::for_each_of<conformance::Layers>([]<class L> { CHECK(conformance::broken_law_of_layer<L, EigenCompute>(60) == ""); });
}

TEST_CASE("every loss computes with Eigen what loops in double compute, whole and in parts") {
  conformance::for_each_of<conformance::Losses>([]<class Loss> { CHECK(conformance::broken_law_of_loss<Loss, EigenCompute>(150) == ""); });
}

TEST_CASE("every optimizer steps with Eigen as its description says, a shard as the whole") {
  conformance::for_each_of<conformance::Optimizers>([]<class O> { CHECK(conformance::broken_law_of_optimizer<O, EigenCompute>() == ""); });
}

TEST_CASE("sums, copies and zeros of Eigen touch their elements alone") { CHECK(conformance::broken_law_of_arrays<EigenCompute>() == ""); }
