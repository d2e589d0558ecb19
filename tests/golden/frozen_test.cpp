// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

using First = Named<"linear1", Linear<20, 16>>;
using Middle = Named<"block", Residual<Named<"inner", Linear<16, 16>>, Tanh>>;
using Last = Named<"linear2", Linear<16, 10>>;
struct FrontFrozen : Sequential<Frozen<First>, GELU, Frozen<Middle>, Sigmoid, Last> {};
struct MiddleFrozen : Sequential<First, GELU, Frozen<Middle>, Sigmoid, Last> {};
struct LastFrozen : Sequential<First, GELU, Middle, Sigmoid, Frozen<Last>> {};
template <class Model, class Optimizer, class... Parts> using Of = Plan<Model, MeanSquaredError, Optimizer, Batch<8>, Parts...>;

template <class Plan> void check(const TensorFile& file, const typename Plan::Request::Optimizer::Options& options) {
  follow<Plan>(file, options, examples(file.get<float>("input", {8, 20}), file.get<float>("targets", {8, 10}), 20), 20);
}
template <class Model, class Optimizer> void check_plans(const std::string& name, const typename Optimizer::Options& options) {
  const TensorFile file = golden_file(name);
  check<Of<Model, Optimizer, Single>>(file, options);
  check<Of<Model, Optimizer, DataParallel<2>>>(file, options);
  check<Of<Model, Optimizer, Sharded<2>>>(file, options);
  check<Of<Model, Optimizer, TensorParallel<2>>>(file, options);
  check<Of<Model, Optimizer, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(file, options);
}

}  // namespace

TEST_CASE("20 steps with frozen layers in front are those of PyTorch with requires_grad_(False), on one device, in slices, parts and stages") {
  check_plans<FrontFrozen, AdamW>("frozen_front_20_16_10", {.learning_rate = 1e-2});
}
TEST_CASE("20 steps with a frozen layer in the middle are PyTorch's, also before it") {
  check_plans<MiddleFrozen, AdamW>("frozen_middle_20_16_10", {.learning_rate = 1e-2});
}
TEST_CASE("20 steps with the last layer frozen are PyTorch's: no momentum and no weight decay reach it") {
  check_plans<LastFrozen, MomentumSGD>("frozen_last_20_16_10", {.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 1e-2, .nesterov = true});
}
TEST_CASE("the comparison can fail: trained layers are another run, and only trained layers have gradients in the file") {
  const TensorFile file = golden_file("frozen_front_20_16_10");
  const TensorFile trained = golden_file("residual_20_16_10_adamw");
  const auto after = file.get<float>("after20.linear1.weight");
  CHECK(largest_difference(after, trained.get<float>("after20.linear1.weight")) > 10 * tolerance);
  CHECK(largest_difference(after, file.get<float>("initial.linear1.weight")) == 0);
  CHECK_FALSE(file.contains("gradient.linear1.weight"));
  CHECK(file.contains("gradient.linear2.weight"));
}
