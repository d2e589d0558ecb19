// SPDX-License-Identifier: MIT
// Values in bfloat16 on a card, emulated on this machine: kernels that take them as they lie, beside those that have copies.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "equivalence/every_policy.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/run/external_memory.hpp"

using namespace heddle;
using plans_on_cards::Cards;

namespace {

struct Inner : Residual<LayerNorm<16>, Linear<16, 19>, GELU, Linear<19, 16>> {};
struct Deep : Sequential<Linear<23, 16>, Repeat<2, Inner>, RMSNorm<16>, Dropout<1, 10>, Linear<16, 10>> {};
struct Attending : Residual<LayerNorm<8>, Linear<8, 24>, SelfAttention<Heads<2>, Causal>, Linear<8, 8>> {};
struct Words : Sequential<Input<5>, Named<"wte", Embedding<8, 8>>, LearnedPositions<5, 8>, Repeat<2, Attending>, Frozen<LayerNorm<8>>,
                          Tied<"head", Linear<8, 8, NoBias>, To<"wte">>, Flatten, Linear<40, 10>> {};
struct Pictures : Sequential<Input<2, 3, 3>, Rescaling<>, BatchNorm2d<2>, Conv2d<2, 2, KernelSize<1>>, MaxPool2d<KernelSize<2>, Stride<1>>, Flatten,
                             Linear<8, 16>, SwiGLU, Linear<8, 10>> {};
struct Towers : Sequential<Inputs<Input<6>, Input<5>>, Branches<Concat, Linear<6, 8>, Sequential<FromInput<1>, Linear<5, 8>>>, ReLU, Linear<16, 10>> {
};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<16, KeepLast>, Grain<2>, Mixed<BFloat16>, Parts...>;

template <class ThePlan> std::uint64_t hash_after(int steps) {
  Trainer<ThePlan, CudaOneCard> trainer{{.learning_rate = 1e-2}, Seed{3}};
  const auto rows = equivalence::rows_of<ThePlan>(16);
  for (int s = 0; s < steps; ++s) trainer.step(rows.batch(0, s == 1 ? 6 : 16));
  return trainer.parameter_hash();
}
template <class ThePlan> std::string verified() {
  const auto rows = equivalence::rows_of<ThePlan>(16);
  return verify<ThePlan, CudaOneCard>(rows.batch(0, 16), Seed{3}, 6e-2).text;
}

}  // namespace

TEST_CASE("replicas, slices and stages have the bits of one device, of products in bfloat16 too") {
  const Cards card;
  const std::uint64_t alone = hash_after<Of<Deep, Single>>(3);
  CHECK(hash_after<Of<Deep, DataParallel<4>>>(3) == alone);
  CHECK(hash_after<Of<Deep, Sharded<2>>>(3) == alone);
  CHECK(hash_after<Of<Deep, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>(3) == alone);
  CHECK(hash_after<Of<Deep, Single, Recompute<EveryBlock>>>(3) == alone);
}

TEST_CASE("models of every sort end within what bfloat16 rounds of the reference, as they do on the host") {
  const Cards card;
  CHECK(verified<Of<Deep, DataParallel<2>>>() == "");
  CHECK(verified<Of<Deep, TensorParallel<2>>>() == "");
  CHECK(verified<Of<Deep, Single, LossScaling>>() == "");
  CHECK(verified<Of<Words, Sharded<2>>>() == "");
  CHECK(verified<Of<Words, TensorParallel<2, SequenceParallel>>>() == "");
  CHECK(verified<Of<Pictures, DataParallel<2>>>() == "");
  CHECK(verified<Of<Towers, Pipeline<Balanced<2>>>>() == "");
}

