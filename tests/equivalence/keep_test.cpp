// SPDX-License-Identifier: MIT
// Units that are gathered once a step: bits, bytes and arenas under every order and product.
#include "equivalence/training_properties.hpp"
#include "heddle/policy/tensor_parallel.hpp"

using namespace equivalence;

namespace {

template <class... Options> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<8>, Options...>;
constexpr int batch = 64;
constexpr int partial = 23;

template <class Alone> const equivalence::Trained& alone() {
  static const equivalence::Trained made = train_and_check<Alone>(batch, partial);
  return made;
}
/// Bits of one device, counted bytes, used arenas.
template <class Kept, class Alone = Of<Single>> void trains_as_one_device() {
  static_assert(is_reproducible<Kept> && Kept::training.storage.keeps);
  CAPTURE(devices<Kept>);
  check_same_training(train_and_check<Kept>(batch, partial), alone<Alone>());
}
template <class OfPlan> void data_trains_as(const PlanAsData& plan, const equivalence::Trained& alone) {
  CHECK(plan.reproducible());
  CHECK(plan.training().storage.keeps);
  check_same_training(train_and_check_data<OfPlan>(plan, batch, partial), alone);
}
/// The same of a plan that the test lowers while it runs.
template <class Kept, class Alone = Of<Single>> void trains_as_data() { data_trains_as<TypesOf<Kept>>(as_data<Kept>(), alone<Alone>()); }
template <class Order, int M> using Staged = Hybrid<Pipeline<Balanced<2>, Order, Microbatches<M>>, Sharded<2, Keep::Step>>;

}  // namespace

TEST_CASE("slices whose gathered copies are kept train to the bits of one device, with one micro-batch and with rounds") {
  trains_as_one_device<Of<Sharded<2, Keep::Step>>>();
  trains_as_data<Of<Sharded<4, Keep::Step, Parameters>, Accumulate<2>>>();
  trains_as_data<Of<Hybrid<Sharded<2, Keep::Step>, DataParallel<2>>>>();
}

TEST_CASE("kept copies serve all micro-batches of a chunk under every order") {
  trains_as_one_device<Of<Staged<GPipe, 2>>>();
  trains_as_data<Of<Staged<OneFOneB, 4>>>();
  trains_as_data<Of<Staged<Interleaved<2>, 4>>>();
  trains_as_data<Of<Staged<OneFOneB, 2>, Accumulate<2>>>();
}

TEST_CASE("kept copies and clipping: the norm is that of one device") {
  trains_as_one_device<Of<Sharded<4, Keep::Step>, Clip<GlobalNorm>>, Of<Single, Clip<GlobalNorm>>>();
}

TEST_CASE("gradients that are reduced in every backward and layers that are split see the same parameters") {
  using Free = Plan<Blocks, CrossEntropy, Adam, Batch<64>, Accumulate<2>, Sharded<2>>;
  using Kept = Plan<Blocks, CrossEntropy, Adam, Batch<64>, Accumulate<2>, Sharded<2, Keep::Step>>;
  static_assert(Kept::training.storage.adds_slices);
  trains_alike<Kept, Free>();
  struct Even : Sequential<Linear<23, 16>, ReLU, Residual<Linear<16, 20>, GELU, Linear<20, 16>>, Linear<16, 12>, Tanh, Linear<12, 10>> {};
  using SplitFree = Plan<Even, CrossEntropy, Adam, Batch<64>, Hybrid<TensorParallel<2>, Sharded<2>>, Accumulate<2>>;
  using SplitKept = Plan<Even, CrossEntropy, Adam, Batch<64>, Hybrid<TensorParallel<2>, Sharded<2, Keep::Step>>, Accumulate<2>>;
  trains_alike<SplitKept, SplitFree>();
}
