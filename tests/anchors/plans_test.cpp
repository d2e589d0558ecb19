// SPDX-License-Identifier: MIT
// Sizes, memory, names, seeds and machines: what a plan says of itself before it runs, and what it keeps under another plan.
#include "anchors/anchors.hpp"
#include "heddle/plan/advice.hpp"
#include "heddle/run/doctor.hpp"
#include "run/fake_machine.hpp"

using namespace anchors;

namespace {

template <class ThePlan> using Run = Trainer<ThePlan, CpuThreads>;
template <class Policy, class... Options> using Strict = Plan<Model, CrossEntropy, Adam, Batch<rows>, Policy, Options...>;
const auto& data() {
  static const equivalence::Rows<std::int32_t> made{3 * rows, 7, 4};
  return made;
}
using Alone = Of<Single>;
using Spread = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>;

}  // namespace

TEST_CASE(
    "pytorch #38174, #33148, Lightning #20404, accelerate PR #820, Automodel PR #2468, #3679: a smaller last batch is a choice that must be made") {
  Run<Strict<DataParallel<2>>> strict{{}, Seed{1}};
  CHECK_THROWS_WITH_AS(strict.step(data().batch(0, 5)), doctest::Contains("[heddle.B05]"), Error);
  trains_as_one_device<Of<DataParallel<4>>>();  // KeepLast: 32, 21, 1 and 32 rows; nobody waits for a rank without rows
}

TEST_CASE("pytorch #9226, #25636, #16432, PytorchConnectomics #59, frozen-in-time PR #23: devices without rows are refused, or said") {
  CHECK(code_of(check<Plan<Model, CrossEntropy, Adam, Batch<4>, DataParallel<8>>>()) == "B02");
  CHECK(code_of(check<Plan<Model, CrossEntropy, Adam, Batch<9>, DataParallel<8>>>()) == "B01");  // 8 GPUs, 3 used
  bool said = false;
  for (const Diagnosis& remark : advice<Plan<Model, CrossEntropy, Adam, Batch<9, KeepLast>, DataParallel<8>>>())
    said = said || code_of(remark) == "A02";
  CHECK(said);
}

TEST_CASE("Megatron-LM #661, pytorch PR #68666, verl #161: more ranks than the launcher started or GPUs than there are is a sentence at start") {
  using Four = Of<DataParallel<4>>;
  tests::FakeMachine machine;
  machine.plain(4, "0-3", 1 << 20, 1 << 20).variable("WORLD_SIZE", "8").variable("RANK", "0");
  CHECK(doctor<Four>(machine.surroundings()).has(Code{'R', 3}));
  tests::FakeMachine shared;
  shared.plain(4, "0-3", 1 << 20, 1 << 20).gpu(0, "A", "GPU-0");
  CHECK(doctor<Four>(shared.surroundings(), {.on_gpus = true}).has(Code{'R', 23}));  // 4 ranks share 1 GPU
}

TEST_CASE("pytorch #114934, Automodel #1592, Megatron-LM #525, Megatron-Bridge PR #5077, vllm #36861: memory is a constant that a step uses all of") {
  using Uneven = Of<Pipeline<Stage<First>, Stage<Sequential<Residual<Inner, Outer>, Last>>, OneFOneB, Microbatches<4>>>;
  static_assert(peak_memory<Uneven>(device<0>) != peak_memory<Uneven>(device<1>));
  trains_as_one_device<Uneven>();  // arenas too, each device its own
  constexpr Bytes needed = peak_memory<Uneven>();
  CHECK(refused<Of<Single, Memory<1_KiB>>>() == "C01");
  using Fits = Of<Pipeline<Stage<First>, Stage<Sequential<Residual<Inner, Outer>, Last>>, OneFOneB, Microbatches<4>>, Memory<needed>>;
  CHECK(refused<Fits>().empty());
}

TEST_CASE(
    "torchtitan #811, PR #816, pytorch #136228, #108869, sglang PR #36438: parameters have one name and shape under every mesh, and none is half") {
  Run<Alone> one{{}, Seed{1}};
  Run<Spread> many{{}, Seed{2}};
  one.step(data().batch(0, rows));
  CHECK(many.parameter_names() == one.parameter_names());
  for (const std::string& name : one.parameter_names()) many.set_parameter(name, one.parameter(name));
  CHECK(many.parameter_hash(0) == one.parameter_hash());
  CHECK(many.parameter_hash(1) == one.parameter_hash());
  CHECK(equivalence::equal_bits(many.evaluate(data().batch(0, rows)).outputs, one.evaluate(data().batch(0, rows)).outputs));
  const std::string name = one.parameter_names().front();
  std::vector<float> half = one.parameter(name);
  half.resize(half.size() / 2);
  CHECK_THROWS_WITH_AS(many.set_parameter(name, half), doctest::Contains("[heddle.R05]"), Error);
}

TEST_CASE(
    "torchtitan #514, Megatron-LM PR #6858, tt-metal #55947: parameters start the same whatever the layout, and ranks cannot have other seeds") {
  Run<Alone> one{{}, Seed{7}};
  Run<Spread> many{{}, Seed{7}};
  for (int replica = 0; replica < many.replicas(); ++replica) CHECK(many.parameter_hash(replica) == one.parameter_hash());
  CHECK(Run<Alone>({}, Seed{8}).parameter_hash() != one.parameter_hash());
}

TEST_CASE("torchtitan #1720, pytorch #70447, #171874, #187279: losses are identical where is_reproducible says so, on a CPU") {
  static_assert(is_reproducible<Spread> && is_reproducible<Alone>);
  static_assert(
      !is_reproducible<Plan<tests::Mnist, CrossEntropy, Adam, Batch<rows>, TensorParallel<2>>>);  // a product adds its terms in another order
  trains_as_one_device<Spread>();
  trains_as_one_device<Spread>();
}

TEST_CASE("vllm #596, PR #52535, cache-dit PR #581, torchtitan #932, ColossalAI #6167: what does not divide is refused with what does") {
  struct Vocabulary : Sequential<Linear<784, 64>, ReLU, Column<Linear<64, 50257>>> {};
  using Split = Plan<Vocabulary, CrossEntropy, SGD, Batch<8>, TensorParallel<4>>;
  CHECK(refused<Split>() == "P01");
  CHECK(says(check<Split>(), "cannot split the 50,257 features"));
  CHECK(says(check<Split>(), "use as many ranks as divide 50,257: 1, 29, 1733."));
}

TEST_CASE("pytorch #48959, #53497, pytorch-cpp #122: data parallel training from C++ is a type and three lines") {
  Run<Plan<Model, CrossEntropy, Adam, Batch<rows>, DataParallel<2>>> trainer{{.learning_rate = 0.01}, Seed{1}};
  const double before = trainer.evaluate(data().batch(0, rows)).loss;
  for (int step = 0; step < 20; ++step) trainer.step(data().batch(0, rows));
  CHECK(trainer.evaluate(data().batch(0, rows)).loss < before);
}