TEST_CASE("a sum and its norm are one kernel, parameters are rounded by one, and the bits are those of entries that run one by one") {
  const Cards card;
  using ThePlan = Of<Deep, Single>;
  Trainer<ThePlan, CudaOneCard> fused{{.learning_rate = 1e-2}, Seed{3}}, apart{{.learning_rate = 1e-2}, Seed{3}};
  struct Silent : extending::Observer {
  } silent;
  apart.observe(&silent);  // each entry runs by itself
  const auto rows = equivalence::rows_of<ThePlan>(16);
  long kernels[2] = {};
  for (int s = 0; s < 3; ++s)
    for (Trainer<ThePlan, CudaOneCard>* const trainer : {&fused, &apart}) {
      const long before = cuda_emulator::counts().kernels;
      trainer->step(rows.batch(0, 16));
      kernels[trainer == &fused ? 0 : 1] = cuda_emulator::counts().kernels - before;
    }
  CHECK(fused.parameter_hash() == apart.parameter_hash());
  int sums = 0;
  for (int e = ThePlan::training.forward_bodies[0].begin; e < ThePlan::training.forward_bodies[0].end; ++e)
    sums += ThePlan::training.entries[e].what == BodyOp::add ? 1 : 0;
  CHECK(sums == 2);                        // of two residuals, each of 8 grains together
  CHECK(kernels[1] - kernels[0] == sums);  // both are followed by a norm, which runs for each grain in any case
}

TEST_CASE("outputs of a prediction and of an evaluation come back as floats, and a third step allocates nothing") {
  const Cards card;
  using ThePlan = Of<Deep, DataParallel<2>>;
  Trainer<ThePlan, CudaOneCard> there{{.learning_rate = 1e-2}, Seed{3}};
  Trainer<ThePlan, CpuThreads> here{{.learning_rate = 1e-2}, Seed{3}};
  const auto rows = equivalence::rows_of<ThePlan>(16);
  const Evaluation on_card = there.evaluate(rows.batch(0, 11)), on_host = here.evaluate(rows.batch(0, 11));
  CHECK(std::abs(on_card.loss - on_host.loss) < 2e-2);
  REQUIRE(on_card.outputs.size() == on_host.outputs.size());
  for (std::size_t i = 0; i < on_host.outputs.size(); ++i) {
    CHECK(std::abs(on_card.outputs[i] - on_host.outputs[i]) < 5e-2F);
    CHECK(core_room::widened(core_room::rounded(on_card.outputs[i])) == on_card.outputs[i]);
  }
  for (int s = 0; s < 2; ++s) there.step(rows.batch(0, 16));
  const cuda_emulator::Counts before = cuda_emulator::counts();
  for (int s = 2; s < 5; ++s) there.step(rows.batch(0, 16));
  const cuda_emulator::Counts after = cuda_emulator::counts();
  CHECK(after.graph_launches - before.graph_launches == 3);
  CHECK(after.allocations == before.allocations);
  CHECK(after.descriptors == before.descriptors);
}

TEST_CASE(
    "what kernels take as it lies has no copies: the memory beside the arena is that of the parameters in bfloat16, and as much as is allocated") {
  struct Wide : Sequential<Linear<64, 1024>, GELU, Linear<1024, 8>> {};
  using ThePlan = Plan<Wide, CrossEntropy, SGD, Batch<256>, Single, Mixed<BFloat16>>;
  using InFloats = Plan<Wide, CrossEntropy, SGD, Batch<256>, Single>;
  // all parameters, in 2 bytes each
  constexpr Bytes copies = run_room::external_memory<ThePlan, CudaOneCard>() - run_room::external_memory<InFloats, CudaOneCard>();
  static_assert(copies == Bytes{2 * ThePlan::training.arenas[0].flat_elements()});
  static_assert(copies >= Bytes{2 * parameters<Wide>} && copies < Bytes{2 * parameters<Wide> + 8192});  // units have whole parts
  static_assert(run_room::external_memory<ThePlan, CpuThreads>() - run_room::external_memory<InFloats, CpuThreads>() > 10 * copies);
}
