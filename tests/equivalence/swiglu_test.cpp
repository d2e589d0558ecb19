// SPDX-License-Identifier: MIT
// Gate and value from one Linear: the bits of one device under every policy; where layers are split, one sum forward and one backward, no gather.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

struct Feed : Residual<RMSNorm<8>, Linear<8, 2 * 12, NoBias>, SwiGLU, Linear<12, 8, NoBias>> {};
struct Gated : Sequential<Linear<9, 8>, Repeat<2, Feed>, Linear<8, 14>, SwiGLU> {};
template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;

struct Inner : Sequential<Input<5, 8>, RMSNorm<8>, Feed, RMSNorm<8>> {};
template <class... Parts> using Split = Plan<Inner, MeanSquaredError, AdamW, Batch<8>, Parts...>;
constexpr Bytes value{8 * 5 * 8 * 4};
static_assert(traffic<Split<TensorParallel<2>>>().total() == 2 * (2 * 1 * value));
static_assert(traffic<Split<TensorParallel<4>>>().total() == 2 * (2 * 3 * value));
static_assert(Split<TensorParallel<4>>::training.parameters[2].split == laid::shard(0, 2));

}  // namespace

TEST_CASE("gates anywhere in a model have the bits of one device under every policy") {
  equivalence::check_every_policy<Of, Gated>();
  equivalence::check_same_bits_as_data<Of<Gated, Single, Recompute<SwiGLU>>, Of<Gated, Single>>();
}

TEST_CASE("split gates have the numbers of one device") {
  const auto check = []<class P>(const P*) {
    const auto data = equivalence::rows_of<P>(8);
    const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5);
    CHECK(found.text == "");
    CHECK(found.tensors > 8);
  };
  check(static_cast<const Split<TensorParallel<2>>*>(nullptr));
  check(static_cast<const Split<TensorParallel<4>>*>(nullptr));
  check(static_cast<const Split<TensorParallel<2>, Recompute<SwiGLU>>*>(nullptr));
  check(static_cast<const Split<Hybrid<TensorParallel<2>, Sharded<2>>>*>(nullptr));
}
