// SPDX-License-Identifier: MIT
// Parameters in groups are stepped by the options of their group, wherever their elements lie: every policy against one device, to the last bit.
#include "equivalence/tied.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace equivalence;

namespace {

struct Inner : Residual<Named<"up", Linear<16, 19>>, GELU, Named<"down", Linear<19, 16>>> {};
struct Deep : Sequential<Named<"stem", Linear<23, 16>>, Named<"blocks", Repeat<4, Inner>>, Sigmoid, Named<"head", Linear<16, 10>>> {};
struct TiedEnds : Sequential<Linear<23, 16>, Named<"in", Linear<16, 16>>, Repeat<2, Inner>, Tied<"out", Linear<16, 16>, To<"in">>, Linear<16, 10>> {};

template <class Optimizer, class... Parts> using Plain = Plan<Deep, CrossEntropy, Optimizer, Batch<32, KeepLast>, Grain<2>, Bucket<1_KiB>, Parts...>;
template <class Optimizer, class... Parts>
using By = Plain<Optimizer, NoDecay<>, NoDecay<"head.weight">, LearningRateFactor<"stem", 1, 10>, LearningRateFactor<"up", 3, 2>,
                 LearningRateFactor<"blocks.1.up.bias", 1, 4>, Parts...>;
template <class... Parts> using Of = By<AdamW, Parts...>;
template <class... Parts>
using OfTied =
    Plan<TiedEnds, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Bucket<1_KiB>, NoDecay<>, LearningRateFactor<"out", 1, 10>, Parts...>;

/// One device with the same options.
template <class P> [[nodiscard]] const Trained& alone() {
  static const Trained made = train_and_check<P>(32, 21);
  return made;
}
template <class... Parts> void holds() {
  static_assert(same_bits<Of<Parts...>, Of<Single>>());
  check_same_training(train_and_check<Of<Parts...>>(32, 21), alone<Of<Single>>());
}
/// Of a plan that the test lowers while it runs.
template <class P, class Reference> void data_holds() {
  check_same_training(train_and_check_data<TypesOf<P>>(as_data<P>(), 32, 21), alone<Reference>());
}
template <class... Parts> void holds_as_data() { data_holds<Of<Parts...>, Of<Single>>(); }

/// Parameters after some steps; the learning rate falls from step to step.
template <class P> [[nodiscard]] std::uint64_t scheduled(double last_rate) {
  const auto rows = rows_of<P>(64);
  Trainer<P, CpuThreads> trainer{settings<AdamW>(), Seed{5}};
  for (int step = 0; step < 6; ++step) {
    trainer.optimizer().learning_rate = step == 5 ? last_rate : 0.01 / (step + 1);
    trainer.optimizer().weight_decay = 0.1 * step;
    trainer.step(rows.batch(step, 32));
  }
  return trainer.parameter_hash();
}

}  // namespace

TEST_CASE("each element is stepped with the rate and the decay of its group") {
  using P = By<SGD, Single>;
  const auto rows = rows_of<P>(32);
  Trainer<P, CpuThreads> trainer{SGD::Options{.learning_rate = 0.25, .weight_decay = 0.5}, Seed{11}};
  const auto before = parameters_of(trainer, 0);
  trainer.step(rows.batch(0, 32));
  const std::vector<std::string> names = trainer.parameter_names();
  int checked = 0;
  for (std::size_t k = 0; k < names.size(); ++k) {
    const std::string& name = names[k];
    CAPTURE(name);
    const bool bias = name.find("bias") != std::string::npos;
    const double factor = name.find("stem") == 0 ? 0.1 : name == "blocks.1.up.bias" ? 0.25 : name.find("up") != std::string::npos ? 1.5 : 1;
    const double decay = bias || name == "head.weight" ? 0 : 0.5;
    const std::vector<float> after = trainer.parameter(name);
    const std::vector<float> gradient = trainer.gradient(name);
    for (std::size_t i = 0; i < after.size(); ++i) {
      const double wanted = before[k][i] - 0.25 * factor * (gradient[i] + decay * before[k][i]);
      checked += std::fabs(after[i] - wanted) < 1e-6 * (1 + std::fabs(wanted)) ? 1 : 0;
    }
    checked -= static_cast<int>(after.size());
  }
  CHECK(checked == 0);
}

