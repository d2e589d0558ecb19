// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<8, 8>>, Tanh> {};
struct Language : Sequential<Input<6>, Named<"embedding", Embedding<13, 8>>, Named<"block", Inner>, Named<"head", Linear<8, 13, NoBias>>> {};
template <class... Parts> using Of = Plan<Language, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;

/// The file has them as floats.
std::vector<std::int32_t> ids_of(const TensorFile& file) {
  const auto given = file.get<float>("input", {8, 6});
  std::vector<std::int32_t> ids;
  for (const float id : given) ids.push_back(static_cast<std::int32_t>(id));
  return ids;
}

template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("language_model_13_8");
  const std::vector<std::int32_t> ids = ids_of(file);
  const auto next = labels_of(file);
  follow<ThePlan>(file, {.learning_rate = 0.5, .momentum = 0.9}, examples(ids, next, 6, 6), 20);
}

}  // namespace

TEST_CASE("20 steps of a language model with a loss at every position are PyTorch's, on one device, replicas, slices and stages") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<2>>>();
  check_plan<Of<Sharded<4>>>();
  check_plan<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
}

TEST_CASE("the comparison can fail: another id is another loss") {
  const TensorFile file = golden_file("language_model_13_8");
  const std::vector<std::int32_t> given = ids_of(file);
  std::vector<std::int32_t> changed = given;
  changed[17] = given[17] == 0 ? 1 : 0;
  Trainer<Of<Single>, CpuThreads> trainer{{.learning_rate = 0.5}, Seed{1}};
  start<Of<Single>>(trainer, file);
  const auto next = labels_of(file);
  const double there = static_cast<double>(file.get<float>("loss")[0]);
  CHECK(std::abs(trainer.evaluate(examples(given, next, 6, 6)).loss - there) <= tolerance);
  CHECK(std::abs(trainer.evaluate(examples(changed, next, 6, 6)).loss - there) > 10 * tolerance);
}
