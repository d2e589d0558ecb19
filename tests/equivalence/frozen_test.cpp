// SPDX-License-Identifier: MIT
// Frozen layers in front, between trained ones, inside blocks and behind: every policy has the bits of one device, and what is frozen stays as it
// was, also where what is trained is of several groups.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace heddle;

namespace {

/// Each of the three kinds has bodies of its own: no backward at all, gradients of inputs alone, and both in one unit.
struct Front : Sequential<Frozen<Sequential<Linear<23, 16>, GELU, Linear<16, 16>, Tanh>>, Linear<16, 19>, ReLU, Linear<19, 10>> {};
struct Within : Sequential<Linear<23, 16>, Frozen<Sequential<Linear<16, 19>, Sigmoid, Linear<19, 16>>>, Tanh, Linear<16, 10>> {};
struct Adapted : Sequential<Linear<23, 16>, Repeat<4, Residual<Frozen<Linear<16, 18>>, GELU, Linear<18, 16, NoBias>>>, Frozen<Linear<16, 10>>> {};

/// A table and a head that share what is frozen, with trained layers between and behind; a second head far from both.
struct Shared : Sequential<Linear<23, 16>, Frozen<Named<"in", Linear<16, 16>>>, Tanh, Linear<16, 16>, Frozen<Tied<"out", Linear<16, 16>, To<"in">>>,
                           ReLU, Frozen<Tied<"again", Linear<16, 16>, To<"in">>>, Linear<16, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = equivalence::TwoStages<Order>;

/// Frozen and trained parameters lie side by side in units, and those that are trained are of seven groups.
struct Inner : Residual<Frozen<Named<"up", Linear<16, 19>>>, GELU, Named<"down", Linear<19, 16>>> {};
struct Tuned
    : Sequential<Named<"stem", Linear<23, 16>>, Named<"blocks", Repeat<4, Inner>>, Frozen<Linear<16, 16>>, Tanh, Named<"head", Linear<16, 10>>> {};
template <class Optimizer, class... Parts>
using Grouped = Plan<Tuned, CrossEntropy, Optimizer, Batch<32, KeepLast>, Grain<2>, NoDecay<>, LearningRateFactor<"stem", 1, 10>,
                     LearningRateFactor<"blocks.1", 3, 2>, LearningRateFactor<"blocks.2.down.bias", 1, 4>, Parts...>;

template <class Model> void every_policy() { equivalence::check_every_policy<Of, Model>(); }

}  // namespace

TEST_CASE("frozen layers in front run no backward, and every policy ends with the bits of one device") { every_policy<Front>(); }
TEST_CASE("frozen layers between trained ones pass gradients on, with the same bits everywhere") { every_policy<Within>(); }
TEST_CASE("frozen layers inside blocks and behind all others do so too") { every_policy<Adapted>(); }

TEST_CASE("tied layers that are frozen share their parameters, on one device or on several, with the same bits everywhere") {
  every_policy<Shared>();
}

TEST_CASE("a device keeps frozen parameters once for all layers that use them, and gathers them for each") {
  constexpr const Program& alone = Of<Shared, Single>::training;
  static_assert(alone.arenas[0][plan_room::RegionKind::frozen].bytes() == 4 * (16 * 16 + 16));
  using Sliced = Of<Shared, Sharded<4>>;
  static_assert(Sliced::training.frozen_count == 3);
  static_assert(Sliced::training.arenas[0][plan_room::RegionKind::frozen].bytes() == 4096 / 4);
  using Held = Of<Shared, Sharded<4, Keep::Step>>;
  CHECK(Held::training.arenas[0][plan_room::RegionKind::thawed].bytes() == 3 * 4096);
  Trainer<Sliced, CpuThreads> trainer{equivalence::settings<AdamW>(), Seed{7}};
  const std::vector<float> values(16 * 16, 0.25F);
  trainer.set_parameter("out.weight", values);
  CHECK(equivalence::equal_bits(trainer.parameter("in.weight"), values));
  CHECK(equivalence::equal_bits(trainer.parameter("again.weight"), values));
  using Cut = Of<Shared, Two<OneFOneB>>;  // each stage has a copy
  Trainer<Cut, CpuThreads> stages{equivalence::settings<AdamW>(), Seed{7}};
  stages.set_parameter("again.weight", values);
  CHECK(equivalence::equal_bits(stages.parameter("in.weight"), values));
  CHECK(Cut::training.arenas[0][plan_room::RegionKind::frozen].bytes() == Cut::training.arenas[1][plan_room::RegionKind::frozen].bytes());
}

TEST_CASE("plans whose frozen layers are tied compute what one device computes") {
  CHECK(prove<Plan<Shared, CrossEntropy, Adam, Batch<8>, Sharded<2>>, extending::FieldThreads>());
  CHECK(prove<Plan<Shared, CrossEntropy, Adam, Batch<8>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Keep::Step>>>,
              extending::FieldThreads>());
  CHECK(prove<Plan<Shared, CrossEntropy, Adam, Batch<8>, TensorParallel<2>>, extending::FieldThreads>());
}

TEST_CASE("beside frozen parameters each trained one is stepped with the rate and the decay of its group") {
  using P = Grouped<SGD, Single>;
  const auto plan = equivalence::as_data<P>();
  REQUIRE(plan.training().groups.count == 7);
  const equivalence::Rows<std::int32_t> rows{32, 23, 10};
  equivalence::DataTrainer<equivalence::TypesOf<P>> trainer{plan, {.learning_rate = 0.25, .weight_decay = 0.5}, Seed{11}};
  const auto before = equivalence::parameters_of(trainer, 0);
  trainer.step(rows.batch(0, 32));
  const std::vector<std::string> names = trainer.parameter_names();
  int frozen = 0;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string& name = names[k];
    CAPTURE(name);
    const std::vector<float> after = trainer.parameter(name);
    const std::vector<float> gradient = equivalence::gradient_of(trainer, name);
    REQUIRE(after.size() == before[k].size());
    CHECK(equivalence::equal_bits(after, before[k]) == gradient.empty());
    frozen += gradient.empty() ? 1 : 0;
    const double factor = name.starts_with("stem") ? 0.1 : name.starts_with("blocks.1") ? 1.5 : name == "blocks.2.down.bias" ? 0.25 : 1;
    const double decay = name.ends_with("bias") ? 0 : 0.5;
    int other = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double wanted = before[k][i] - 0.25 * factor * (gradient[i] + decay * before[k][i]);
      other += std::fabs(after[i] - wanted) < 1e-6 * (1 + std::fabs(wanted)) ? 0 : 1;
    }
    CHECK(other == 0);
  }
  CHECK(frozen == 10);
}

TEST_CASE("frozen layers beside groups of parameters have the bits of one device with the same groups") {
  using Alone = Grouped<AdamW, Single>;
  equivalence::check_same_bits_as_data<Grouped<AdamW, DataParallel<4>, Bucket<64_B>>, Alone>();
  equivalence::check_same_bits_as_data<Grouped<AdamW, Sharded<4>>, Alone>();
  equivalence::check_same_bits_as_data<Grouped<AdamW, Sharded<2, heddle::Gradients>, Accumulate<2>>, Alone>();
  equivalence::check_same_bits_as_data<Grouped<AdamW, Two<Interleaved<2>>>, Alone>();
  equivalence::check_same_bits_as_data<Grouped<AdamW, Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>, Alone>();
  equivalence::check_same_bits_as_data<Grouped<AdamW, Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>, Alone>();
}
