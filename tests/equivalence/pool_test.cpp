// SPDX-License-Identifier: MIT
// Windows of images anywhere in a model: the bits of one device under every policy; of channels that ranks split nothing is gathered.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

struct Pooled : Sequential<Linear<23, 240>, Unflatten<6, 5, 8>, MaxPool2d<KernelSize<3, 2>, Stride<2>, Padding<1>>, SiLU,
                           AvgPool2d<KernelSize<2>, Stride<1>>, LeakyReLU<>, AdaptiveAvgPool2d<2, 3>, Flatten, Linear<36, 10>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;

template <class... Parts> using Split = Plan<Pooled, CrossEntropy, AdamW, Batch<8>, Parts...>;
static_assert(Split<TensorParallel<3>>::training.parameters[0].split == laid::shard(0));
constexpr auto moved = traffic<Split<TensorParallel<3>>>();
static_assert(moved.value_collectives(0, BodyOp::reduce_value) == 1 && moved.value_collectives(0, BodyOp::gather_value) == 0);
// The gradient of the input of a first layer is made for nobody, so only the forward sums.
static_assert(moved.total() == 2 * 2 * 8 * Bytes{10 * 4});

}  // namespace

TEST_CASE("windows have the bits of one device under every policy, also where they run again") {
  equivalence::check_every_policy<Of, Pooled>();
  using Again = Recompute<MaxPool2d<KernelSize<3, 2>, Stride<2>, Padding<1>>, SiLU, LeakyReLU<>>;
  equivalence::check_same_bits_as_data<Of<Pooled, Single, Again>, Of<Pooled, Single>>();
}

TEST_CASE("split channels have the numbers of one device, also with values of bfloat16") {
  const auto check = []<class P>(const P*, double tolerance) {
    const auto data = equivalence::rows_of<P>(8);
    const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, tolerance);
    CHECK(found.text == "");
    CHECK(found.tensors > 4);
  };
  check(static_cast<const Split<TensorParallel<2>>*>(nullptr), 2e-5);
  check(static_cast<const Split<Hybrid<TensorParallel<3>, Sharded<2>>>*>(nullptr), 2e-5);
  equivalence::check_same_bits_as_data<Split<DataParallel<2>, Mixed<BFloat16>>, Split<Single, Mixed<BFloat16>, Grain<4>>>();
}
