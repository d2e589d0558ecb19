// SPDX-License-Identifier: MIT
// Interleaved stages and split backwards: bits after every step, bytes and memory as stated, beside the orders that pipeline_test has.
#include "equivalence/training_properties.hpp"

using namespace equivalence;

namespace {

using Head = Sequential<Linear<23, 16>, Named<"first", Block>>;
using Back = Sequential<Named<"last", Block>, Sigmoid, Linear<16, 10>>;
struct Deep : Sequential<Linear<23, 16>, Named<"blocks", Repeat<5, Block>>, Sigmoid, Linear<16, 10>> {};  // 8 pieces
template <class Model, class Policy, class... Options>
using Of = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Bucket<1_KiB>, Policy, Options...>;

template <class Model> [[nodiscard]] const Trained& alone() {
  static const Trained made = train_and_check<Of<Model, Single>>(32, 21);
  return made;
}
/// Every property of training under this policy, and the bits of one device.
template <class Model, class Policy, class... Options> void holds() {
  using P = Of<Model, Policy, Options...>;
  static_assert(is_reproducible<P>);
  const Trained got = train_and_check<P>(32, 21);
  check_same_training(got, alone<Model>());
  for (const float loss : got.losses) CHECK(std::isfinite(loss));
}
template <class OfPlan> void data_holds(const PlanAsData& plan, const Trained& alone) {
  CHECK(plan.reproducible());
  const Trained got = train_and_check_data<OfPlan>(plan, 32, 21);
  check_same_training(got, alone);
  for (const float loss : got.losses) CHECK(std::isfinite(loss));
}
/// The same of a plan that the test lowers while it runs.
template <class Model, class Policy, class... Options> void holds_as_data() {
  using P = Of<Model, Policy, Options...>;
  data_holds<TypesOf<P>>(as_data<P>(), alone<Model>());
}

}  // namespace

TEST_CASE("interleaved stages train to the bits of one device, with the bytes and the memory that they state") {
  holds<Deep, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>();
  holds_as_data<Deep, Pipeline<Balanced<2>, Interleaved<4>, Microbatches<8>>>();
  holds_as_data<Deep, Pipeline<Balanced<4>, Interleaved<2>, Microbatches<4>>>();
  holds_as_data<Deep, Pipeline<Balanced<2>, Interleaved<3>, Microbatches<2>>>();
  holds_as_data<Deep, Pipeline<Balanced<1>, Interleaved<4>, Microbatches<4>>>();
  holds_as_data<Deep, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>, Accumulate<4>>();
}

TEST_CASE("interleaved stages under replicas train to the bits of one device, whichever is inside") {
  holds<Deep, Hybrid<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, DataParallel<2>>>();
  holds_as_data<Deep, Hybrid<DataParallel<2>, Pipeline<Balanced<2>, Interleaved<3>, Microbatches<8>>>>();
}

TEST_CASE("a split backward trains to the bits of one device, with the bytes and the memory that it states") {
  holds<Deep, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>();
  holds_as_data<Deep, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<16>>>();
  holds_as_data<Deep, Pipeline<Balanced<8>, ZeroBubbleH1, Microbatches<8>>>();
  holds_as_data<Deep, Pipeline<Balanced<1>, ZeroBubbleH1, Microbatches<2>>>();
  holds_as_data<Deep, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<2>, FewMicrobatches>>();
  holds_as_data<Deep, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Accumulate<4>>();
}

TEST_CASE("a split backward under replicas reduces after its weight parts, to the bits of one device") {
  holds<Deep, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>>();
  holds_as_data<Deep, Hybrid<DataParallel<2>, Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<8>>>>();
}

TEST_CASE("both orders hold with slices: of everything around interleaved stages, of optimizer states around a split backward") {
  holds<Deep, Hybrid<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Sharded<2>>>();
  holds_as_data<Deep, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2, OptimizerState>>>();
}

TEST_CASE("stages without parameters, reshapes and stages on devices in another order") {
  holds<Image, Pipeline<Balanced<5>, ZeroBubbleH1, Microbatches<8>>>();
  holds_as_data<Image, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<8>>>();
  struct Two : Sequential<Linear<23, 16>, Named<"first", Block>, Named<"last", Block>, Sigmoid, Linear<16, 10>> {};
  holds_as_data<Two, Pipeline<Stage<Head, On<1>>, Stage<Back, On<0>>, ZeroBubbleH1, Microbatches<4>>>();
  using Quarter = Sequential<Named<"last", Block>>;
  using End = Sequential<Sigmoid, Linear<16, 10>>;
  holds_as_data<
      Two, Pipeline<Stage<Linear<23, 16>, On<1>>, Stage<Block, On<0>>, Stage<Quarter, On<1>>, Stage<End, On<0>>, Interleaved<2>, Microbatches<4>>>();
}
