// SPDX-License-Identifier: MIT
// Dropout draws one mask for an element of the batch, whichever rank has it, however often the layer runs: every policy has the bits of one device.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

struct Inner : Residual<LayerNorm<16>, Linear<16, 19>, GELU, Dropout<1, 4>, Linear<19, 16, NoBias>, Dropout<1, 10>> {};
struct Dropped : Sequential<Input<23>, Dropout<1, 5>, Linear<23, 16>, Repeat<3, Inner>, Linear<16, 10>> {};
template <class Model, class... Parts> using OfModel = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class... Parts> using Of = OfModel<Dropped, Parts...>;

template <class P> std::vector<float> after_steps(int steps, Seed seed = Seed{11}) {
  const auto plan = equivalence::as_data<P>();
  const equivalence::Rows<std::int32_t> rows{32, 23, 10};
  equivalence::DataTrainer<equivalence::TypesOf<P>> trainer{plan, {.learning_rate = 1e-2}, seed};
  for (int s = 0; s < steps; ++s) trainer.step(rows.batch(0, 32));
  return trainer.parameter(trainer.parameter_names().front());
}

}  // namespace

TEST_CASE("every policy has the bits of one device, whose masks it draws") {
  equivalence::check_every_policy<OfModel, Dropped>();
  using Alone = Of<Single>;
  equivalence::check_same_bits_as_data<Of<Single, Recompute<EveryBlock>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Single, Recompute<Dropout<1, 4>, GELU>>, Alone>();
  equivalence::check_same_bits_as_data<Of<equivalence::TwoStages<OneFOneB>, Recompute<EveryBlock>>, Alone>();
}

TEST_CASE("the seed of the trainer is that of the masks, and each step has others") {
  const auto one = after_steps<Of<DataParallel<2>>>(2);
  CHECK(equivalence::equal_bits(one, after_steps<Of<DataParallel<2>>>(2)));
  CHECK_FALSE(equivalence::equal_bits(one, after_steps<Of<DataParallel<2>>>(2, Seed{12})));
  const auto plan = equivalence::as_data<Of<Single>>();
  const equivalence::Rows<std::int32_t> rows{32, 23, 10};
  equivalence::DataTrainer<equivalence::TypesOf<Of<Single>>> trainer{plan, {.learning_rate = 0}, Seed{11}};
  const auto gradients = [&] {
    trainer.step(rows.batch(0, 32));
    return equivalence::gradient_of(trainer, trainer.parameter_names().front());
  };
  const auto first = gradients();
  CHECK_FALSE(equivalence::equal_bits(first, gradients()));  // of the same parameters and rows
}
