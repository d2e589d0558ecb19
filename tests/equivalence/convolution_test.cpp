// SPDX-License-Identifier: MIT
// Convolutions: the bits of one device under every policy; of channels that ranks split nothing is gathered, and only a sum travels.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

struct Convnet : Sequential<Linear<23, 140>, Unflatten<2, 7, 10>, Conv2d<2, 12, KernelSize<3>, Padding<1>, NoBias>, BatchNorm2d<12>, ReLU,
                            MaxPool2d<KernelSize<2>>, Conv2d<12, 12, KernelSize<3, 2>, Padding<1>, Groups<6>>, GELU,
                            Conv2d<12, 8, KernelSize<2>, Stride<2>, Dilation<1, 2>, NoBias>, AdaptiveAvgPool2d<1>, Flatten, Linear<8, 10>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;

/// Channels of the output of the first convolution, groups of the second, channels of the input of the third: one sum of values forward.
template <class... Parts> using Split = Plan<Convnet, CrossEntropy, AdamW, Batch<8>, Parts...>;
constexpr auto moved = traffic<Split<TensorParallel<3>>>();
static_assert(moved.value_collectives(0, BodyOp::gather_value) == 0);
static_assert(moved.value_collectives(0, BodyOp::reduce_value) > 0);

}  // namespace

TEST_CASE("convolutions have the bits of one device under every policy, also where their ReLU runs again") {
  equivalence::check_every_policy<Of, Convnet>();
  equivalence::check_same_bits_as_data<Of<Convnet, Single, Recompute<ReLU, GELU>>, Of<Convnet, Single>>();
  equivalence::check_same_bits_as_data<Of<Convnet, DataParallel<2>, Mixed<BFloat16>>, Of<Convnet, Single, Mixed<BFloat16>>>();
}

TEST_CASE("split channels and split groups have the numbers of one device") {
  const auto check = []<class P>(const P*, double tolerance) {
    const auto data = equivalence::rows_of<P>(8);
    const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, tolerance);
    CHECK(found.text == "");
    CHECK(found.tensors > 4);
  };
  check(static_cast<const Split<TensorParallel<2>>*>(nullptr), 5e-5);
  check(static_cast<const Split<Hybrid<TensorParallel<3>, Sharded<2>>>*>(nullptr), 5e-5);
}
