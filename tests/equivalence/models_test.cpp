// SPDX-License-Identifier: MIT
// The models of the documents under every policy, in floats and in bfloat16: the bits of one device, one hash, half of the bytes, and as good a loss.
#include <doctest/doctest.h>

#include <cmath>

#include "equivalence/every_policy.hpp"
#include "equivalence/models.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace equivalence;

namespace {

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Model, class... Parts> using Rounded = Of<Model, Mixed<BFloat16>, Parts...>;
template <class Model, class... Parts> using Small = Plan<Model, CrossEntropy, AdamW, Batch<8>, Parts...>;

/// `Again`: what runs again in one of the plans.
template <class Model, class Again = EveryBlock> void check_rounded() {
  check_every_policy<Rounded, Model>();
  check_same_bits_as_data<Rounded<Model, Hybrid<TwoStages<OneFOneB>, Sharded<2>>, Recompute<Again>, Clip<GlobalNorm>>,
                          Rounded<Model, Single, Clip<GlobalNorm>>>();
}
template <class Model, class... Splits> void check_hash() {
  const std::uint64_t alone = prove<Small<Model, Single>>().hash;
  CHECK(((prove<Small<Model, Splits>>().hash == alone) && ...));
}
/// Bytes of values between two stages, and of those that a device holds.
template <class Model> void check_half() {
  using Floats = Of<Model, TwoStages<OneFOneB>>;
  using Halves = Rounded<Model, TwoStages<OneFOneB>>;
  static_assert(2 * traffic<Halves>().activations().total_payload.value == traffic<Floats>().activations().total_payload.value);
  static_assert(peak_memory<Halves>() < peak_memory<Floats>());
}
/// After so many steps on the same rows.
template <class ThePlan> float loss_after(int steps) {
  const auto data = rows_of<ThePlan>(32);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 5e-3}, Seed{5}};
  float loss = 0;
  for (int s = 0; s < steps; ++s) loss = trainer.step(data.batch(0, 32)).loss.value();
  return loss;
}
template <class Model> void check_convergence() {
  const float before = loss_after<Of<Model, Single>>(1), floats = loss_after<Of<Model, Single>>(40);
  CHECK(floats < 0.7F * before);
  CHECK(std::abs(loss_after<Rounded<Model, Single>>(40) - floats) < 0.1F * before);
}

}  // namespace

TEST_CASE("a GPT under the names of Hugging Face has the bits of one device under every policy, and one hash however it is split") {
  check_every_policy<Of, Gpt>();
  check_hash<Gpt, TensorParallel<2>, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>, Sharded<2>, TwoStages<ZeroBubbleH1>>();
}

TEST_CASE("so has a Llama") {
  check_every_policy<Of, Llama>();
  check_hash<Llama, TensorParallel<2>, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>>();
}

TEST_CASE("a convnet, an encoder, a GPT and a Llama in bfloat16 have the bits of one device that rounds too") {
  check_rounded<Convnet, GELU>();
  check_rounded<Encoder>();
  check_rounded<Gpt>();
  check_rounded<Llama>();
}

TEST_CASE("values between stages take half of the bytes in bfloat16, and a device holds less") {
  check_half<Convnet>();
  check_half<Encoder>();
  check_half<Gpt>();
  check_half<Llama>();
}

TEST_CASE("they learn as well in bfloat16 as in floats") {
  check_convergence<Convnet>();
  check_convergence<Encoder>();
  check_convergence<Gpt>();
  check_convergence<Llama>();
}
