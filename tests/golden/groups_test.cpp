// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<16, 16>>, Tanh> {};
struct ResidualMlp : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Named<"block", Inner>, Sigmoid, Named<"linear2", Linear<16, 10>>> {};
template <class Optimizer, class... Parts> using Plain = Plan<ResidualMlp, MeanSquaredError, Optimizer, Batch<8>, Parts...>;
/// GROUPS of make_golden.py.
template <class Optimizer, class... Parts>
using Of = Plain<Optimizer, NoDecay<>, NoDecay<"linear2.weight">, LearningRateFactor<"linear1", 1, 10>, LearningRateFactor<"block", 3, 2>,
                 LearningRateFactor<"block.inner.bias", 1, 4>, Parts...>;

template <class Plan> void check(const std::string& name, const typename Plan::Request::Optimizer::Options& options) {
  const TensorFile file = golden_file(name);
  follow<Plan>(file, options, examples(file.get<float>("input", {8, 20}), file.get<float>("targets", {8, 10}), 20), 20);
}
template <class Optimizer> void check_plans(const std::string& name, const typename Optimizer::Options& options) {
  check<Of<Optimizer, Single>>(name, options);
  check<Of<Optimizer, DataParallel<2>>>(name, options);
  check<Of<Optimizer, Sharded<2>>>(name, options);
  check<Of<Optimizer, TensorParallel<2>>>(name, options);
  check<Of<Optimizer, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>(name, options);
}
/// How far 20 steps of another plan end from PyTorch's.
template <class Plan> double distance(const std::string& name, const typename Plan::Request::Optimizer::Options& options) {
  const TensorFile file = golden_file(name);
  Trainer<Plan, CpuThreads> trainer{options, Seed{1}};
  start(trainer, file);
  for (int step = 0; step < 20; ++step) trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 20));
  double most = 0;
  for (const std::string& parameter : trainer.parameter_names())
    most = std::max(most, largest_difference(trainer.parameter(parameter), file.get<float>("after20." + parameter)));
  return most;
}
constexpr MomentumSGD::Options momentum{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.05};
constexpr AdamW::Options adamw{.learning_rate = 1e-2, .weight_decay = 0.2};

}  // namespace

TEST_CASE("20 steps of SGD with momentum in groups of parameters are PyTorch's, on one device, replicas, slices, parts and stages") {
  check_plans<MomentumSGD>("groups_20_16_10_momentum", momentum);
}

TEST_CASE("20 steps of AdamW in groups of parameters are PyTorch's: its decay shrinks with the learning rate of a group") {
  check_plans<AdamW>("groups_20_16_10_adamw", adamw);
}

TEST_CASE("the comparison can fail: each of the options counts") {
  for (const double far :
       {distance<Plain<MomentumSGD, Single>>("groups_20_16_10_momentum", momentum),
        distance<Plain<AdamW, Single, NoDecay<>, NoDecay<"linear2.weight">>>("groups_20_16_10_adamw", adamw),
        distance<Plain<AdamW, Single, NoDecay<>, LearningRateFactor<"linear1", 1, 10>, LearningRateFactor<"block", 3, 2>,
                       LearningRateFactor<"block.inner.bias", 1, 4>>>("groups_20_16_10_adamw", adamw),
        distance<Plain<AdamW, Single, NoDecay<"linear2.weight">, LearningRateFactor<"linear1", 1, 10>, LearningRateFactor<"block", 3, 2>,
                       LearningRateFactor<"block.inner.bias", 1, 4>>>("groups_20_16_10_adamw", adamw)})
    CHECK(far > 10 * tolerance);
}
