// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda.hpp"

#include <doctest/doctest.h>

#include <tuple>

#include "conformance/layers.hpp"

using namespace heddle;

TEST_CASE("every layer, loss and optimizer has a kernel for cards") {
  conformance::for_each_of<conformance::Layers>([]<class L> { CHECK(run_room::HasKernel<L, extending::CudaCompute>); });
  conformance::for_each_of<conformance::Losses>([]<class L> { CHECK(run_room::CheckedLoss<L, extending::CudaCompute>::found.ok()); });
  conformance::for_each_of<conformance::Optimizers>([]<class O> { CHECK(sizeof(run_room::OptimizerKernelFor<O, extending::CudaCompute>) > 0); });
}

TEST_CASE("a kernel that is written for the host is no kernel for cards") {
  struct Mine {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "Mine";
      leaf.in = leaf.out = in;
      return leaf;
    }
  };
  CHECK_FALSE(run_room::HasKernel<Mine, extending::CudaCompute>);
}
