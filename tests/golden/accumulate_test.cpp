// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Mlp : Sequential<Named<"linear1", Linear<20, 16>>, ReLU, Named<"linear2", Linear<16, 10>>> {};
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Parts...>;

template <class Plan> void check_plan() {
  const TensorFile file = golden_file("accumulate_20_16_10");
  const std::vector<std::int32_t> labels = labels_of(file);
  follow<Plan>(file, {.learning_rate = 1e-3}, examples(file.get<float>("input", {16, 20}), std::span<const std::int32_t>{labels}, 20), 1);
}

}  // namespace

TEST_CASE("four rounds before one step are PyTorch's four backward passes of a quarter of the loss") {
  check_plan<Of<Single, Accumulate<4>>>();
  check_plan<Of<DataParallel<2>, Accumulate<4>>>();
  check_plan<Of<Sharded<2>, Accumulate<4>>>();
  check_plan<Of<TensorParallel<2>, Accumulate<4>>>();
  check_plan<Of<Pipeline<Balanced<2>>, Accumulate<4>>>();
}

TEST_CASE("so is one batch of all rows, and four micro-batches of a pipeline") {
  check_plan<Of<Single>>();
  check_plan<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
}
