// SPDX-License-Identifier: MIT
#include <limits>

#include "equivalence/training_properties.hpp"

using namespace equivalence;

// A loss that is finite guards nothing: guarded or not, the bits are the same. On threads one that is not is refused where it is made.
namespace {

template <class... Options> using Without = Plan<Blocks, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<8>, Bucket<1_KiB>, Options...>;
template <class... Options> using Of = Without<Guarded, Options...>;

template <class Reference> const Trained& unguarded() {
  static const Trained made = train_and_check<Reference>(64, 27);
  return made;
}
/// Bits, bytes and memory of a guarded plan against one device that is not guarded.
template <class ThePlan, class Reference = Without<Single>> void check_guarded() {
  static_assert(!Reference::training.guards);
  const PlanAsData plan = as_data<ThePlan>();
  CHECK(plan.training().guards);
  CHECK(plan.reproducible());
  check_same_training(train_and_check_data<TypesOf<ThePlan>>(plan, 64, 27), unguarded<Reference>());
}
using Early = Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>;

}  // namespace

TEST_CASE("guarded or not, the bits are the same: one device, replicas, slices, stages and their products") {
  check_guarded<Of<Single>>();
  check_guarded<Of<DataParallel<4>>>();
  check_guarded<Of<Sharded<4, OptimizerState>>>();
  check_guarded<Of<Hybrid<Sharded<2>, DataParallel<2>>>>();
  check_guarded<Of<Early, Accumulate<2>>>();
  check_guarded<Of<Hybrid<DataParallel<2>, Early, Sharded<2, OptimizerState>>>>();
}

TEST_CASE("guarded or not, the bits are the same where gradients are clipped and the loss is scaled") {
  using Clipped = Without<Clip<GlobalNorm>, Single>;
  check_guarded<Of<Clip<GlobalNorm>, LossScaling, Single>, Clipped>();
  check_guarded<Of<Clip<GlobalNorm>, LossScaling, Hybrid<Early, Sharded<2>>>, Clipped>();
  check_guarded<Of<Clip<GlobalNorm>, Hybrid<Sharded<2>, DataParallel<2>>>, Clipped>();
}

TEST_CASE("a guarded step whose loss is not finite changes nothing on threads either, and training goes on") {
  using ThePlan = Of<Hybrid<DataParallel<2>, Early>>;
  auto rows = rows_of<ThePlan>(64);
  Trainer<ThePlan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  Trainer<Without<Hybrid<DataParallel<2>, Early>>, CpuThreads> plain{settings<Adam>(), Seed{5}};
  float& damaged = rows.inputs[static_cast<std::size_t>(41 * rows.features + 3)];
  for (int step = 0; step < 3; ++step) {
    const float whole = std::exchange(damaged, std::numeric_limits<float>::quiet_NaN());
    CHECK_THROWS_AS(trainer.step(rows.batch(0, 64)), NonFinite);
    damaged = whole;
    CHECK(trainer.step(rows.batch(0, 64)).step == step + 1);
    plain.step(rows.batch(0, 64));
    CHECK(trainer.parameter_hash(1) == plain.parameter_hash(1));
  }
}
