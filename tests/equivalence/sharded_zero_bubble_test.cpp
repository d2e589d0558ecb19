// SPDX-License-Identifier: MIT
// Split backwards whose gradients or parameters are sliced: bits, bytes and arenas.
#include "equivalence/training_properties.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace equivalence;
using tests::Squared;

namespace {

template <class... Options> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<8>, Options...>;
template <class... Slices> using Split = Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Slices...>;
template <class... Slices> using Whole = Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Slices...>;

template <class Alone> const equivalence::Trained& alone() {
  static const equivalence::Trained made = train_and_check<Alone>(64, 23);
  return made;
}
template <class P, class Alone = Of<Single>> void trains_as_one_device() {
  static_assert(is_reproducible<P> && P::training.splits_backward && P::training.storage.parts > 1);
  CAPTURE(devices<P>);
  check_same_training(train_and_check<P>(64, 23), alone<Alone>());
}
template <class OfPlan> void data_trains_as(const PlanAsData& plan, const equivalence::Trained& alone) {
  CHECK(plan.reproducible());
  CHECK(plan.training().splits_backward);
  CHECK(plan.training().storage.parts > 1);
  check_same_training(train_and_check_data<OfPlan>(plan, 64, 23), alone);
}
/// The same of a plan that the test lowers while it runs.
template <class P, class Alone = Of<Single>> void data_trains_as_one_device() { data_trains_as<TypesOf<P>>(as_data<P>(), alone<Alone>()); }

struct Blended : Sequential<Linear<23, 16>, Squared, Linear<16, 16>, Squared, Tanh, Linear<16, 10>> {};

}  // namespace

namespace heddle {
template <class Compute> struct Kernel<Squared, Compute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.output[i] = c.input[i] * c.parameters[0][i % n] * c.parameters[0][i % n];
  }
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n && c.input_gradient != nullptr; ++i)
      c.input_gradient[i] = c.output_gradient[i] * c.parameters[0][i % n] * c.parameters[0][i % n];
    if (c.parameter_gradients == nullptr) return;
    for (std::int64_t j = 0; j < n && !c.add; ++j) c.parameter_gradients[0][j] = 0;
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.parameter_gradients[0][i % n] += 2 * c.output_gradient[i] * c.input[i] * c.parameters[0][i % n];
  }
};
}  // namespace heddle

TEST_CASE("split backwards with sliced parameters train to the bits of one device, alone and in products") {
  trains_as_one_device<Of<Split<Sharded<2>>>>();
  data_trains_as_one_device<Of<Hybrid<Sharded<2>, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>>>>();
  data_trains_as_one_device<Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>, DataParallel<2>>>>();
  data_trains_as_one_device<Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>>, Accumulate<2>>>();
}

TEST_CASE("split backwards whose gathered copies are kept train to the bits of one device") {
  trains_as_one_device<Of<Split<Sharded<2, Keep::Step>>>>();
}

TEST_CASE("split backwards with slices are clipped by the norm of one device") {
  trains_as_one_device<Of<Split<Sharded<2>>, Clip<GlobalNorm>>, Of<Single, Clip<GlobalNorm>>>();
}

TEST_CASE("gradients that are sliced in the weight part have the bits of one device with one micro-batch") {
  using One = Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<1>, FewMicrobatches>, Sharded<2, Gradients>>;
  using P = Plan<Blocks, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<32>, One>;
  static_assert(P::training.storage.gradients && !P::training.storage.adds_slices);
  trains_as_one_device<P, Plan<Blocks, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<32>, Single>>();
}

TEST_CASE("gradients that are sliced in every weight part add up as those of whole backwards do") {
  using P = Plan<Blocks, CrossEntropy, Adam, Batch<64>, Split<Sharded<2, Gradients>>>;
  static_assert(P::training.storage.adds_slices);
  trains_alike<P, Plan<Blocks, CrossEntropy, Adam, Batch<64>, Whole<Sharded<2, Gradients>>>>();
  trains_alike<Plan<Blocks, CrossEntropy, Adam, Batch<64>, Split<Sharded<2>>>, Plan<Blocks, CrossEntropy, Adam, Batch<64>, Whole<Sharded<2>>>>();
}

TEST_CASE("layers whose gradients of parameters are made of parameters have them gathered") {
  using P = Plan<Blended, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<8>, Split<Sharded<2>>>;
  trains_as_one_device<P, Plan<Blended, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<8>, Single>>();
  using Sliced = Plan<Blended, CrossEntropy, Adam, Batch<64>, Split<Sharded<2>>>;
  trains_alike<Sliced, Plan<Blended, CrossEntropy, Adam, Batch<64>, Whole<Sharded<2>>>>();
}

TEST_CASE("layers that are split and sliced, under split backwards") {
  struct Even : Sequential<Linear<23, 16>, ReLU, Residual<Linear<16, 20>, GELU, Linear<20, 16>>, Linear<16, 12>, Tanh, Linear<12, 10>> {};
  using P = Plan<Even, CrossEntropy, Adam, Batch<64>, Hybrid<TensorParallel<2>, Split<Sharded<2>>>>;
  trains_alike<P, Plan<Even, CrossEntropy, Adam, Batch<64>, Hybrid<TensorParallel<2>, Whole<Sharded<2>>>>>();
}
