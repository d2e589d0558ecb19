// SPDX-License-Identifier: MIT
// Attention whose heads are split: the Linear before it gives each rank its part of queries, keys and values, the one behind it takes the heads as
// they come. One sum of a value forward and one backward; the numbers of one device; named tensors without sections.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

struct Inner : Residual<LayerNorm<16>, Linear<16, 48>, SelfAttention<Heads<4>, Causal>, Linear<16, 16>> {};
struct Grouped : Residual<RMSNorm<16>, Linear<16, 32, NoBias>, SelfAttention<Heads<8>, KeyValueHeads<4>>, Linear<16, 16>> {};
struct Attending : Sequential<Input<6, 16>, LayerNorm<16>, Inner, LayerNorm<16>> {};
struct Deep : Sequential<Input<6, 10>, Linear<10, 16>, Repeat<2, Inner>, Grouped, Linear<16, 8>> {};
template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, AdamW, Batch<8>, Parts...>;

template <class P> constexpr std::int64_t count(BodyOp op) { return traffic<P>().value_collectives(0, op); }

// Each sum of 8 rows of 6 x 16 floats moves 2 (N - 1) / N of its bytes from each of N ranks: there are two, and nothing is gathered.
constexpr Bytes value{8 * 6 * 16 * 4};
using OnTwo = Of<Attending, TensorParallel<2>>;
using OnFour = Of<Attending, TensorParallel<4>>;
static_assert(traffic<OnTwo>().total() == 2 * (2 * 1 * value));
static_assert(traffic<OnFour>().total() == 2 * (2 * 3 * value));
static_assert(count<OnTwo>(BodyOp::reduce_value) == 2 && count<OnTwo>(BodyOp::gather_value) == 0);
// The weight of the packed projection lies in three sections, the one behind it in rows; a rank has 1 / N of both.
static_assert(OnFour::training.parameters[4].split == laid::shard(0, 3) && OnFour::training.parameters[4].elements == 48 * 16 / 4);
static_assert(OnFour::training.parameters[5].split == laid::shard(0, 3) && OnFour::training.parameters[6].split == laid::shard(1));
// Four heads of keys and values on eight ranks: that layer is whole on each, and what it reads is gathered.
struct Few : Sequential<Input<6, 16>, Grouped> {};
static_assert(count<Of<Few, TensorParallel<4>>>(BodyOp::gather_value) == 0 && count<Of<Few, TensorParallel<8>>>(BodyOp::gather_value) > 0);
static_assert(Of<Few, TensorParallel<4>>::training.parameters[1].split == laid::shard(0, 3, 2));

template <class P> void check_numbers() {
  const auto data = equivalence::rows_of<P>(8);
  const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 10);
}

}  // namespace

TEST_CASE("split heads have the numbers of one device, with whole and split sequences, stages, replicas and slices") {
  check_numbers<Of<Deep, TensorParallel<2>>>();
  check_numbers<Of<Deep, TensorParallel<4>>>();
  check_numbers<Of<Deep, TensorParallel<2, SequenceParallel>>>();
  check_numbers<Of<Deep, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>>();
  check_numbers<Of<Deep, Hybrid<TensorParallel<2>, DataParallel<2>>>>();
  check_numbers<Of<Deep, Hybrid<TensorParallel<2>, Sharded<2>>>>();
  check_numbers<Of<Deep, TensorParallel<2>, Recompute<SelfAttention<Heads<4>, Causal>>>>();
}

TEST_CASE("parameters in sections are set, read, stepped and started as those of one device") {
  using P = Of<Attending, Hybrid<TensorParallel<4>, Sharded<2>>>;
  Trainer<P, CpuThreads> split{{.learning_rate = 1e-2}, Seed{5}};
  Trainer<Of<Attending, Single>, CpuThreads> alone{{.learning_rate = 1e-2}, Seed{5}};
  const std::string name = "2.1.weight";
  CHECK(equivalence::equal_bits(split.parameter(name), alone.parameter(name)));
  CHECK(equivalence::equal_bits(split.parameter("2.1.bias"), alone.parameter("2.1.bias")));
  std::vector<float> counted(48 * 16);
  for (std::size_t i = 0; i < counted.size(); ++i) counted[i] = static_cast<float>(i) / 1024;
  split.set_parameter(name, counted);
  alone.set_parameter(name, counted);
  CHECK(equivalence::equal_bits(split.parameter(name), counted));
  const auto data = equivalence::rows_of<P>(8);
  split.step(data.batch(0, 8));
  alone.step(data.batch(0, 8));
  const auto off = [&](const std::vector<float>& a, const std::vector<float>& b) {
    float most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
    return most;
  };
  CHECK(off(split.gradient(name), alone.gradient(name)) < 1e-6F);
  CHECK(off(split.parameter(name), counted) > 1e-3F);  // a step of AdamW
}
