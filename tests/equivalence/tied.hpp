// SPDX-License-Identifier: MIT
// What a plan of a model with tied leaves must keep while it trains: what any plan must, and one set of bits in all copies of a parameter.
#pragma once

#include "equivalence/training_properties.hpp"

namespace equivalence {

template <class Model, class Policy, class... Options>
using TiedPlan = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Bucket<1_KiB>, Policy, Options...>;

/// Every copy of a tied parameter has the bits of its owner's, in every rank that holds it whole.
template <class AnyTrainer> void check_copies(AnyTrainer& trainer, const Program& p) {
  if (p.storage.parameters || p.mesh.size(Axis::tensor) > 1) return;
  for (int k = 0; k < p.graph->parameter_count; ++k)
    for (int r = 0; r < p.mesh.ranks(); ++r) {
      const ParameterPlace& place = p.parameters[k];
      if (p.mesh.coordinate(Rank{r}, Axis::stage) != place.role) continue;
      const HeldPart held = trainer.executor(Rank{r}).held_parameter(k);
      const std::vector<float> wanted = trainer.parameter(std::string{p.graph->parameter_name(place.node, place.index).view()});
      CHECK(equal_bits(std::vector<float>(held.values, held.values + held.elements), wanted));
    }
}

template <class Model, class... Options> [[nodiscard]] const Trained& tied_alone() {
  static const Trained made = train_and_check<TiedPlan<Model, Single, Options...>>(32, 21);
  return made;
}
/// Every property of training under this policy, and the bits of one device.
template <class Model, class Policy, class... Options> void holds_tied() {
  using P = TiedPlan<Model, Policy, Options...>;
  static_assert(is_reproducible<P>);
  const Trained got = train_and_check<P>(32, 21);
  check_same_training(got, tied_alone<Model, Options...>());
  for (const float loss : got.losses) CHECK(std::isfinite(loss));
  Trainer<P, CpuThreads> trainer{settings<Adam>(), Seed{3}};
  for (int step = 0; step < 3; ++step) trainer.step(rows_of<P>(64).batch(step, 32));
  check_copies(trainer, P::training);
}
template <class OfPlan> void tied_data_holds(const PlanAsData& plan, const Trained& alone) {
  CHECK(plan.reproducible());
  const Trained got = train_and_check_data<OfPlan>(plan, 32, 21);
  check_same_training(got, alone);
  for (const float loss : got.losses) CHECK(std::isfinite(loss));
  const Rows<std::int32_t> rows{64, plan.graph().input.elements(), plan.graph().output().elements()};
  DataTrainer<OfPlan> trainer{plan, settings<Adam>(), Seed{3}};
  for (int step = 0; step < 3; ++step) trainer.step(rows.batch(step, 32));
  check_copies(trainer, plan.training());
}
/// The same of a plan that the test lowers while it runs.
template <class Model, class Policy, class... Options> void holds_tied_as_data() {
  using P = TiedPlan<Model, Policy, Options...>;
  tied_data_holds<TypesOf<P>>(as_data<P>(), tied_alone<Model, Options...>());
}

}  // namespace equivalence
