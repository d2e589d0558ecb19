// SPDX-License-Identifier: MIT
// Layers without arithmetic that hand parts of a value on: channels of which each rank of axis tensor has its own, without a gather between products.
#include "equivalence/equal.hpp"
#include "heddle/backend/field_threads.hpp"

using namespace equivalence;

namespace {

struct Channels : Sequential<Linear<23, 24>, Unflatten<4, 3, 2>, BatchNorm2d<4>, GELU, Flatten, Linear<24, 10>> {};
struct Positions : Sequential<Input<6, 23>, Linear<23, 12>, Residual<Linear<12, 24>, GELU, Linear<24, 12>>, Tanh, Flatten, Linear<72, 10>> {};
struct Few : Sequential<Input<4, 3>, Linear<3, 4>, Residual<Linear<4, 6>, Tanh, Linear<6, 4>>, Flatten, Linear<16, 3>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, Adam, Batch<48, KeepLast>, Grain<6>, Parts...>;

template <class ThePlan> void check_plan(std::int64_t rows = 48) {
  const auto data = rows_of<ThePlan>(48);
  // Terms of one product: at most 72. Each of the few sums between two tensors moves by at most 72 x 2^-24 = 5e-6 of its largest term.
  const Verification found = verify<ThePlan, CpuThreads>(data.batch(0, rows), Seed{3}, 4e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 10);
}
template <class ThePlan> void check_proved() {
  const Proof proof = prove<ThePlan>();
  CHECK(proof.text == "");
  CHECK(proof.log2_of_bound <= -40);
}

}  // namespace

TEST_CASE("channels in parts are unflattened, normalised and flattened without a gather") {
  using Two = Of<Channels, TensorParallel<2>>;
  static_assert(traffic<Two>().value_collectives(0, BodyOp::gather_value) == 0);
  static_assert(traffic<Two>().value_collectives(0, BodyOp::reduce_value) == 1);  // of the last product
  constexpr Graph one = Of<Channels, Single>::Request::graph;
  static_assert(one.leaf(1).out.shape == Shape{4, 3, 2} && Two::training.graph->leaf(1).out.shape == Shape{2, 3, 2});
  check_plan<Two>();
  check_proved<Two>();
  check_plan<Of<Channels, TensorParallel<4>>>(47);
  check_plan<Of<Channels, Hybrid<TensorParallel<2>, DataParallel<2>>, Recompute<Flatten, GELU>>>();
  check_plan<Of<Channels, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>>();
  check_proved<Of<Channels, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>>();
  check_plan<Of<Channels, Hybrid<TensorParallel<2>, Sharded<2>>>>();
}

TEST_CASE("ranks that divide the features, but not the channels, have whole channels") {
  using Three = Of<Channels, TensorParallel<3>>;  // 24 divides by 3, 4 does not
  static_assert(Three::training.graph->leaf(1).out.shape == Shape{4, 3, 2});
  check_plan<Three>();
}

TEST_CASE("a sequence in parts is flattened without a gather") {
  using Whole = Of<Positions, TensorParallel<2>>;
  using Split = Of<Positions, TensorParallel<2, SequenceParallel>>;
  static_assert(Whole::training.graph->leaf(Whole::training.graph->node_count - 2).out.shape == Shape{72});
  static_assert(Split::training.graph->leaf(Split::training.graph->node_count - 2).out.shape == Shape{36});
  check_plan<Split>();
  check_plan<Of<Positions, Hybrid<TensorParallel<3, SequenceParallel>, DataParallel<2>>>>(29);
  check_proved<Plan<Few, CrossEntropy, Adam, Batch<8, KeepLast>, TensorParallel<2, SequenceParallel>>>();
  check_proved<Plan<Few, CrossEntropy, Adam, Batch<8, KeepLast>, Hybrid<TensorParallel<4, SequenceParallel>, DataParallel<2>>, Recompute<Flatten>>>();
}
