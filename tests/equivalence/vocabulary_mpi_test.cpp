// SPDX-License-Identifier: MIT
// Logits that lie in parts over processes: the bits that threads have, the bytes of every rank, whole outputs in every process.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Wide : Sequential<Linear<23, 16>, ReLU, Linear<16, 60>> {};
template <class... Parts> using Classes = Plan<Wide, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;

struct Writer : Sequential<Input<5>, Row<Embedding<64, 8>>, Linear<8, 16>, GELU, Linear<16, 8>, Linear<8, 64, NoBias>> {};
template <class Policy> using Wrote = Plan<Writer, CrossEntropy, Adam, Batch<8, KeepLast>, Policy>;

/// Losses, gradients and outputs of some steps on sentences of 5 tokens.
template <class ThePlan, class Backend> [[nodiscard]] std::vector<std::vector<float>> write() {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> next;
  for (int i = 0; i < 7 * 5; ++i) {
    ids.push_back((i * 5 + i / 4) % 64);
    next.push_back((i * 7 + i / 5) % 64);
  }
  Trainer<ThePlan, Backend> trainer{settings<Adam>(), Seed{5}};
  std::vector<std::vector<float>> out(1);
  trainer.on_step([&](const StepResult& result) { out[0].push_back(result.loss.value()); });
  for (int step = 0; step < 3; ++step) trainer.step(examples(ids, next, 5, 5));
  for (const std::string& name : trainer.parameter_names()) out.push_back(trainer.gradient(name));
  const Evaluation evaluation = trainer.evaluate(examples(ids, next, 5, 5));
  out.push_back(evaluation.outputs);
  out.push_back({static_cast<float>(evaluation.loss)});
  out.push_back(trainer.predict(ids));
  CHECK(equal_bits(out.back(), evaluation.outputs));
  return out;
}

/// Ids cross from one process to the other, before they are looked up.
using Ids = Input<5>;
using Reader = Sequential<Embedding<64, 8>, Linear<8, 64, NoBias>>;
struct CutAtIds : Sequential<Ids, Reader> {};
using Crossing = Plan<CutAtIds, CrossEntropy, Adam, Batch<8, KeepLast>, Pipeline<Stage<Ids>, Stage<Reader>, OneFOneB, Microbatches<2>>>;
static_assert(Crossing::training.transfer_count == 1 && Crossing::training.type_of(Crossing::training.transfers[0]) == ElementType::int32);

template <class ThePlan> void check_written() {
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const auto wanted = write<ThePlan, CpuThreads>();
  const auto got = write<ThePlan, CpuMpi>();
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(equal_bits(got[i], wanted[i]));
}

}  // namespace

TEST_CASE("where each process has a part of the classes bits and bytes are those of threads") {
  static_assert(Classes<TensorParallel<2>>::training.graph->laid_between(3).sharded());
  hold_as_threads<Classes<TensorParallel<2>>, Classes<TensorParallel<4>, Grain<4>>>();
  hold_as_threads<Classes<Hybrid<TensorParallel<2>, DataParallel<2>>, Accumulate<3>, Clip<GlobalNorm>>>();
}

TEST_CASE("a language model over processes has the bits of threads, and every process has all outputs") {
  static_assert(Wrote<TensorParallel<2>>::training.graph->laid_between(6).sharded());
  check_written<Wrote<TensorParallel<2>>>();
  check_written<Wrote<TensorParallel<4>>>();
  check_written<Wrote<Hybrid<TensorParallel<2>, DataParallel<2>>>>();
  check_written<Wrote<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, TensorParallel<2>>>>();
  check_written<Crossing>();
}
