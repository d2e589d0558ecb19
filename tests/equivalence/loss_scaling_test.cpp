// SPDX-License-Identifier: MIT
#include "equivalence/training_properties.hpp"

using namespace equivalence;

// Scales are powers of two, and no gradient here overflows or underflows: scaled or not, the bits are the same.
namespace {

template <class... Options> using Without = Plan<Blocks, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<8>, Bucket<1_KiB>, Options...>;
template <class... Options> using Of = Without<LossScaling, Options...>;

template <class Reference> const Trained& unscaled() {
  static const Trained made = train_and_check<Reference>(64, 27);
  return made;
}
/// Bits, bytes and memory of a plan that scales its loss against one device that does not.
template <class ThePlan, class Reference = Without<Single>> void check_scaled() {
  static_assert(ThePlan::training.scales_loss && !Reference::training.scales_loss);
  static_assert(is_reproducible<ThePlan>);
  CAPTURE(devices<ThePlan>);
  check_same_training(train_and_check<ThePlan>(64, 27), unscaled<Reference>());
}
template <class OfPlan> void check_scaled_data(const PlanAsData& plan, const Trained& wanted) {
  CHECK(plan.training().scales_loss);
  CHECK(plan.reproducible());
  check_same_training(train_and_check_data<OfPlan>(plan, 64, 27), wanted);
}
/// The same of a plan that the test lowers while it runs.
template <class ThePlan, class Reference = Without<Single>> void check_scaled_as_data() {
  static_assert(!Reference::training.scales_loss);
  check_scaled_data<TypesOf<ThePlan>>(as_data<ThePlan>(), unscaled<Reference>());
}

using Back = Pipeline<Stage<Sequential<Linear<23, 16>>, On<0>>, Stage<Named<"blocks", Repeat<4, Block>>, On<1>>,
                      Stage<Sequential<Sigmoid, Linear<16, 10>>, On<0>>>;
using Early = Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>;

}  // namespace

TEST_CASE("scaled or not, the bits are the same: one device, replicas, slices of three kinds, their product") {
  check_scaled<Of<Single>>();
  check_scaled_as_data<Of<DataParallel<4>>>();
  check_scaled_as_data<Of<Sharded<4, OptimizerState>>>();
  check_scaled_as_data<Of<Sharded<8, Gradients>>>();
  check_scaled_as_data<Of<Sharded<2>>>();
  check_scaled_as_data<Of<Hybrid<Sharded<2>, DataParallel<2>>>>();
}

TEST_CASE("scaled or not, the bits are the same: stages, rounds, with slices and replicas") {
  check_scaled<Of<Back>>();
  check_scaled_as_data<Of<Early, Accumulate<2>>>();
  check_scaled<Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, DataParallel<2>>>>();
  check_scaled_as_data<Of<Hybrid<DataParallel<2>, Early, Sharded<2, OptimizerState>>>>();
}

TEST_CASE("scaled or not, the bits are the same where gradients are clipped too: the norm is of unscaled gradients") {
  using Clipped = Without<Clip<GlobalNorm>, Single>;
  check_scaled<Of<Clip<GlobalNorm>, Single>, Clipped>();
  check_scaled_as_data<Of<Clip<GlobalNorm>, Sharded<4, Gradients>>, Clipped>();
  check_scaled<Of<Clip<GlobalNorm>, Hybrid<Back, Sharded<2>>>, Clipped>();
  const auto norm_of = [&]<class P>(const P*) {
    Trainer<P, CpuThreads> trainer{settings<Adam>(), Seed{5}};
    return trainer.step(rows_of<P>(64).batch(0, 64)).norm.value();
  };
  using Both = Of<Clip<GlobalNorm>, Hybrid<Back, Sharded<2>>>;
  CHECK(equal_bits(std::vector{norm_of(static_cast<const Both*>(nullptr))}, std::vector{norm_of(static_cast<const Clipped*>(nullptr))}));
  // One collective an axis for both: the flag lies behind the squares.
  CHECK(traffic<Both>().norm().messages == traffic<Without<Clip<GlobalNorm>, Hybrid<Back, Sharded<2>>>>().norm().messages);
}

TEST_CASE("scaled or not, the bits are the same where ranks share layers") {
  const auto same = []<class Policy>(const Policy*) {
    const Run with = train<Of<Clip<GlobalNorm>, Policy>>(&whole_batch<Of<Policy>>);
    const Run without = train<Without<Clip<GlobalNorm>, Policy>>(&whole_batch<Of<Policy>>);
    CHECK(equal_bits(with.losses, without.losses));
    CHECK(same_tensors(with.gradients, without.gradients));
    REQUIRE(with.parameters.size() == without.parameters.size());
    for (std::size_t replica = 0; replica < with.parameters.size(); ++replica)
      CHECK(same_tensors(with.parameters[replica], without.parameters[replica]));
    CHECK_FALSE(same_tensors(with.parameters[0], with.before));
  };
  same(static_cast<const TensorParallel<2>*>(nullptr));
  same(static_cast<const Hybrid<TensorParallel<2>, Sharded<2>>*>(nullptr));
}

TEST_CASE("after growth_interval steps in a row without an overflow the scale doubles, and no bit changes") {
  using ThePlan = Of<DataParallel<2>>;
  const auto rows = rows_of<ThePlan>(2 * 64);
  Trainer<ThePlan, CpuThreads> grows{settings<Adam>(), Seed{5}};
  Trainer<Without<DataParallel<2>>, CpuThreads> plain{settings<Adam>(), Seed{5}};
  grows.loss_scale().growth_interval = 3;
  for (int step = 0; step < 10; ++step) {
    const StepResult result = grows.step(rows.batch(3 * step, 64));
    CHECK_FALSE(result.skipped);
    CHECK(*result.scale == 65536.0F * static_cast<float>(1 << (step / 3)));
    const StepResult other = plain.step(rows.batch(3 * step, 64));
    CHECK_FALSE(other.scale.has_value());
    CHECK(grows.parameter_hash(1) == plain.parameter_hash(1));
  }
  CHECK(grows.loss_scale().scale() == 65536.0F * 8);
  CHECK(grows.loss_scale().growth_tracker == 1);
}
