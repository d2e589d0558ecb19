// SPDX-License-Identifier: MIT
#include "heddle/run/kernel_of.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

/// A backend that names the kernels of layers itself.
struct Naming {
  static constexpr std::string_view kernel_name = "NamedKernel";
  template <class L> struct KernelOf {
    static constexpr bool backward_in_parts = true;
    static void forward(const ForwardCall&) {}
    static void backward(const BackwardCall&) {}
  };
};
/// One that has no kernel of anything.
struct Bare {};

}  // namespace

TEST_CASE("a kernel is what the backend names, or the specialisation for it") {
  using Layer = Linear<4, 3>;
  static_assert(std::is_same_v<KernelFor<Layer, Naming>, Naming::KernelOf<KernelLayerOf<Layer>::type>>);
  static_assert(std::is_same_v<KernelFor<Layer, EigenCompute>, Kernel<KernelLayerOf<Layer>::type, EigenCompute>>);
  CHECK((HasKernel<Layer, Naming> && HasKernel<Layer, EigenCompute> && !HasKernel<Layer, Bare>));
  CHECK((HasBackwardInParts<Layer, Naming> && !HasBackwardInParts<Layer, Bare>));
  CHECK(kernel_name<Naming>() == "NamedKernel");
  CHECK(kernel_name<Bare>() == "Kernel");
  CHECK(loss_kernel_name<Naming>() == "LossKernel");
}

TEST_CASE("what a kernel says of phases and of terms is read off it") {
  CHECK(forward_phases_of<Linear<4, 3>, EigenCompute>() == 1);
  CHECK(forward_phases_of<BatchNorm2d<3, Synchronised>, EigenCompute>() > 1);
  CHECK(backward_phases_of<BatchNorm2d<3, Synchronised>, EigenCompute>() > 1);
  CHECK((HasTerms<CrossEntropy, EigenCompute> && !HasTerms<MeanSquaredError, EigenCompute>));
  CHECK((RunsNoKernel<Input<4>> && !RunsNoKernel<ReLU>));
}
