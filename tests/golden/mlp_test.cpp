// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Mnist : Sequential<Named<"linear1", Linear<28 * 28, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
template <class... Parts> using Of = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Parts...>;

/// The batch that make_golden.py writes as a formula.
std::vector<float> inputs() {
  std::vector<float> values;
  for (int i = 0; i < 64; ++i)
    for (int j = 0; j < 784; ++j) values.push_back(static_cast<float>((37 * i + 101 * j + i * j) % 127) / 128.0F);
  return values;
}

template <class Plan> void check_plan() {
  const TensorFile file = golden_file("mlp_784_50_10_adam");
  const std::vector<float> x = inputs();
  const std::vector<std::int32_t> labels = labels_of(file);
  for (int i = 0; i < 64; ++i) REQUIRE(labels[static_cast<std::size_t>(i)] == (7 * i + 3) % 10);
  follow_type<Plan>(file, {.learning_rate = 1e-3}, examples(std::span<const float>{x}, std::span<const std::int32_t>{labels}, 784), 20);
}

}  // namespace

TEST_CASE("20 Adam steps of the 784-50-10 MLP on one device are PyTorch's") { check_plan<Of<Single>>(); }

TEST_CASE("they are on replicas, slices, parts, stages and a product") {
  check_plan<Of<DataParallel<4>>>();
  check_plan<Of<Sharded<2>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  check_plan<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>, Grain<4>>>();
}
