// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<16, 16>>, Tanh> {};
struct ResidualMlp : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Named<"block", Inner>, Sigmoid, Named<"linear2", Linear<16, 10>>> {};
template <class How, class... Parts> using Of = Plan<ResidualMlp, MeanSquaredError, MomentumSGD, Batch<8>, Clip<How>, Parts...>;

template <class ThePlan, class Prepare> void check(const std::string& name, const Prepare& prepare) {
  const TensorFile file = golden_file(name);
  follow_type<ThePlan>(file, {.learning_rate = 0.5, .momentum = 0.9},
                       examples(file.get<float>("input", {8, 20}), file.get<float>("targets", {8, 10}), 20), 20,
                       [&](Trainer<ThePlan, CpuThreads>& trainer) { prepare(trainer); });
}
template <class How, class Prepare> void check_plans(const std::string& name, const Prepare& prepare) {
  check<Of<How, Single>>(name, prepare);
  check<Of<How, DataParallel<2>>>(name, prepare);
  check<Of<How, Sharded<2>>>(name, prepare);
  check<Of<How, TensorParallel<2>>>(name, prepare);
  check<Of<How, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>(name, prepare);
}

}  // namespace

TEST_CASE("20 steps of clipping by the norm are those of clip_grad_norm_, under five policies") {
  check_plans<GlobalNorm>("clip_norm_20_16_10", [](auto& trainer) { trainer.clip().max_norm = 0.2; });
}

TEST_CASE("20 steps of clipping each value are those of clip_grad_value_, under five policies") {
  check_plans<EachValue>("clip_values_20_16_10", [](auto& trainer) { trainer.clip().max_value = 0.01; });
}

TEST_CASE("the comparison can fail: both clip something, and the limit decides") {
  const auto first_norm = [](double most) {
    const TensorFile file = golden_file("clip_norm_20_16_10");
    Trainer<Of<GlobalNorm, Single>, CpuThreads> trainer{{.learning_rate = 0.5, .momentum = 0.9}, Seed{1}};
    start(trainer, file);
    trainer.clip().max_norm = most;
    const float norm = trainer.step(examples(file.get<float>("input"), file.get<float>("targets"), 20)).norm.value();
    CHECK(largest_difference(trainer.parameter("linear2.weight"), file.get<float>("after1.linear2.weight")) > 10 * tolerance);
    return norm;
  };
  CHECK(first_norm(0.3) > 0.3F);
  const TensorFile file = golden_file("clip_values_20_16_10");
  int at_the_limit = 0, within = 0;
  for (const float g : file.get<float>("gradient.linear2.weight")) ++(std::abs(g) == 0.01F ? at_the_limit : within);
  CHECK(at_the_limit > 20);
  CHECK(within > 20);
}