TEST_CASE("replicas and slices of every kind step groups as one device does") {
  holds<DataParallel<2>>();
  holds_as_data<Sharded<2, OptimizerState>>();
  holds_as_data<Sharded<2, Gradients>, Accumulate<2>>();
  holds<Sharded<4>>();
  holds_as_data<Sharded<8>>();
  holds_as_data<Sharded<2, Keep::Step>>();
  holds_as_data<Hybrid<Sharded<2>, DataParallel<2>>, Accumulate<2>>();
  CHECK_FALSE(same_tensors(alone<Of<Single>>().parameters.back()[0], train_and_check<Plain<AdamW, Single>>(32, 21).parameters.back()[0]));
}

TEST_CASE("stages in every order, and mixes, step groups as one device does") {
  holds<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>();
  holds_as_data<Pipeline<Balanced<3>, GPipe, Microbatches<4>>>();
  holds_as_data<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>();
  holds_as_data<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>();
  holds_as_data<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>();
  holds_as_data<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>, Sharded<2, Gradients>>>();
  holds_as_data<Hybrid<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, Sharded<2, OptimizerState>>, Recompute<EveryBlock>>();
}

TEST_CASE("clipped and scaled gradients are stepped by groups as on one device") {
  data_holds<Of<Sharded<2>, Clip<GlobalNorm>>, Of<Single, Clip<GlobalNorm>>>();
  data_holds<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Clip<GlobalNorm>, LossScaling>, Of<Single, Clip<GlobalNorm>, LossScaling>>();
  data_holds<Of<Hybrid<Sharded<2, Gradients>, DataParallel<2>>, LossScaling>, Of<Single, LossScaling>>();
}

TEST_CASE("every optimizer steps groups under slices as on one device") {
  data_holds<By<SGD, Sharded<4>>, By<SGD, Single>>();
  data_holds<By<MomentumSGD, Sharded<4>>, By<MomentumSGD, Single>>();
  data_holds<By<Adam, Sharded<4>>, By<Adam, Single>>();
}

TEST_CASE("tied parameters are of one group in every stage") {
  data_holds<OfTied<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, OfTied<Single>>();
  data_holds<OfTied<Sharded<2>>, OfTied<Single>>();
  data_holds<OfTied<Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Sharded<2, OptimizerState>>>, OfTied<Single>>();
}

TEST_CASE("split layers step groups alike in one plan and in its slices") {
  using Split = Of<TensorParallel<2>>;
  Trained wanted = train_and_check_data<TypesOf<Split>>(as_data<Split>(), 32, 21);
  for (std::size_t step = 0; step < wanted.parameters.size(); ++step) {
    wanted.parameters[step].resize(1);
    wanted.gradients[step].resize(1);
  }
  using Sliced = Of<Hybrid<TensorParallel<2>, Sharded<2>>>;
  check_same_training(train_and_check_data<TypesOf<Sliced>>(as_data<Sliced>(), 32, 21), wanted);
}

TEST_CASE("a schedule changes the options of all groups between steps") {
  const std::uint64_t wanted = scheduled<Of<Single>>(0.002);
  CHECK(scheduled<Of<Sharded<2>>>(0.002) == wanted);
  CHECK(scheduled<Of<Single>>(0.003) != wanted);
}

TEST_CASE("plans with groups are proved against one device with the same groups") {
  // Groups of a field are functions of their own, under layers that are split too.
  CHECK(prove<Plan<Deep, CrossEntropy, SGD, Batch<8>, NoDecay<>, LearningRateFactor<"stem", 1, 10>, TensorParallel<2>>, FieldThreads>());
  CHECK(prove<Plan<Deep, CrossEntropy, AdamW, Batch<8>, NoDecay<"head">, LearningRateFactor<"up", 3, 2>,
                   Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>, Clip<GlobalNorm>>,
              FieldThreads>());
  CHECK(prove<Plan<TiedEnds, CrossEntropy, Adam, Batch<8>, NoDecay<>, LearningRateFactor<"in", 1, 10>,
                   Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>,
              FieldThreads>());
}
